"""What is the job's and no rank's: imbalance by design or by data, a slower job, telemetry with holes."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from streams.contract import Evidence, Finding
from streams.detectors.straggler_findings import finding, job_subject, lost_per_hour
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_state import StragglerState
from streams.detectors.straggler_statistic import level_shift, median, sigma_of
from streams.detectors.straggler_steps import OpenStep


def remember_time(limits: StragglerLimits, state: StragglerState, number: int, step: OpenStep) -> None:
    """Add the step's time to the job's own series: per token where tokens are known, as batches may grow."""
    times = [e.step_s for e in step.entries.values() if e.step_s is not None and e.step_s > 0]
    tokens = [e.tokens for e in step.entries.values() if e.tokens is not None and e.tokens > 0]
    known = len(tokens) == len(step.entries)
    if state.by_tokens is None:
        state.by_tokens = known
    if not times or (state.by_tokens and not known):
        return
    y = math.log(median(times))
    if state.by_tokens:
        y -= math.log(sum(tokens) / len(tokens))
    state.times.append(y)
    if state.kept.regression_base is not None and number > state.kept.regression_since:
        state.times_since.append(y - state.kept.regression_base)
        del state.times_since[: -limits.settled_steps]
    longest = limits.shift_steps + limits.base_steps
    if len(state.times) > 2 * longest:
        del state.times[:-longest]


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
    if any(suspect.sure for suspect in kept.suspects.values()):
        return []
    shift = level_shift(limits, state.times)
    if shift is None or not _in_band(limits, state):
        return []
    factor = math.exp(shift.mu)
    world = max(len(state.placement), len(state.steps.last))
    kept.regression_base = shift.base
    kept.regression_since = number
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
                Evidence(
                    what="GPU-hours lost per hour, estimate",
                    value=lost_per_hour(world, factor),
                    unit="GPU-h/h",
                ),
            ],
            action="look for what all ranks share: power cap, switch, storage, a change of code or data",
        ),
    )
    return [] if edge is None else [edge]


def remember_stages(state: StragglerState, own: Mapping[int, float]) -> None:
    """Add the median compute of each pipeline stage in one judged step."""
    stages: dict[int, list[float]] = defaultdict(list)
    for group in state.groups:
        if group.stage is not None:
            stages[group.stage] += [own[rank] for rank in group.ranks if rank in own]
    medians = {stage: median(values) for stage, values in stages.items() if values}
    if len(medians) < 2:
        return
    state.stages.append(medians)
    if len(state.stages_first) < 5:
        state.stages_first.append(medians)


def imbalance(limits: StragglerLimits, state: StragglerState, ts_us: int) -> list[Finding]:
    """Unequal work, which no part is to blame for: between pipeline stages, or from the data."""
    out = [_stage_imbalance(limits, state, ts_us), _data_imbalance(limits, state, ts_us)]
    return [edge for edge in out if edge is not None]


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
            names = ", ".join(str(r) for r in missing[:8]) + (" ..." if len(missing) > 8 else "")
            words = f"{len(missing)} ranks do not report their steps: {names}"
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


def _in_band(limits: StragglerLimits, state: StragglerState) -> bool:
    band = math.log(limits.settled)
    return all(
        median(series[-limits.shift_steps :]) < band
        for group in state.groups
        for series in group.ratios.values()
        if series
    )


def _stage_ratios(steps: list[dict[int, float]]) -> tuple[int, float] | None:
    """The stage that is slowest over the steps and how much over the median of the others."""
    stages = sorted({stage for step in steps for stage in step})
    if len(stages) < 2:
        return None
    typical = {stage: median([s[stage] for s in steps if stage in s]) for stage in stages}
    top = max(stages, key=lambda stage: typical[stage])
    return top, typical[top] / median([typical[s] for s in stages if s != top])


def _stage_imbalance(limits: StragglerLimits, state: StragglerState, ts_us: int) -> Finding | None:
    last = _stage_ratios(list(state.stages))
    first = _stage_ratios(state.stages_first)
    if last is None or first is None or len(state.stages) < limits.settled_steps:
        return None
    stage, ratio = last
    if ratio < limits.settled:
        return state.kept.episodes.clear("stages", ts_us, f"the stages of {state.job} work alike")
    noises = [_noise(limits, group.steps) for group in state.groups if group.stage == stage]
    steady = all(noise <= limits.stage_noise for noise in noises)
    if ratio < limits.effect or first[0] != stage or first[1] < limits.settled or not steady:
        return None
    return state.kept.episodes.report(
        "stages",
        finding(
            limits,
            state,
            job_subject(state),
            ts_us,
            cause="imbalance_stage",
            severity="info",
            factor=ratio,
            summary=(
                f"pipeline stage {stage} of {state.job} computes {ratio:.2f} times as long as the others, on "
                "all replicas and from the start: a split of the model, not a fault"
            ),
            evidence=[
                Evidence(what=f"own compute of stage {s}, median", value=v, unit="s")
                for s, v in sorted(state.stages[-1].items())[:16]
            ],
            action="move layers between the stages",
        ),
    )


def _data_imbalance(limits: StragglerLimits, state: StragglerState, ts_us: int) -> Finding | None:
    worst: tuple[float, float, float] | None = None
    quiet = True
    for group in state.groups:
        steps = list(group.steps)[-limits.settled_steps :]
        if len(group.ranks) < 4 or len(steps) < limits.settled_steps:
            continue
        if any(rank in state.kept.suspects for rank in group.ranks):
            quiet = False
            continue
        noise = _noise(limits, steps)
        quiet = quiet and noise < limits.data_noise / 2
        top = Counter(max(step, key=step.__getitem__) for step in steps)
        share = top.most_common(1)[0][1] / len(steps)
        excess = median([max(step.values()) for step in steps])
        if noise > limits.data_noise and share <= limits.data_share and excess >= math.log(limits.effect):
            worst = max(worst or (0.0, 0.0, 0.0), (excess, noise, share))
    if worst is None:
        return state.kept.episodes.clear("data", ts_us, f"the ranks of {state.job} work alike") if quiet else None
    factor = math.exp(worst[0])
    return state.kept.episodes.report(
        "data",
        finding(
            limits,
            state,
            job_subject(state),
            ts_us,
            cause="imbalance_data",
            severity="info",
            factor=factor,
            summary=(
                f"in each step of {state.job} another rank is slowest, typically {factor:.2f} times its peers: "
                "unequal data, not a fault"
            ),
            evidence=[
                Evidence(what="noise between peers, sigma of ln(ratio)", value=worst[1], unit="ln"),
                Evidence(what="most steps in which one rank was slowest", value=worst[2], unit="fraction"),
            ],
            action="balance sequence lengths between ranks",
        ),
    )


def _noise(limits: StragglerLimits, steps: Iterable[Mapping[int, float]]) -> float:
    values = [x for step in list(steps)[-limits.settled_steps :] for x in step.values()]
    return sigma_of(values, limits.noise_floor)
