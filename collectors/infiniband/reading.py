"""What one text of a tool, file or server told of the fabric, before it becomes messages."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.contract.fabric import Port
from collectors.fabric.rows import Row
from collectors.infiniband.names import Station

ALL_PORTS = "component:ALL"
"""The row of sums over a device's ports, which some tools add: it is no port, and never added to them."""


MOST_UNREAD = 1000
"""Lines kept of a text that is something else: the first is shown, the others are counted so far."""


class Unread(list[tuple[str, str]]):
    """(why, text) of what could not be read, bounded."""

    def append(self, item: tuple[str, str]) -> None:
        """Kept unless there are enough."""
        if len(self) < MOST_UNREAD:
            super().append(item)


@dataclass(frozen=True, slots=True)
class Cable:
    """A switch's port and what is plugged into it."""

    near: Station
    port: str
    far: Station
    far_port: str | None


@dataclass(slots=True)
class Reading:
    """Rows by device and port. `cables` None: the source does not tell of cables."""

    stations: dict[Station, dict[str, Row]] = field(default_factory=dict)
    times_us: dict[Station, int] = field(default_factory=dict)
    """Source time, where the source tells one."""
    cables: list[Cable] | None = None
    unread: Unread = field(default_factory=Unread)
    switches: set[str] = field(default_factory=set)
    """GUIDs of the nodes that are switches, where the source tells kinds."""
    names: dict[str, str] = field(default_factory=dict)
    """GUID -> name of switches that cannot go by their description, as another has the same."""
    failed: str | None = None
    """Why it is no answer at all, or only a part of one."""

    def row(self, station: Station, number: str | None) -> Row:
        """The row of a port, by its number; None: the sums of all."""
        name = ALL_PORTS if number is None else station.port(number)
        rows = self.stations.setdefault(station, {})
        row = rows.get(name)
        if row is None:
            row = rows[name] = Row(Port(name=name, link_layer=None if number is None else "infiniband"))
        return row

    def lines(self, text: str) -> Iterator[str]:
        """Lines that have their end. A number cut in its middle is another number, so a last one is not believed."""
        *whole, rest = text.split("\n")
        for line in whole:
            yield line.rstrip("\r")
        if rest.strip():
            self.unread.append(("the last line has no end: it was cut", rest))
