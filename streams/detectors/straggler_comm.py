"""Slow communication: all members of a group transfer longer than they did, and nobody is waited for."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from streams.contract import Candidate, Confidence, Evidence, Finding, Severity
from streams.detectors.straggler_cost import Cost, cost_of
from streams.detectors.straggler_findings import finding, job_subject
from streams.detectors.straggler_groups import PeerGroup, push
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_state import StragglerState
from streams.detectors.straggler_statistic import Shift, median, risen
from streams.detectors.straggler_steps import OpenStep

_MOST_GROUPS = 64


@dataclass(frozen=True, slots=True)
class SlowGroup:
    """A group whose transfers rose. Seconds by which they are longer, and whether the waits stayed (None: not told)."""

    group: PeerGroup
    shift: Shift
    further_s: float
    waits_stayed: bool | None


def remember_transfer(limits: StragglerLimits, state: StragglerState, number: int, step: OpenStep) -> None:
    """Add one judged step. The shortest transfer of a group counts: it rises only when all of them do."""
    longest = limits.base_steps + max(limits.comm_windows)
    for group in state.groups:
        entries = [e for r in group.ranks if (e := step.entries.get(r)) is not None]
        times = [e.transfer_s for e in entries if e.transfer_s is not None and e.transfer_s > 0]
        if len(times) < max(2.0, limits.present * len(group.ranks)):
            continue
        y = math.log(min(times))
        waits = [e.wait_s for e in entries if e.wait_s is not None]
        push(group.transfer, y, longest)
        push(group.wait, median(waits) if waits else math.nan, longest)
        base = state.kept.comm.get(group.ranks[0])
        if base is not None and not state.kept.comm_held and number > state.kept.comm_since:
            above = state.comm_above.setdefault(group.ranks[0], [])
            above.append(y - base)
            del above[: -limits.settled_steps]


def slow_transfers(limits: StragglerLimits, state: StragglerState, number: int, ts_us: int) -> list[Finding]:
    """Told of the job with the groups that are slow; which link it is, step reports cannot say."""
    kept = state.kept
    if kept.comm:
        return _settled(limits, state, ts_us)
    if any(suspect.sure for suspect in kept.suspects.values()):
        return []
    found = [one for group in state.groups if (one := _slow(limits, group)) is not None]
    slow = [one for one in found if one.waits_stayed is not False]
    if not slow:
        return []
    kept.comm = {one.group.ranks[0]: one.shift.base for one in slow[:_MOST_GROUPS]}
    kept.comm_since = number
    edge = kept.episodes.report("comm", _told(limits, state, slow, ts_us))
    return [] if edge is None else [edge]


def _slow(limits: StragglerLimits, group: PeerGroup) -> SlowGroup | None:
    shift = risen(limits, group.transfer)
    if shift is None:
        return None
    further_s = math.exp(shift.base) * (math.exp(shift.mu) - 1)
    n = limits.comm_windows[0]
    past = [w for w in group.wait[-(n + limits.base_steps) : -n] if not math.isnan(w)]
    now = [w for w in group.wait[-n:] if not math.isnan(w)]
    stayed = median(now) <= median(past) + further_s / 2 if past and now else None
    return SlowGroup(group, shift, further_s, stayed)


def _settled(limits: StragglerLimits, state: StragglerState, ts_us: int) -> list[Finding]:
    for first in state.kept.comm:
        above = state.comm_above.get(first, [])
        if len(above) < limits.settled_steps or median(above) >= math.log(limits.settled):
            return []
    state.kept.comm = {}
    state.comm_above.clear()
    edge = state.kept.episodes.clear("comm", ts_us, f"{state.job} transfers as fast as before again")
    return [] if edge is None else [edge]


def _told(limits: StragglerLimits, state: StragglerState, slow: Sequence[SlowGroup], ts_us: int) -> Finding:
    worst = max(slow, key=lambda one: one.further_s)
    factor = math.exp(max(one.shift.mu for one in slow))
    cost = cost_of(state, worst.group.ranks, worst.further_s, limits.comm_windows[0])
    whole = len(slow) == len(state.groups)
    where = "every group" if whole else f"{len(slow)} of {len(state.groups)} groups ({worst.group.name})"
    sure: Confidence = "medium" if worst.waits_stayed else "low"
    evidence = [
        Evidence(what=f"shortest transfer of {one.group.name} before", value=math.exp(one.shift.base), unit="s")
        for one in slow[:8]
    ]
    evidence += [
        Evidence(
            what=f"shortest transfer of {one.group.name} now", value=math.exp(one.shift.base + one.shift.mu), unit="s"
        )
        for one in slow[:8]
    ]
    if worst.waits_stayed is None:
        evidence.append(Evidence(what="the job does not tell how long its ranks wait, so this may hold waiting"))
    candidates = [
        Candidate(
            kind="comm",
            id=f"{state.job}/{one.group.name}",
            score=1 / len(slow),
            why=f"all its {len(one.group.ranks)} members transfer {math.exp(one.shift.mu):.2f} times as long at once",
        )
        for one in slow[:8]
    ]
    return finding(
        limits,
        state,
        job_subject(state),
        ts_us,
        cause="comm_slow",
        severity=_severity(limits, cost),
        factor=factor,
        summary=(
            f"all members of {where} of {state.job} transfer {factor:.2f} times as long as before, and no rank is "
            "slower at its own work: a link or NIC of theirs"
        ),
        evidence=evidence,
        action="compare counters and speeds of the NICs and links of these ranks; step reports do not say which",
        confidence=sure,
        cost=cost,
        candidates=candidates if not whole else (),
    )


def _severity(limits: StragglerLimits, cost: Cost | None) -> Severity:
    if cost is None or cost.slowdown < limits.comm_ticket:
        return "info"
    return "critical" if cost.slowdown >= limits.comm_page else "warning"
