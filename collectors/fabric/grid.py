"""The cells of one device: rows of ports, columns of counters, cut into a `PortScrape` when a round is in."""

import re
from collections import Counter as Count
from collections.abc import Callable, Iterator, Sequence

from collectors.contract.fabric import CounterForm, Port, PortScrape
from collectors.fabric.block import Block
from collectors.fabric.cell import Cell, Stamp
from collectors.fabric.column import FOREVER, Column
from collectors.fabric.reading import Raw, Unreadable, Value, gbps, reader
from collectors.fabric.series import DEVICE_ROW, PART_PREFIXES, Series, Site

MOST_ERRORS = 100
"""That one scrape tells."""
UP = 1
"""IF-MIB ifOperStatus."""

_MARKERS = {"device_boot_time": "boot", "port_counters_last_clear": "clear"}
"""What the epoch is made of, where a device tells it."""


class _Facts:
    """Cells that say something of the port itself."""

    __slots__ = ("speed", "state")

    def __init__(self) -> None:
        self.speed: Cell | None = None
        self.state: Cell | None = None

    def told(self) -> tuple[Value, Value]:
        """Speed and operational state as they stand."""
        return (
            None if self.speed is None else self.speed.value,
            None if self.state is None else self.state.value,
        )


class Grid:
    """Learns series as they come and keeps the last value of each.

    A value that is sent every interval and has not come for three of them is no longer known: None.
    `keep_ignored` keeps under `named` what the tables say to ignore, and the lesser of twins.
    """

    def __init__(self, *, site: Site, interval_us: int = 0, keep_ignored: bool = False) -> None:
        self._site = site
        self._interval_us = interval_us
        self._keep_ignored = keep_ignored
        self._cells: dict[Series, Cell] = {}
        self._dirty = False
        self.round = 1
        self.errors: dict[str, str] = {}
        self._rows: list[str] = []
        self._facts: list[_Facts] = []
        self._markers: dict[str, list[Cell]] = {}
        self._told: list[tuple[Value, Value]] = []
        self._ports: list[Port] = []
        self._breaks: dict[str, str] = {}
        self._columns: dict[str, Column] = {}
        self._named: dict[str, Column] = {}
        self._forms: dict[str, CounterForm] = {}
        self._blocks: list[Block] = []
        self._standing: list[Block] = []
        self._planned = True

    def __len__(self) -> int:
        return len(self._cells)

    def cell(self, series: Series) -> Cell:
        """The cell of a series, learned when new."""
        if (cell := self._cells.get(series)) is None:
            cell = self._cells[series] = Cell(series, reader(series.counter)[0])
            self._dirty = True
        return cell

    def spare(self, series: Series) -> Cell:
        """A cell that no scrape shows: for what is read past."""
        return Cell(series, reader(series.counter)[0])

    def complain(self, what: str, why: str) -> None:
        """What the next scrape tells among its errors; of many, the first ones."""
        if len(self.errors) < MOST_ERRORS or what in self.errors:
            self.errors[what] = why[:200]

    def put(self, cell: Cell, raw: Raw, stamp: tuple[int, int]) -> None:
        """Read a value into its cell. One that cannot be read is None, and said so in `errors`."""
        try:
            cell.value = None if raw is None else cell.reader(raw)
        except Unreadable as why:
            cell.value = None
            self.complain(cell.series.column, f"{cell.series.row}: {why}")
        cell.stamp = stamp

    def hold(self, block: Block) -> None:
        """Cut columns from a block, as far as they come in it whole, from the next scrape on."""
        self._blocks.append(block)
        self._planned = False

    def let_go(self, block: Block) -> None:
        """It comes no more."""
        self.settle()
        self._blocks.remove(block)
        block.used, self._planned = False, False

    def take(self, block: Block, values: Sequence[Value], stamp: Stamp) -> None:
        """All values of a block came, with a None at their end. They are newer than what its cells hold."""
        block.values, block.stamp = values, stamp
        if not block.used:
            block.settle()
        elif not block.stands:
            block.stands = True
            self._standing.append(block)

    def settle(self) -> None:
        """Every value into its cell: before one is put by itself, or looked at by its stamp."""
        for block in self._standing:
            block.settle()
        self._standing.clear()

    def drop(self, gone: Callable[[Series], bool]) -> int:
        """Forget what the device deleted; a row with nothing left goes too. Returns the number of cells."""
        dead = [series for series in self._cells if gone(series)]
        for series in dead:
            self._cells.pop(series).value = None
        self._dirty = self._dirty or bool(dead)
        return len(dead)

    def cut(self, device: str, ts_us: int, *, cluster: str, baseline: bool = False) -> PortScrape:
        """All rows as they stand, and on to the next round."""
        if self._dirty:
            self._lay_out()
        if not self._planned:
            self._plan()
        for block in self._standing:
            block.fill_rest()
        scrape = PortScrape(
            cluster=cluster,
            device=device,
            ts_us=ts_us,
            epoch=self._epoch(),
            ports=self._present_ports(),
            columns={name: column.values(self.round) for name, column in self._columns.items()},  # type: ignore[misc]
            forms=self._forms,
            named={name: column.values(self.round) for name, column in self._named.items()},
            baseline=baseline,
            errors=self.errors,
            port_epochs=self._port_epochs(),
        )
        self.errors = {}
        self.round += 1
        return scrape

    def _epoch(self) -> str:
        """Changes when the device boots or its counters are cleared, where it tells."""
        parts = []
        for canonical, short in _MARKERS.items():
            cells = self._markers.get(canonical, ())
            known = [cell.value for cell in cells if isinstance(cell.value, int)]
            if known:
                parts.append(f"{short}:{max(known)}")
        return "/".join(parts)

    def _port_epochs(self) -> list[str]:
        """Changes for a port whose counters were set anew, where the device tells of ports one by one.

        One that cannot be read now still stands as it was last told.
        """
        column = self._columns.get("port_discontinuity_time")
        if column is None:
            return []
        for row, cell in enumerate(column.cells):
            if cell is not None and cell.value is not None:
                self._breaks[self._rows[row]] = f"break:{cell.value}"
        return [self._breaks.get(name, "") for name in self._rows]

    def _present_ports(self) -> list[Port]:
        told = [facts.told() for facts in self._facts]
        if told != self._told or len(self._ports) != len(self._rows):
            self._told = told
            self._ports = [self._port(name, *pair) for name, pair in zip(self._rows, told, strict=True)]
        return self._ports

    def _port(self, name: str, speed: Value, state: Value) -> Port:
        if not _is_port(name):
            return Port(name=name)
        return Port(
            name=name,
            speed_gbps=gbps(speed),
            oper_up=state == UP if isinstance(state, int) else None,
            link_layer="ethernet",
            lossless=None if self._site.lossless is None else list(self._site.lossless),
        )

    def _lay_out(self) -> None:
        """Rows in natural order; of twins the best-ranked one holds the column, the others are `named`."""
        self._columns, self._named, self._forms, self._markers = {}, {}, {}, {}
        names = sorted({s.row for s in self._cells if self._kept(s)}, key=_natural)
        rows = {name: number for number, name in enumerate(names)}
        facts: list[_Facts] = [_Facts() for _ in names]
        for series, cell in sorted(self._cells.items(), key=lambda item: _rank(item[0])):
            if series.counter is not None and series.counter.canonical in _MARKERS:
                self._markers.setdefault(series.counter.canonical, []).append(cell)
            if not self._kept(series):
                continue
            row, (_, is_number) = rows[series.row], reader(series.counter)
            place = self._columns if is_number else self._named
            column = self._column(place, series.column, series, len(rows))
            if column.cells[row] is not None:
                if not self._keep_ignored:
                    continue
                column = self._column(self._named, series.native, series, len(rows))
            elif is_number:
                self._note_form(series)
            column.cells[row] = cell
            canonical = series.counter.canonical if series.counter is not None else None
            if canonical in ("port_speed_id", "port_speed_mbps"):
                facts[row].speed = facts[row].speed or cell
            elif canonical == "port_oper_state":
                facts[row].state = cell
        self._rows, self._facts, self._told = names, facts, []
        self._dirty = self._planned = False

    def _plan(self) -> None:
        """Which columns are cut from which block. A cell of two blocks holds what came last, whichever that is."""
        self.settle()
        owners = Count(cell for block in self._blocks for cell in (*block.cells, *block.beside))
        places = {
            cell: (block, place)
            for block in self._blocks
            if all(owners[cell] == 1 for cell in block.cells)
            for cell, place in zip(block.cells, block.places, strict=True)
        }
        columns = (*self._columns.values(), *self._named.values())
        cut = {cell for column in columns for cell in column.plan(places)} - set(self._looked_at())
        for block in self._blocks:
            block.plan(cut)
        self._planned = True

    def _looked_at(self) -> Iterator[Cell | None]:
        """Cells that say something beside their column."""
        for facts in self._facts:
            yield facts.speed
            yield facts.state
        for cells in self._markers.values():
            yield from cells
        if (breaks := self._columns.get("port_discontinuity_time")) is not None:
            yield from breaks.cells

    def _kept(self, series: Series) -> bool:
        """Boot time is in the epoch, and needs no row of its own."""
        if series.counter is None:
            return True
        if series.counter.canonical == "device_boot_time":
            return False
        return self._keep_ignored or not series.counter.ignored

    def _column(self, place: dict[str, Column], name: str, series: Series, rows: int) -> Column:
        if (column := place.get(name)) is None:
            sent = series.every.sent_us
            if sent is None or not self._interval_us:
                life = FOREVER
            else:
                life = 3 * max(1, -(-sent // self._interval_us))
            column = place[name] = Column(rows, life)
        return column

    def _note_form(self, series: Series) -> None:
        counter, every = series.counter, series.every
        if counter is None:
            return
        slowest = max((n for n in (every.sent_us, every.refresh_us) if n is not None), default=0)
        slower = slowest if slowest > self._interval_us else None
        if counter.kind != "counter" or counter.bits != 64 or slower is not None:
            self._forms[series.column] = CounterForm(kind=counter.kind, bits=counter.bits, refresh_us=slower)


def _is_port(row: str) -> bool:
    return row != DEVICE_ROW and not row.startswith(PART_PREFIXES)


def _rank(series: Series) -> tuple[int, int]:
    return series.counter.rank if series.counter is not None else (0, 0)


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
