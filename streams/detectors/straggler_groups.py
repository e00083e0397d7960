"""Peer groups: ranks that do the same work, so that their compute times may be compared."""

import math
from array import array
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field

from collectors.contract.job import Placement
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_statistic import median
from streams.detectors.straggler_steps import Entry
from streams.detectors.straggler_track import Track, extend

_SAMPLED_RANKS = 64
"""Ranks of one group that stand for its noise: over 40 steps they tell it to two per cent."""


@dataclass(slots=True)
class PeerGroup:
    """Ranks of one role, and what their last steps said."""

    ranks: tuple[int, ...]
    stage: int | None = None
    name: str = "all ranks"
    """The role in words: `stage 2, tp 1`."""
    compute: Track = field(init=False)
    host: Track = field(init=False)
    """Of the group's typical compute and what each rank's host adds to it."""
    own: dict[int, MutableSequence[float]] = field(default_factory=dict)
    """Rank -> ln(compute) of its last steps: its own past."""
    level: MutableSequence[float] = field(default_factory=lambda: array("d"))
    """ln of the group's median compute in its last steps."""
    transfer: MutableSequence[float] = field(default_factory=lambda: array("d"))
    """ln of the shortest transfer of its last steps: the last to arrive waits for nobody."""
    wait: MutableSequence[float] = field(default_factory=lambda: array("d"))
    """The median wait of the same steps, seconds; NaN where none was told."""
    loads: deque[list[Entry]] = field(default_factory=deque)
    """What some of its ranks worked on in the last steps."""

    def __post_init__(self) -> None:
        self.compute = Track(len(self.ranks), self.sampled)
        self.host = Track(len(self.ranks), self.sampled)

    @property
    def sampled(self) -> Sequence[int]:
        """The ranks that stand for the group where all would be too many."""
        return self.ranks[:: -(-len(self.ranks) // _SAMPLED_RANKS)]

    def remember_own(self, limits: StragglerLimits, present: Mapping[int, float]) -> None:
        """Add one judged step to the ranks' own pasts and to the group's."""
        longest = limits.base_steps + max(limits.windows)
        for rank, value in present.items():
            extend(self.own, rank, math.log(value), longest)
        push(self.level, math.log(median(list(present.values()))), longest)


def push(series: MutableSequence[float], value: float, longest: int) -> None:
    """Add a value to a series, of which the last `longest` values at least are kept."""
    series.append(value)
    if len(series) > 2 * longest:
        del series[:-longest]


def peer_groups(ranks: Iterable[int], placement: Mapping[int, Placement]) -> list[PeerGroup]:
    """Group ranks by (pp stage, cp, tp, ep role, GPU model): only data-parallel replicas are peers.

    Roles with a single rank are merged over tp and cp; a rank that is still alone is compared with its own past.
    Without a placement the whole job is one group.
    """
    roles: dict[Hashable, list[int]] = defaultdict(list)
    for rank in sorted(ranks):
        roles[_role(placement.get(rank))].append(rank)
    merged: dict[Hashable, list[int]] = defaultdict(list)
    for role, members in roles.items():
        if len(members) == 1 and members[0] in placement:
            merged[_without_tp_and_cp(placement[members[0]])].extend(members)
        else:
            merged[(role,)].extend(members)
    out = []
    for members in merged.values():
        places = [placement[rank] for rank in members if rank in placement]
        stage = places[0].coords.pp if places else None
        out.append(PeerGroup(tuple(members), stage, _name(places)))
    return out


def _role(place: Placement | None) -> Hashable:
    if place is None:
        return None
    c = place.coords
    return (c.pp, c.cp, c.tp, c.ep, place.gpu_model)


def _without_tp_and_cp(place: Placement) -> Hashable:
    return ("merged", place.coords.pp, place.coords.ep, place.gpu_model)


def _name(places: Sequence[Placement]) -> str:
    words = []
    for what, word in (("pp", "stage"), ("tp", "tp"), ("cp", "cp"), ("ep", "ep")):
        values = {getattr(place.coords, what) for place in places}
        if len(values) == 1 and None not in values:
            words.append(f"{word} {values.pop()}")
    return ", ".join(words) or "all ranks"
