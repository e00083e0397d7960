"""What is remembered of one job's communicators."""

from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec import Struct
from msgspec import field as kept_field

from streams.detectors.comm_join import Joins
from streams.detectors.comm_pairs import Pairs
from streams.detectors.comm_series import Series
from streams.detectors.roll import Roll
from streams.episodes import Episodes


class End(NamedTuple):
    """A process: one end of the network. Without its number the node stands for it."""

    node: str
    pid: int | None


@dataclass(slots=True)
class Comm:
    """One communicator."""

    size: int
    nodes: int | None
    name: str | None
    heard_us: int
    ends: dict[int, End] = field(default_factory=dict)
    """Rank -> where it runs."""
    joins: Joins = field(default_factory=Joins)
    series: Series = field(default_factory=Series)
    pairs: Pairs = field(default_factory=Pairs)
    slow_us: int | None = None
    """Since when its transfers are slow."""
    mask: int = 0
    """Collectives whose number has none of these bits are looked at."""

    def spans_nodes(self) -> bool:
        """Does it use the network between nodes?"""
        return self.nodes > 1 if self.nodes is not None else len({end.node for end in self.ends.values()}) > 1


class Kept(Struct):
    """What outlives the process; it changes with an edge, an attempt or an end."""

    cluster: str = "default"
    job: str = ""
    attempt: int = 0
    ended_us: int | None = None
    restarted_us: int = 0
    edge_us: int = 0
    """Time of the last edge: what is read again up to it brings none."""
    bases: dict[str, dict[str, float]] = kept_field(default_factory=dict)
    """Communicator -> kind -> ln(seconds) of its past, of those that are slow: after a restart nobody else knows it."""
    late: dict[str, list[str]] = kept_field(default_factory=dict)
    """Name of an open episode of late ranks -> communicators that they hold up."""
    pair_bases: dict[str, dict[str, float]] = kept_field(default_factory=dict)
    """Communicator -> `source>destination` -> GB/s, likewise."""
    episodes: Episodes = kept_field(default_factory=Episodes)


@dataclass(slots=True)
class CommState:
    """All of one job. Only `kept` is durable; the rest comes back with the windows."""

    kept: Kept = field(default_factory=Kept)
    comms: dict[str, Comm] = field(default_factory=dict)
    roll: Roll = field(default_factory=Roll)
    now_us: int = 0
    swept_us: int = 0
    rows: int = 0
    """What ranks said of collectives that are still waited for."""
    judge_us: int = 0
    """When the communicators are next looked at together."""
    muted_us: int = 0
    compute_us: int = 0
    """The last step report that tells compute times."""
    transfer_us: int = 0
    """The last that tells transfer times."""

    def begin(self, attempt: int) -> None:
        """Another attempt has other communicators."""
        self.kept.attempt = attempt
        self.kept.ended_us = None
        self.comms = {}
        self.rows = 0
        self.compute_us = self.transfer_us = 0
