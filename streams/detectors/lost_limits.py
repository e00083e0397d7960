"""The numbers behind the verdict that a GPU is lost."""

from dataclasses import dataclass

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US


@dataclass(frozen=True, slots=True, kw_only=True)
class LostLimits:
    """A GPU is lost when its node's page goes on without it."""

    scrapes: int = 2
    """So many scrapes in a row without a GPU that was at work: one may be a reading that timed out (own choice).
    A GPU that came back after longer gaps before is given as many more."""
    idle_us: int = MINUTE_US
    """A GPU that did nothing when it was last seen may be under a planned reset or a change of its MIG mode, which
    need an idle GPU and take well below a minute (own choice)."""
    change_us: int = 10 * MINUTE_US
    """After a change of the MIG instances of a node, or when all its GPUs go at once as for a reload of the driver,
    GPUs may be away for so long (own choice)."""
    back: int = 2
    """So many scrapes in a row with the GPU end the episode (own choice)."""
    busy: float = 0.01
    """SM or engine activity (DCGM 1002, 1001; a fraction) or use (203; as a fraction) above which a GPU is at work
    (own choice)."""
    learned: int = 4
    """At most so many scrapes more for a GPU whose row comes and goes, as where two sources report in turn (own
    choice)."""
    usual: frozenset[int] = frozenset({1, 2, 4, 8, 16})
    """How many GPUs a node has whose GPUs come on boards: HGX boards carry 4, 8 or 16, virtual machines get 1, 2, 4
    or 8 (shapes of AWS, Azure and Google). A node that never showed such a number is a ticket."""
    boards: tuple[str, ...] = ("SXM", "HBM3", "H200", "B200", "B300")
    """Words in the names of models that come on boards; PCIe cards come in any number."""
    settled_us: int = 5 * MINUTE_US
    """GPUs are counted against the usual so long after the node was first seen: at a start they may come one by one
    (own choice)."""
