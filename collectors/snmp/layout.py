"""What one agent has: learned from walked tables, and where each of its instances goes from then on."""

from collections.abc import Callable
from dataclasses import dataclass, field

from collectors.fabric.cables import Heard
from collectors.fabric.cell import Cell
from collectors.fabric.grid import Grid
from collectors.fabric.series import Every, Series, Site
from collectors.snmp import neighbours, oid
from collectors.snmp.mib import ALIAS, IF_NAME, IF_TABLE, PHYSICAL, SENSOR
from collectors.snmp.objects import Object
from collectors.snmp.ports import ports
from collectors.snmp.presets import Preset
from collectors.snmp.sensors import OK, Sensor, sensors
from collectors.snmp.tables import Tables, words
from collectors.snmp.value import Absent, Value, Varbind

Stamp = tuple[int, int]
Take = Callable[[Value, Stamp], None]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Columns with the same rows: `rows` as they follow a column's bytes on the wire, in the agent's order."""

    columns: tuple[bytes, ...]
    rows: tuple[bytes, ...]
    slow: bool = False
    """Read with the sensors, not every time."""


@dataclass(slots=True)
class Layout:
    """`cells` take plain numbers in the hot loop; `others` what is read with more care."""

    grid: Grid
    ports: dict[int, str]
    cells: dict[bytes, Cell] = field(default_factory=dict)
    others: dict[bytes, Take] = field(default_factory=dict)
    wanted: list[Wanted] = field(default_factory=list)
    names: dict[bytes, bytes] = field(default_factory=dict)
    """ifName of every port as it was learned: an instance -> its bytes."""
    known: int = 0
    """Names that were read since the sweep began."""
    moved: bool = False
    """A port's name stands at another ifIndex now: nothing that was read since is of the port it seems."""

    def take(self, varbind: Varbind, stamp: Stamp) -> None:
        """Everything that the hot loop leaves: numbers in an odd dress, absent ones, names, sensors."""
        name, value = varbind
        if (cell := self.cells.get(name)) is not None:
            # Some agents write a number as text.
            number = words(value) if isinstance(value, bytes) else value
            self.grid.put(cell, None if isinstance(number, Absent | tuple) else number, stamp)
        elif (take := self.others.get(name)) is not None:
            take(value, stamp)
        elif (known := self.names.get(name)) is not None:
            self.known += 1
            self.moved = self.moved or known != value


def columns_to_learn(preset: Preset) -> tuple[bytes, ...]:
    """What is walked before anything else is known."""
    parts = (*PHYSICAL.values(), ALIAS, *SENSOR.values()) if preset.sensors else ()
    return tuple(dict.fromkeys((IF_TABLE["type"], IF_TABLE["descr"], IF_NAME, *(o.oid for o in preset.read), *parts)))


def all_columns(preset: Preset) -> tuple[bytes, ...]:
    """Everything that is ever read of one."""
    return (*columns_to_learn(preset), *(neighbours.COLUMNS if preset.neighbours else ()))


def learn(tables: Tables, preset: Preset, *, site: Site, interval_us: int, keep_ignored: bool = False) -> Layout:
    """Which port and column each instance stands for. Pure: the same tables, the same layout."""
    grid = Grid(site=site, interval_us=interval_us, keep_ignored=keep_ignored)
    layout = Layout(grid, ports(tables, preset.types))
    known = {(index,) for index in layout.ports}
    layout.names = {
        varbind.name: varbind.value
        for varbind in tables.get(IF_NAME, ())
        if isinstance(varbind.value, bytes) and oid.unpack_tail(varbind.name[len(IF_NAME) :])[:1] in known
    }
    every = Every(interval_us or None, None if preset.refresh_s is None else round(preset.refresh_s * 1e6))
    _learn_counters(layout, tables, preset, every)
    if preset.sensors:
        slow_us = round(preset.every_s * 1e6)
        _learn_sensors(layout, sensors(tables, layout.ports, Every(slow_us, slow_us)))
    return layout


def heard(tables: Tables, layout: Layout) -> dict[str, Heard]:
    """The neighbours in walked tables."""
    return neighbours.heard(tables, layout.ports)


def _learn_counters(layout: Layout, tables: Tables, preset: Preset, every: Every) -> None:
    """Of twins the widest that any port has: two widths in one column could not be subtracted by one rule."""
    places: dict[bytes, dict[bytes, Series]] = {}
    best: dict[str, Object] = {}
    for thing in preset.read:
        for varbind in tables.get(thing.oid, ()):
            if isinstance(varbind.value, Absent):
                continue
            place = thing.place(oid.unpack_tail(varbind.name[len(thing.oid) :]))
            if place is None or (port := layout.ports.get(place[0])) is None:
                continue
            series = thing.series(port, place[1], every)
            places.setdefault(thing.oid, {})[varbind.name] = series
            held = best.setdefault(series.column, thing)
            if thing.counter is not None and held.counter is not None and thing.counter.rank < held.counter.rank:
                best[series.column] = thing
    read: dict[bytes, tuple[bytes, ...]] = {}
    for column, found in places.items():
        kept = {name: series for name, series in found.items() if best[series.column].name == series.native}
        layout.cells |= {name: layout.grid.cell(series) for name, series in kept.items()}
        if kept:
            read[column] = tuple(varbind.name[len(column) :] for varbind in tables[column])
    if layout.names:
        layout.wanted.append(Wanted((IF_NAME,), tuple(v.name[len(IF_NAME) :] for v in tables[IF_NAME])))
    by_rows: dict[tuple[bytes, ...], list[bytes]] = {}
    for column, rows in read.items():
        by_rows.setdefault(rows, []).append(column)
    layout.wanted += [Wanted(tuple(columns), rows) for rows, columns in by_rows.items()]


def _learn_sensors(layout: Layout, found: list[Sensor]) -> None:
    for sensor in found:
        cell = layout.grid.cell(sensor.series)
        row = oid.tail((sensor.number,))
        layout.others[SENSOR["value"] + row] = _value(layout.grid, cell, sensor)
        layout.others[SENSOR["status"] + row] = _status(layout.grid, cell)
    if found:
        rows = sorted(sensor.number for sensor in found)
        layout.wanted.append(
            Wanted((SENSOR["value"], SENSOR["status"]), tuple(oid.tail((row,)) for row in rows), slow=True)
        )


def _value(grid: Grid, cell: Cell, sensor: Sensor) -> Take:
    return lambda value, stamp: grid.put(cell, sensor.read(value), stamp)


def _status(grid: Grid, cell: Cell) -> Take:
    """A sensor that is not in order has no value, whatever stands there (RFC 3433, entPhySensorOperStatus)."""

    def take(value: Value, stamp: Stamp) -> None:
        if value != OK and isinstance(value, int):
            grid.put(cell, None, stamp)

    return take
