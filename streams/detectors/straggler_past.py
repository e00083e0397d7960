"""Ranks against their own past: those without peers, and those whose peers slowed down with them."""

import math

from streams.detectors.straggler_groups import PeerGroup
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_state import StragglerState
from streams.detectors.straggler_statistic import MEDIAN_ERROR, level_shift, median
from streams.detectors.straggler_words import Candidate


def look_back(limits: StragglerLimits, state: StragglerState, groups: list[PeerGroup]) -> list[Candidate]:
    """Ranks that left their own past although no ratio shows it, after a judged step of these whole groups.

    With three of four slow the median is slow too, and a group on one host slows as one. A group that slowed as a
    whole on several hosts, or most groups at once, is the job's doing (code, data, a shared cause) and no rank's.
    """
    alone = [group for group in groups if len(group.ranks) == 1]
    slowed = [group for group in groups if len(group.ranks) > 1 and level_shift(limits, group.level) is not None]
    calm = len(groups) - len(alone) - len(slowed)
    found = [c for group in slowed for c in _among(limits, state, group, others_are_calm=calm > len(slowed))]
    single = [c for group in alone for c in _left(limits, state, group)]
    if len(alone) > 1 and 2 * len(single) > len(alone):
        single = []
    found += single
    return found if len(found) <= limits.past_ranks else []


def _among(
    limits: StragglerLimits, state: StragglerState, group: PeerGroup, *, others_are_calm: bool
) -> list[Candidate]:
    left = _left(limits, state, group)
    if len(group.ranks) > 2 and left and _some_stayed(limits, group, left):
        return left
    known = sum(rank in state.kept.suspects for rank in group.ranks)
    if len(left) + known < len(group.ranks):
        return []
    one_host = len({state.node_of(rank) for rank in group.ranks} - {None}) == 1
    return left if one_host and others_are_calm else []


def _some_stayed(limits: StragglerLimits, group: PeerGroup, left: list[Candidate]) -> bool:
    """Whether a peer stayed where it was, clearly: else it is the noise that lets some pass the test and some not."""
    n = limits.shift_steps
    moved = math.log(median([c.factor for c in left]))
    sigma = group.compute.noise(limits, left[0].rank, n)
    for rank in group.ranks:
        own = list(group.own.get(rank, ()))
        past = own[-(n + limits.base_steps) : -n]
        if len(past) < limits.base_least:
            continue
        own_shift = median(own[-n:]) - median(past)
        apart = (moved - own_shift) * math.sqrt(n) / (MEDIAN_ERROR * sigma)
        if own_shift < math.log(limits.settled) and apart >= limits.z:
            return True
    return False


def _left(limits: StragglerLimits, state: StragglerState, group: PeerGroup) -> list[Candidate]:
    out = []
    for rank in group.ranks:
        shift = None if rank in state.kept.suspects else level_shift(limits, group.own.get(rank, ()))
        if shift is not None:
            out.append(Candidate(rank, math.exp(shift.mu), limits.shift_steps, None, group, base=shift.base))
    return out
