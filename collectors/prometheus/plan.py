"""What an import asks for, in which order, and how far it has come."""

from msgspec import Struct, field

MOST_POINTS = 10_000
"""Of a series in one answer: Prometheus refuses more than 11,000."""
WANTED_BYTES = 8 << 20
"""Of an answer: held in memory some ten times over."""
LABEL_BYTES, POINT_BYTES = 450, 26
"""Of a series' labels and of one of its values, in JSON."""
FEWEST_POINTS = 240
"""Hosts are taken together as long as each series still has so many points in an answer; below, labels are most of
what is sent."""


class Asked(Struct, frozen=True):
    """What the user asked for: the same words mean the same import."""

    url: str
    from_: str
    to: str
    step: str = ""
    match: tuple[str, ...] = ()


class Plan(Struct, frozen=True):
    """An import, settled once: what is added to the server meanwhile is not part of it."""

    asked: Asked
    names: tuple[str, ...]
    host_label: str
    hosts: tuple[str, ...]
    """Values of `host_label`; empty text stands for series without it."""
    step_s: float
    first: int
    end: int
    """Steps since 1970, the last one left out."""
    together: int
    """Hosts in one query."""

    @property
    def rounds(self) -> int:
        """How often the whole time is gone through: once for each group of hosts."""
        return -(-len(self.hosts) // self.together)

    @property
    def steps(self) -> int:
        """All steps of all rounds."""
        return self.rounds * (self.end - self.first)

    def group(self, number: int) -> tuple[str, ...]:
        """The hosts of one round."""
        return self.hosts[number * self.together : (number + 1) * self.together]


class Progress(Struct, frozen=True):
    """How far a plan has come: everything before `at` of this round is with Kafka."""

    plan: Plan
    round: int = 0
    at: int = 0
    points: int = field(default=FEWEST_POINTS)
    """How many steps an answer had lately."""

    def done(self) -> int:
        """Steps."""
        return self.round * (self.plan.end - self.plan.first) + (self.at - self.plan.first)

    @property
    def over(self) -> bool:
        """Nothing is left."""
        return self.round >= self.plan.rounds


def together(series: int, hosts: int) -> int:
    """How many hosts fit into one query."""
    each = max(1, series) / max(1, hosts) * (LABEL_BYTES + FEWEST_POINTS * POINT_BYTES)
    return max(1, min(hosts, int(WANTED_BYTES / each)))


def fitting(points: int, got_bytes: int) -> int:
    """How many steps to ask for next, after an answer of so many steps and bytes."""
    if got_bytes <= 0:
        return min(MOST_POINTS, 2 * points)
    return max(1, min(MOST_POINTS, 2 * points, int(points * WANTED_BYTES / got_bytes)))
