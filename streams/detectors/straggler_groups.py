"""Peer groups: ranks that do the same work, so that their compute times may be compared."""

import math
from collections import defaultdict, deque
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from collectors.contract.job import Placement
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_statistic import sigma_of


@dataclass(slots=True)
class PeerGroup:
    """Ranks of one role, and what their last steps said. `steps` holds rank -> ratio for each judged step."""

    ranks: tuple[int, ...]
    stage: int | None = None
    steps: deque[dict[int, float]] = field(default_factory=deque)
    ratios: dict[int, list[float]] = field(default_factory=dict)
    quiet: dict[int, int] = field(default_factory=dict)
    """Rank -> judged steps in a row at less than half the effect."""
    own: dict[int, list[float]] = field(default_factory=dict)
    """Rank -> ln(compute) of its last steps; only where the group is too small to say who changed."""

    def noise(self, limits: StragglerLimits, rank: int, window: int) -> float:
        """The group's noise before the last `window` steps, so that the slow steps do not hide themselves.

        Right after a start there is no before: then the other ranks' ratios of the window count too, and
        a few values are trusted less.
        """
        steps = list(self.steps)
        before = [x for step in steps[-(window + limits.noise_steps) : -window] for x in step.values()]
        if len(before) < limits.noise_values and len(self.ranks) > 2:
            before += [x for step in steps[-window:] for r, x in step.items() if r != rank]
        elif len(before) < limits.pair_values:
            before += [x for step in steps[-window:] for x in step.values()]
        independent = max(1.0, len(before) * (1 - 1 / len(self.ranks)))
        doubt = 1 + limits.noise_doubt / math.sqrt(independent)
        return max(limits.noise_floor, sigma_of(before, 0.0) * doubt)

    def remember(self, limits: StragglerLimits, ratios: dict[int, float], half_effect: float) -> None:
        """Add one judged step."""
        longest = max(limits.windows)
        self.steps.append(ratios)
        if len(self.steps) > longest + limits.noise_steps:
            self.steps.popleft()
        for rank, x in ratios.items():
            series = self.ratios.setdefault(rank, [])
            series.append(x)
            if len(series) > 2 * longest:
                del series[:-longest]
            self.quiet[rank] = 0 if x > half_effect else self.quiet.get(rank, 0) + 1


def peer_groups(ranks: Iterable[int], placement: Mapping[int, Placement]) -> list[PeerGroup]:
    """Group ranks by (pp stage, cp, tp, ep role, GPU model): only data-parallel replicas are peers.

    Roles with a single rank are merged within their stage and model; a rank that is still alone is compared
    with its own past. Without a placement the whole job is one group.
    """
    roles: dict[Hashable, list[int]] = defaultdict(list)
    for rank in sorted(ranks):
        roles[_role(placement.get(rank))].append(rank)
    merged: dict[Hashable, list[int]] = defaultdict(list)
    for role, members in roles.items():
        if len(members) == 1 and members[0] in placement:
            merged[_stage_and_model(placement[members[0]])].extend(members)
        else:
            merged[(role,)].extend(members)
    out = []
    for members in merged.values():
        first = placement.get(members[0])
        out.append(PeerGroup(tuple(members), None if first is None else first.coords.pp))
    return out


def _role(place: Placement | None) -> Hashable:
    if place is None:
        return None
    c = place.coords
    return (c.pp, c.cp, c.tp, c.ep, place.gpu_model)


def _stage_and_model(place: Placement) -> Hashable:
    return ("stage", place.coords.pp, place.gpu_model)
