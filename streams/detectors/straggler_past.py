"""Ranks against their own past: those without peers, and those whose peers slowed down with them."""

import math
from collections.abc import Sequence

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
    slowed = [g for g in groups if len(g.ranks) > 1 and level_shift(limits, g.level) is not None]
    stayed = sum(len(g.ranks) > 1 and _stayed(limits, g.level) for g in groups)
    found = [c for group in slowed for c in _among(limits, state, group, most_stayed=stayed > len(slowed))]
    single = [c for group in alone for c in _left(limits, state, group)]
    others = sum(_stayed(limits, group.level) for group in alone)
    if len(alone) == 1 or others > len(single):
        found += single
    return found if len(found) <= limits.past_ranks else []


def _among(limits: StragglerLimits, state: StragglerState, group: PeerGroup, *, most_stayed: bool) -> list[Candidate]:
    left = _left(limits, state, group)
    if len(group.ranks) > 2 and left and _some_stayed(limits, group, left):
        return left
    known = sum(rank in state.kept.suspects for rank in group.ranks)
    if len(left) + known < len(group.ranks):
        return []
    one_host = len({state.node_of(rank) for rank in group.ranks} - {None}) == 1
    return left if one_host and most_stayed else []


def _some_stayed(limits: StragglerLimits, group: PeerGroup, left: list[Candidate]) -> bool:
    """Whether a peer stayed where it was, clearly: else it is the noise that lets some pass the test and some not."""
    slow = math.log(median([c.factor for c in left]))
    sigma = group.compute.noise(limits, left[0].rank, limits.shift_steps)
    error = MEDIAN_ERROR * sigma / math.sqrt(limits.shift_steps)
    for rank in group.ranks:
        by = _moved(limits, group.own.get(rank, ()))
        if by is not None and by < math.log(limits.settled) and slow - by >= limits.z * error:
            return True
    return False


def _stayed(limits: StragglerLimits, series: Sequence[float]) -> bool:
    by = _moved(limits, series)
    return by is not None and by < math.log(limits.settled)


def _moved(limits: StragglerLimits, series: Sequence[float]) -> float | None:
    """By how much the last steps stand above those before; None: too few."""
    n = limits.shift_steps
    past = list(series[-(n + limits.base_steps) : -n])
    return None if len(past) < limits.base_least else median(list(series[-n:])) - median(past)


def _left(limits: StragglerLimits, state: StragglerState, group: PeerGroup) -> list[Candidate]:
    out = []
    peers = [group.own[rank] for rank in group.sampled if rank in group.own]
    for rank in group.ranks:
        shift = None if rank in state.kept.suspects else level_shift(limits, group.own.get(rank, ()), peers)
        if shift is not None:
            out.append(Candidate(rank, math.exp(shift.mu), limits.shift_steps, None, group, base=shift.base))
    return out
