"""The cells of one device: rows of ports, columns of counters, cut into a `PortScrape` when a round is in."""

import re
from collections import Counter as Count
from collections.abc import Callable, Sequence

from collectors.contract.fabric import CounterForm, PortScrape
from collectors.fabric.block import Block
from collectors.fabric.cell import Cell, Stamp
from collectors.fabric.column import FOREVER, Column
from collectors.fabric.ports import Ports
from collectors.fabric.reading import Raw, Unreadable, Value, reader
from collectors.fabric.series import Series, Site

MOST_ERRORS = 100
"""That one scrape tells."""


class Grid:
    """Learns series as they come and keeps the last value of each.

    A value that is sent every interval and has not come for three of them is no longer known: None.
    `keep_ignored` keeps under `named` what the tables say to ignore, and the lesser of twins.
    """

    def __init__(self, *, site: Site, interval_us: int = 0, keep_ignored: bool = False) -> None:
        self._interval_us = interval_us
        self._keep_ignored = keep_ignored
        self._cells: dict[Series, Cell] = {}
        self._dirty = False
        self.round = 1
        self.errors: dict[str, str] = {}
        self._ports = Ports(site)
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
            epoch=self._ports.epoch(),
            ports=self._ports.present(),
            columns={name: column.values(self.round) for name, column in self._columns.items()},  # type: ignore[misc]
            forms=self._forms,
            named={name: column.values(self.round) for name, column in self._named.items()},
            baseline=baseline,
            errors=self.errors,
            port_epochs=self._ports.epochs(),
        )
        self.errors = {}
        self.round += 1
        return scrape

    def _lay_out(self) -> None:
        """Rows in natural order; of twins the best-ranked one holds the column, the others are `named`."""
        self._columns, self._named, self._forms = {}, {}, {}
        names = sorted({s.row for s in self._cells if self._kept(s)}, key=_natural)
        rows = {name: number for number, name in enumerate(names)}
        self._ports.lay_out(names)
        for series, cell in sorted(self._cells.items(), key=lambda item: _rank(item[0])):
            self._ports.add_marker(series, cell)
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
            self._ports.add(row, series, cell)
        if (breaks := self._columns.get("port_discontinuity_time")) is not None:
            self._ports.add_discontinuities(breaks.cells)
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
        cut = {cell for column in columns for cell in column.plan(places)} - set(self._ports.cells())
        for block in self._blocks:
            block.plan(cut)
        self._planned = True

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


def _rank(series: Series) -> tuple[int, int]:
    return series.counter.rank if series.counter is not None else (0, 0)


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]
