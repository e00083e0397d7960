"""What a device says of its ports and of itself beside the counters: speed, state, and when counting began."""

from collections.abc import Iterator, Sequence

from collectors.contract.fabric import Port
from collectors.fabric.cell import Cell
from collectors.fabric.reading import Value, gbps
from collectors.fabric.series import DEVICE_ROW, PART_PREFIXES, Series, Site

UP = 1
"""IF-MIB ifOperStatus."""
_MARKERS = {"device_boot_time": "boot", "port_counters_last_clear": "clear"}
"""What the epoch is made of, where a device tells it."""
_SPEEDS = ("port_speed_id", "port_speed_mbps")


class Ports:
    """The rows of one device, and the cells that say something of them."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._rows: list[str] = []
        self._speeds: list[Cell | None] = []
        self._states: list[Cell | None] = []
        self._markers: dict[str, list[Cell]] = {}
        self._discontinuities: Sequence[Cell | None] = ()
        self._told: list[tuple[Value, Value]] = []
        self._ports: list[Port] = []
        self._breaks: dict[str, str] = {}

    def lay_out(self, rows: Sequence[str]) -> None:
        """Begin anew with these rows; `add` follows for the cells, the best-ranked first."""
        self._rows = list(rows)
        self._speeds = [None] * len(rows)
        self._states = [None] * len(rows)
        self._markers, self._discontinuities, self._told = {}, (), []

    def add_marker(self, series: Series, cell: Cell) -> None:
        """A cell of any row, shown or not."""
        if series.counter is not None and series.counter.canonical in _MARKERS:
            self._markers.setdefault(series.counter.canonical, []).append(cell)

    def add(self, row: int, series: Series, cell: Cell) -> None:
        """A cell of a row that is shown."""
        canonical = series.counter.canonical if series.counter is not None else None
        if canonical in _SPEEDS:
            self._speeds[row] = self._speeds[row] or cell
        elif canonical == "port_oper_state":
            self._states[row] = cell

    def add_discontinuities(self, cells: Sequence[Cell | None]) -> None:
        """Parallel to the rows: when each port's own counters were set anew."""
        self._discontinuities = cells

    def cells(self) -> Iterator[Cell | None]:
        """All that is looked at here."""
        yield from self._speeds
        yield from self._states
        yield from self._discontinuities
        for cells in self._markers.values():
            yield from cells

    def present(self) -> list[Port]:
        """The ports as they stand. A new list only where something changed."""
        told = [
            (None if speed is None else speed.value, None if state is None else state.value)
            for speed, state in zip(self._speeds, self._states, strict=True)
        ]
        if told != self._told or len(self._ports) != len(self._rows):
            self._told = told
            self._ports = [self._port(name, *pair) for name, pair in zip(self._rows, told, strict=True)]
        return self._ports

    def epoch(self) -> str:
        """Changes when the device boots or its counters are cleared, where it tells."""
        parts = []
        for canonical, short in _MARKERS.items():
            known = [cell.value for cell in self._markers.get(canonical, ()) if isinstance(cell.value, int)]
            if known:
                parts.append(f"{short}:{max(known)}")
        return "/".join(parts)

    def epochs(self) -> list[str]:
        """Changes for a port whose counters were set anew, where the device tells of ports one by one.

        One that cannot be read now still stands as it was last told.
        """
        if not self._discontinuities:
            return []
        for row, cell in enumerate(self._discontinuities):
            if cell is not None and cell.value is not None:
                self._breaks[self._rows[row]] = f"break:{cell.value}"
        return [self._breaks.get(name, "") for name in self._rows]

    def _port(self, name: str, speed: Value, state: Value) -> Port:
        if name == DEVICE_ROW or name.startswith(PART_PREFIXES):
            return Port(name=name)
        return Port(
            name=name,
            speed_gbps=gbps(speed),
            oper_up=state == UP if isinstance(state, int) else None,
            link_layer="ethernet",
            lossless=None if self._site.lossless is None else list(self._site.lossless),
        )
