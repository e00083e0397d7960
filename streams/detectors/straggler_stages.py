"""Unequal work of the pipeline stages, which no part is to blame for. Told, never paged."""

from collections import defaultdict
from collections.abc import Mapping

from streams.contract import Evidence, Finding
from streams.detectors.straggler_cost import Cost, cost_of
from streams.detectors.straggler_findings import finding, job_subject
from streams.detectors.straggler_groups import Stage
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_state import StragglerState
from streams.detectors.straggler_statistic import median


def remember_stages(state: StragglerState, own: Mapping[int, float]) -> None:
    """Add the median compute of each pipeline stage in one judged step."""
    stages: dict[Stage, list[float]] = defaultdict(list)
    for group in state.groups:
        if group.stage is not None:
            stages[group.stage] += [own[rank] for rank in group.ranks if rank in own]
    medians = {stage: median(values) for stage, values in stages.items() if values}
    if len(medians) < 2:
        return
    state.stages.append(medians)
    if len(state.stages_first) < 5:
        state.stages_first.append(medians)


def _stage_ratios(steps: list[dict[Stage, float]]) -> tuple[Stage, float] | None:
    """The stage that is slowest over the steps and how much over the median of the others."""
    stages = sorted({stage for step in steps for stage in step})
    if len(stages) < 2:
        return None
    typical = {stage: median([s[stage] for s in steps if stage in s]) for stage in stages}
    top = max(stages, key=lambda stage: typical[stage])
    return top, typical[top] / median([typical[s] for s in stages if s != top])


def stage_imbalance(limits: StragglerLimits, state: StragglerState, ts_us: int) -> Finding | None:
    """One stage takes longer than the others on all replicas, from the start: a split of the model, not a fault."""
    last = _stage_ratios(list(state.stages))
    first = _stage_ratios(state.stages_first)
    if last is None or first is None or len(state.stages) < limits.settled_steps:
        return None
    stage, ratio = last
    if ratio < limits.settled:
        return state.kept.episodes.clear("stages", ts_us, f"the stages of {state.job} work alike")
    noises = [group.compute.spread(limits) for group in state.groups if group.stage == stage]
    steady = all(noise <= limits.stage_noise for noise in noises)
    grown = ratio / first[1] >= limits.effect
    if ratio < limits.effect or first[0] != stage or first[1] < limits.settled or grown or not steady:
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
            confidence="medium",
            cost=_stage_cost(state, stage),
        ),
    )


def _stage_cost(state: StragglerState, stage: Stage) -> Cost | None:
    """With the work spread evenly every stage would take the mean."""
    now = state.stages[-1]
    ranks = [rank for group in state.groups if group.stage == stage for rank in group.ranks]
    if state.load.alpha or state.load.beta:
        return None
    return cost_of(state, ranks, now[stage] - sum(now.values()) / len(now))
