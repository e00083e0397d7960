"""Ports with what was read of them -> `PortScrape`, for sources that read a whole device at once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

from collectors.contract.fabric import CounterForm, Port, PortScrape
from collectors.fabric.reading import Raw, Reader, Unreadable, Value, number, reader, text
from collectors.fabric.vocabulary import counter_table

PLAIN = CounterForm()
DIGITS = 20
"""Fewer are a number of 64 bits at most, and read the short way."""
_Read = tuple["Place", str, Raw]


@dataclass(slots=True)
class Row:
    """One port. `values`: source system, native name and value, in the order read; None: it could not be read."""

    port: Port
    values: list[tuple[str, str, Raw]] = field(default_factory=list)
    named: dict[str, Value] = field(default_factory=dict)
    """What no table knows: facts of the port itself."""
    epoch: str = ""
    """A restart marker of this port's own counters."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a native name goes. `form` None: not a number, so `named` holds it. `end`: where the counter stops."""

    column: str
    read: Reader
    form: CounterForm | None
    rank: tuple[int, int]
    ignored: bool = False
    end: int | None = None
    plain: bool = False
    """A number whose digits are its value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """What all rows belong to. `keep_ignored`: as in `Grid`."""

    name: str
    kind: Literal["switch", "nic", "hca"]
    node: str | None = None
    cluster: str
    ts_us: int
    epoch: str = ""
    baseline: bool = False
    keep_ignored: bool = False


def scrapes(rows: Iterable[Row], device: Device) -> list[PortScrape]:
    """One message, or more where ports keep the same counter in different widths: a column has one form."""
    sheets: list[_Sheet] = []
    for row in rows:
        line = _Line(row, keep_ignored=device.keep_ignored)
        sheet = next((sheet for sheet in sheets if sheet.takes(line)), None)
        if sheet is None:
            sheet = _Sheet()
            sheets.append(sheet)
        sheet.add(line)
    return [sheet.cut(device) for sheet in sheets]


def samples(scrape: PortScrape) -> int:
    """Values in a message."""
    told = (scrape.columns, scrape.named, scrape.saturated)
    return sum(value is not None for columns in told for row in columns.values() for value in row)


@lru_cache(maxsize=65536)
def place(system: str, native: str) -> Place:
    """The place of a name. Of a table's name with `/32` behind the system, the 32-bit set that saturates."""
    system, _, narrow = system.partition("/")
    counter = counter_table(system).find(native)
    if counter is not None and narrow:
        counter = replace(counter, kind="saturating_counter", bits=int(narrow), rank=(-int(narrow), counter.rank[1]))
    read, is_number = reader(counter)
    if counter is None or counter.ignored:
        return Place(native, read, None, (0, 0), ignored=counter is not None)
    name = counter.canonical if counter.index is None else f"{counter.canonical}.{counter.index}"
    if not is_number:
        return Place(name, read, None, counter.rank)
    form = CounterForm(kind=counter.kind, bits=counter.bits)
    return Place(name, read, form, counter.rank, end=_end(form), plain=read is number)


def _end(form: CounterForm) -> int | None:
    return (1 << form.bits) - 1 if form.kind == "saturating_counter" and form.bits else None


class _Line:
    """One row read: of twins the best-ranked holds the column, the others are `named` where all is kept."""

    __slots__ = ("columns", "ends", "errors", "forms", "named", "row")

    def __init__(self, row: Row, *, keep_ignored: bool) -> None:
        self.row = row
        self.columns: dict[str, int | float | None] = {}
        self.ends: dict[str, int | float] = {}
        self.forms: dict[str, CounterForm] = {}
        self.named: dict[str, Value] = dict(row.named)
        self.errors: dict[str, str] = {}
        held: dict[str, _Read] = {}
        for system, native, raw in row.values:
            new = (place(system, native), native, raw)
            name = new[0].column
            if new[0].ignored and not keep_ignored:
                continue
            former = held.get(name)
            if former is None or new[0].form is None:
                held[name] = new
                continue
            better = raw is not None and (former[2] is None or new[0].rank < former[0].rank)
            held[name], lesser = (new, former) if better else (former, new)
            if keep_ignored:
                self.named[lesser[1]] = text(lesser[2])
        for where, _, raw in held.values():
            self._put(where, raw)

    def _put(self, where: Place, raw: Raw) -> None:
        value: Value = None
        form, name = where.form, where.column
        if where.plain and raw.__class__ is str and len(raw) < DIGITS and raw.isdecimal():
            value = int(raw)
        elif raw is None:
            self.errors.setdefault(name, f"{self.row.port.name}: could not be read")
        else:
            try:
                value = where.read(raw)
            except Unreadable as why:
                self.errors.setdefault(name, f"{self.row.port.name}: {why}"[:200])
        if form is None:
            self.named[name] = value
            return
        assert not isinstance(value, str)
        if value is not None and where.end is not None and value >= where.end:
            self.ends[name], value = value, None
        self.columns[name] = value
        self.forms[name] = form


class _Sheet:
    """Lines whose columns have the same forms."""

    def __init__(self) -> None:
        self._lines: list[_Line] = []
        self._forms: dict[str, CounterForm] = {}

    def takes(self, line: _Line) -> bool:
        mine = self._forms
        return all(mine.get(name, form) == form for name, form in line.forms.items())

    def add(self, line: _Line) -> None:
        self._lines.append(line)
        self._forms |= line.forms

    def cut(self, device: Device) -> PortScrape:
        lines = self._lines
        epochs = [line.row.epoch for line in lines]
        errors: dict[str, str] = {}
        for line in lines:
            errors = line.errors | errors
        return PortScrape(
            cluster=device.cluster,
            device=device.name,
            kind=device.kind,
            node=device.node,
            ts_us=device.ts_us,
            epoch=device.epoch,
            ports=[line.row.port for line in lines],
            columns={name: [line.columns.get(name) for line in lines] for name in self._forms},
            forms={name: form for name, form in self._forms.items() if form != PLAIN},
            named={name: [line.named.get(name) for line in lines] for name in _union([x.named for x in lines])},
            baseline=device.baseline,
            errors=errors,
            port_epochs=epochs if any(epochs) else [],
            saturated={name: [line.ends.get(name) for line in lines] for name in _union([x.ends for x in lines])},
        )


def _union(many: Sequence[dict[str, Value]] | Sequence[dict[str, int | float]]) -> list[str]:
    return list(dict.fromkeys(name for one in many for name in one))
