"""The shape of a page: which line is which column and row. Read once, filled at every sweep."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, cast

import msgspec

from collectors.contract.gpu import Entities, Gpu, GpuScrape
from collectors.dcgm.fields import INT32_BLANK, SENTINELS

ABSENT = -1


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a message: for each row the place of its value among the page's samples, or `ABSENT`."""

    name: str
    places: tuple[int, ...]
    blank_from: float

    @property
    def run(self) -> slice | None:
        """Where the values stand one after the other; None: they do not."""
        start = self.places[0]
        stop = start + len(self.places)
        return slice(start, stop) if start != ABSENT and self.places == tuple(range(start, stop)) else None


class Filler:
    """Takes columns out of a page's values. Columns of consecutive values, the usual ones, are slices."""

    def __init__(self, columns: tuple[Column, ...]) -> None:
        self._columns = columns
        self._blank_from = {column.name: column.blank_from for column in columns}
        self._runs = [(column.name, run) for column in columns if (run := column.run) is not None]
        self._scattered = tuple(column for column in columns if column.run is None)
        self._wide = [name for name, _ in self._runs if self._blank_from[name] > INT32_BLANK]
        self._narrow = [name for name, _ in self._runs if self._blank_from[name] <= INT32_BLANK]
        self._stretches = _stretches([run for name, run in self._runs if self._blank_from[name] <= INT32_BLANK])

    def fill(self, numbers: list[float]) -> dict[str, list[float | None]]:
        """From values that are all numbers. The order of columns is of no meaning."""
        runs = {name: numbers[run] for name, run in self._runs}
        out = cast(dict[str, list[float | None]], runs)
        suspects = self._wide
        if self._stretches and max(map(max, map(numbers.__getitem__, self._stretches))) >= INT32_BLANK:
            suspects = [*self._wide, *self._narrow]
        for name in suspects:
            if max(runs[name]) >= INT32_BLANK:
                out[name] = unblank(out[name], self._blank_from[name])
        for column in self._scattered:
            out[column.name] = pick(column, numbers)
        return out

    def fill_partly(self, numbers: list[float | None]) -> dict[str, list[float | None]]:
        """From values of which some are None."""
        return {column.name: pick(column, numbers) for column in self._columns}


def _stretches(runs: list[slice]) -> list[slice]:
    """Neighbouring slices as one."""
    out: list[slice] = []
    for run in sorted(runs, key=lambda run: run.start):
        if out and out[-1].stop == run.start:
            out[-1] = slice(out[-1].start, run.stop)
        else:
            out.append(run)
    return out


def pick(column: Column, numbers: Sequence[float | None]) -> list[float | None]:
    """One column of the message, blanks as None."""
    return unblank([None if place == ABSENT else numbers[place] for place in column.places], column.blank_from)


def unblank(values: Sequence[float | None], blank_from: float) -> list[float | None]:
    """None in place of DCGM's sentinels."""
    return [None if v is None or (v >= INT32_BLANK and (v >= blank_from or v in SENTINELS)) else v for v in values]


Fill = Callable[[Filler], dict[str, list[float | None]]]


@dataclass(frozen=True, slots=True)
class EntityLayout:
    """The parts of one kind, as in `Entities`."""

    kind: str
    ids: list[str]
    parents: list[str | None]
    columns: Filler
    named: Filler


@dataclass(frozen=True, slots=True)
class NodeLayout:
    """One message of the page. `ts_us`: the time that the page itself tells; None: it does not."""

    node: str
    gpus: list[Gpu]
    columns: Filler
    named: Filler
    labels: dict[str, str]
    errors: dict[str, str]
    entities: list[EntityLayout]
    ts_us: int | None


@dataclass(slots=True)
class Layout:
    """The page's samples (`lines`: their line numbers) and its messages.

    `same` and `differ` are pairs of samples of one column and row: the shape holds while their texts do.
    """

    lines: list[int]
    nodes: list[NodeLayout]
    same: list[tuple[int, int]] = field(default_factory=list)
    differ: list[tuple[int, int]] = field(default_factory=list)

    def holds(self, texts: Sequence[bytes] | Sequence[float | None]) -> bool:
        """False: the page must be read anew."""
        if not self.same and not self.differ:
            return True
        return all(texts[a] == texts[b] for a, b in self.same) and all(texts[a] != texts[b] for a, b in self.differ)

    def fill(self, joined: bytes, ts_us: int, cluster: str) -> list[GpuScrape] | None:
        """The messages of a page of this shape, from its values parted by commas; None: not all are plain numbers."""
        numbers = read_numbers(joined, len(self.lines))
        if numbers is None:
            return None
        return [_scrape(node, lambda filler: filler.fill(numbers), ts_us, cluster) for node in self.nodes]

    def fill_any(self, texts: list[str], ts_us: int, cluster: str) -> list[GpuScrape]:
        """The same, whatever the values are."""
        return self.fill_numbers([read_number(text) for text in texts], ts_us, cluster)

    def fill_numbers(self, numbers: list[float | None], ts_us: int, cluster: str) -> list[GpuScrape]:
        """The same, from values that were never text; None: could not be read."""
        if None not in numbers:
            whole = cast(list[float], numbers)
            return [_scrape(node, lambda filler: filler.fill(whole), ts_us, cluster) for node in self.nodes]
        return [_scrape(node, lambda filler: filler.fill_partly(numbers), ts_us, cluster) for node in self.nodes]


def _scrape(node: NodeLayout, fill: Fill, ts_us: int, cluster: str) -> GpuScrape:
    return GpuScrape(
        cluster=cluster,
        ts_us=ts_us if node.ts_us is None else node.ts_us,
        node=node.node,
        gpus=node.gpus,
        columns=fill(node.columns),
        named=fill(node.named),
        labels=node.labels,
        errors=node.errors,
        entities=[
            Entities(kind=e.kind, ids=e.ids, parents=e.parents, columns=fill(e.columns), named=fill(e.named))
            for e in node.entities
        ],
    )


EXACT = 2**53
"""Whole numbers up to here are what they are when a reader takes them for floats; larger ones are floats here too."""
_numbers = msgspec.json.Decoder(list[Annotated[int, msgspec.Meta(ge=-EXACT, le=EXACT)] | float])


def read_numbers(joined: bytes, count: int) -> list[float] | None:
    """The values, whole numbers as such, by way of JSON, which is the fastest reader at hand.

    None where one of them is no finite number, is written as JSON does not write it, or is whole and beyond `EXACT`.
    """
    try:
        numbers = _numbers.decode(b"[" + joined + b"]")
    except msgspec.MsgspecError:
        return None
    return cast(list[float], numbers) if len(numbers) == count else None


def read_number(text: str) -> float | None:
    """None for NaN, infinities, DCGM's blank strings and whatever else is no number."""
    try:
        value = int(text) if text.removeprefix("-").isdecimal() else float(text)
        if not -EXACT <= value <= EXACT:
            value = float(text)
    except ValueError:
        return None
    return value if value - value == 0 else None


def is_number(text: str) -> bool:
    """Something that Prometheus' text form allows as a value, or one of DCGM's blank strings."""
    if text.startswith("<<<"):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True
