"""Peer groups: ranks that do the same work, so that their compute times may be compared."""

import math
from array import array
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from collectors.contract.job import Placement
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_microbatches import Pairs
from streams.detectors.straggler_statistic import median
from streams.detectors.straggler_steps import Entry
from streams.detectors.straggler_track import Track, extend

_SAMPLED_RANKS = 64
"""Ranks of one group that stand for its noise: over 40 steps they tell it to two per cent."""


class Stage(NamedTuple):
    """A part of the pipeline. `pp` -1: not told."""

    pp: int
    virtual: tuple[int, ...] = ()
    """The virtual stages of its ranks, where these are told."""

    def __str__(self) -> str:
        """`2`, or `2 (virtual stages 2, 6)`."""
        layout = f"virtual stages {', '.join(map(str, self.virtual))}" if self.virtual else ""
        return layout if self.pp < 0 else f"{self.pp} ({layout})" if layout else str(self.pp)


def stage_of(place: Placement) -> Stage | None:
    """None for a job without a pipeline."""
    pp, virtual = place.coords.pp, place.coords.virtual_stages or ()
    return None if pp is None and not virtual else Stage(-1 if pp is None else pp, virtual)


def role_of(place: Placement) -> Hashable:
    """What a rank does, but for the GPU that it does it on: only data-parallel replicas have the same."""
    c = place.coords
    return (stage_of(place), c.cp, c.tp, c.ep)


@dataclass(slots=True)
class PeerGroup:
    """Ranks of one role, and what their last steps said."""

    ranks: tuple[int, ...]
    stage: Stage | None = None
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
    microbatches: deque[dict[int, Pairs]] = field(default_factory=deque)
    """How the microbatches of some of them varied within the same steps, where they are told."""

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

    def forget_past(self) -> None:
        """What was before is no measure any more. How its ranks stand to each other still is."""
        self.own.clear()
        for series in (self.level, self.transfer, self.wait):
            del series[:]


def push(series: MutableSequence[float], value: float, longest: int) -> None:
    """Add a value to a series, of which the last `longest` values at least are kept."""
    series.append(value)
    if len(series) > 2 * longest:
        del series[:-longest]


def peer_groups(ranks: Iterable[int], placement: Mapping[int, Placement]) -> list[PeerGroup]:
    """Group ranks by (pp stage and virtual stages, cp, tp, ep role, GPU model): only data-parallel replicas are peers.

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
        stage = stage_of(places[0]) if places else None
        out.append(PeerGroup(tuple(members), stage, _name(places)))
    return out


def _role(place: Placement | None) -> Hashable:
    if place is None:
        return None
    return (role_of(place), place.gpu_model)


def _without_tp_and_cp(place: Placement) -> Hashable:
    return ("merged", stage_of(place), place.coords.ep, place.gpu_model)


def _name(places: Sequence[Placement]) -> str:
    stages = {stage_of(place) for place in places} - {None}
    words = [str(stage) if stage.pp < 0 else f"stage {stage}" for stage in stages if stage is not None]
    for what, word in (("tp", "tp"), ("cp", "cp"), ("ep", "ep")):
        values = {getattr(place.coords, what) for place in places}
        if len(values) == 1 and None not in values:
            words.append(f"{word} {values.pop()}")
    return ", ".join(words) or "all ranks"
