"""What is the job's and no rank's: a step time that left the job's own past, and telemetry with holes."""

import math
from collections.abc import Sequence

from streams.contract import Evidence, Finding
from streams.detectors.straggler_cost import Cost, lost_per_hour
from streams.detectors.straggler_findings import finding, job_subject, named
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_setting import agreed
from streams.detectors.straggler_state import Per, StragglerState
from streams.detectors.straggler_statistic import level_shift, median
from streams.detectors.straggler_steps import COMPUTE, CPU, DATA, TRANSFER, WAIT, Entry, OpenStep

_SAMPLED_RANKS = 64
_PARTS = (("compute", COMPUTE), ("waiting for data", DATA), ("host work", CPU), ("transfer", TRANSFER), ("wait", WAIT))


def remember_time(limits: StragglerLimits, state: StragglerState, number: int, step: OpenStep) -> None:
    """Add the step's time to the job's own series, unless it had a batch of another size: the rest of an epoch."""
    times = [e.step_s for e in step.entries.values() if e.step_s is not None and e.step_s > 0]
    tokens = [e.tokens for e in step.entries.values() if e.tokens is not None and e.tokens > 0]
    size = agreed(step.batch_sizes)
    work: dict[Per, float | None] = {
        "token": sum(tokens) / len(tokens) if tokens and len(tokens) == len(step.entries) else None,
        "sample": None if size is None else float(size),
        "step": 1.0,
    }
    finest: Per = next(per for per, amount in work.items() if amount is not None)
    state.per = finest if state.per is None else state.per
    amount = work[state.per]
    if not times or amount is None or not state.setting.usual:
        return
    y = math.log(median(times) / amount)
    state.times.append(y)
    some = list(step.entries.values())[:: -(-len(step.entries) // _SAMPLED_RANKS)]
    state.parts.append(Entry._make(_middle(some, cell) for cell in range(len(Entry._fields))))
    alike = state.kept.regression_per in (None, state.per)
    if state.kept.regression_base is not None and alike and number > state.kept.regression_since:
        state.times_since.append(y - state.kept.regression_base)
        del state.times_since[: -limits.settled_steps]
    longest = limits.shift_steps + limits.base_steps
    if len(state.times) > 2 * longest:
        del state.times[:-longest]
        del state.parts[:-longest]


def regression(limits: StragglerLimits, state: StragglerState, number: int, ts_us: int) -> list[Finding]:
    """The whole job is slower than its own past and no rank stands out: the cause is shared."""
    kept = state.kept
    if kept.regression_base is not None:
        last = state.times_since
        if len(last) < limits.settled_steps or median(last) >= math.log(limits.settled):
            return []
        told = Evidence(what="step time over the job's past", value=math.exp(median(last)), unit="ratio")
        kept.regression_base = None
        state.times_since.clear()
        edge = kept.episodes.clear("regression", ts_us, f"{state.job} is as fast as before again", [told])
        return [] if edge is None else [edge]
    if kept.comm or any(suspect.sure for suspect in kept.suspects.values()):
        return []
    shift = level_shift(limits, state.times)
    if shift is None or not _in_band(limits, state):
        return []
    factor = math.exp(shift.mu)
    now_s = median([p.step_s for p in state.parts[-limits.shift_steps :] if p.step_s is not None])
    kept.regression_base = shift.base
    kept.regression_since = number
    kept.regression_per = state.per
    edge = kept.episodes.report(
        "regression",
        finding(
            limits,
            state,
            job_subject(state),
            ts_us,
            cause="job_regression",
            severity="warning",
            factor=factor,
            summary=f"every step of {state.job} takes {factor:.2f} times as long as before; no rank stands out",
            evidence=[
                Evidence(
                    what="steps in the window, all ranks within band",
                    value=float(limits.shift_steps),
                    unit="steps",
                ),
                *_grown(limits, state),
            ],
            action="look for what all ranks share: power cap, switch, storage, a change of code or data",
            confidence="medium",
            cost=Cost(now_s, factor, lost_per_hour(state.world, factor), bound=False),
        ),
    )
    return [] if edge is None else [edge]


def quality(limits: StragglerLimits, state: StragglerState, step: OpenStep, whole: bool, ts_us: int) -> list[Finding]:
    """Steps that could not be judged because too few ranks of a group reported."""
    edge: Finding | None = None
    if whole:
        state.incomplete = min(state.incomplete, 0) - 1
        if -state.incomplete >= limits.settled_steps:
            edge = state.kept.episodes.clear("quality", ts_us, f"{state.job}: all groups report again")
    else:
        state.incomplete = max(state.incomplete, 0) + 1
        if state.incomplete >= limits.quality_steps:
            missing = [r for r in sorted(state.steps.last) if r not in step.entries]
            on = "" if not (nodes := _nodes(state, missing)) else f" on {nodes}"
            words = f"{len(missing)} ranks{on} do not report their steps: {named(missing)}"
            if not missing:
                words = "its ranks do not report compute of their own, so a slow one cannot be found"
            edge = state.kept.episodes.report(
                "quality",
                finding(
                    limits,
                    state,
                    job_subject(state),
                    ts_us,
                    cause="steps_incomplete",
                    severity="info",
                    factor=None,
                    summary=f"{state.job}: {words}",
                    evidence=[
                        Evidence(what="ranks that reported", value=float(len(step.entries)), unit="ranks"),
                        Evidence(what="ranks known", value=float(len(state.steps.last)), unit="ranks"),
                    ],
                ),
            )
    return [] if edge is None else [edge]


def _nodes(state: StragglerState, ranks: Sequence[int]) -> str:
    """Where they run, as far as known: `n3, n4 ...`."""
    nodes = sorted({node for rank in ranks if (node := state.node_of(rank)) is not None})
    return ", ".join(nodes[:8]) + (" ..." if len(nodes) > 8 else "")


def _in_band(limits: StragglerLimits, state: StragglerState) -> bool:
    """No rank is slower than its peers, and none kept up its old pace while the others fell behind."""
    low, high = -math.log(limits.effect), math.log(limits.settled)
    return all(
        low < median(series[-limits.shift_steps :]) < high
        for group in state.groups
        for series in group.compute.ratios.values()
        if series
    )


def _middle(entries: Sequence[Entry], cell: int) -> float | None:
    values = [value for entry in entries if (value := entry[cell]) is not None]
    return median(values) if values else None


def _grown(limits: StragglerLimits, state: StragglerState) -> list[Evidence]:
    """What a typical rank spent before and now, the part that grew most first."""
    now, past = state.parts[-limits.shift_steps :], state.parts[: -limits.shift_steps][-limits.base_steps :]
    rows = []
    for what, cell in _PARTS:
        before_s, now_s = _middle(past, cell), _middle(now, cell)
        if before_s is not None and now_s is not None:
            rows.append((now_s - before_s, what, before_s, now_s))
    return [
        Evidence(what=f"{what} of a typical rank {when}, median", value=value, unit="s")
        for _, what, before_s, now_s in sorted(rows, reverse=True)
        for when, value in (("before", before_s), ("now", now_s))
    ]
