"""Unequal work, which no part is to blame for: between pipeline stages, or from the data. Told, never paged."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from streams.contract import Confidence, Evidence, Finding
from streams.detectors.straggler_cost import Cost, cost_of
from streams.detectors.straggler_findings import finding, job_subject
from streams.detectors.straggler_groups import PeerGroup
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_state import StragglerState
from streams.detectors.straggler_statistic import correlation, median, ratios_to_others, sigma_of
from streams.detectors.straggler_steps import OpenStep

_LEAST_RANKS = 4


def remember_loads(limits: StragglerLimits, state: StragglerState, step: OpenStep) -> None:
    """Add what some ranks of each group worked on in one judged step."""
    for group in state.groups:
        if len(group.ranks) < _LEAST_RANKS:
            continue
        group.loads.append([e for r in group.sampled if (e := step.entries.get(r)) is not None])
        if len(group.loads) > limits.settled_steps:
            group.loads.popleft()


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
    edges = [_stage_imbalance(limits, state, ts_us), _data_imbalance(limits, state, ts_us)]
    return [edge for edge in edges if edge is not None]


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


def _stage_cost(state: StragglerState, stage: int) -> Cost | None:
    """With the work spread evenly every stage would take the mean."""
    now = state.stages[-1]
    ranks = [rank for group in state.groups if group.stage == stage for rank in group.ranks]
    if state.load.alpha or state.load.beta:
        return None
    return cost_of(state, ranks, now[stage] - sum(now.values()) / len(now))


def _data_imbalance(limits: StragglerLimits, state: StragglerState, ts_us: int) -> Finding | None:
    """In each step another rank has the most to do. Judged as measured: here the load is the point.

    It is over when every group was seen to work alike: one that told too little says nothing.
    """
    worst: Uneven | None = None
    groups = [group for group in state.groups if len(group.ranks) >= _LEAST_RANKS]
    quiet = bool(groups)
    for group in groups:
        judged = len(group.loads) >= limits.settled_steps and not any(r in state.kept.suspects for r in group.ranks)
        seen = _uneven(group) if judged else None
        quiet = quiet and seen is not None and seen.noise < limits.data_noise / 2
        if seen is not None and (
            seen.noise > limits.data_noise
            and seen.share <= limits.data_share
            and seen.excess >= math.log(limits.effect)
            and (seen.fit is None or seen.fit >= limits.data_fit)
            and (worst is None or seen.excess > worst.excess)
        ):
            worst = seen
    if worst is None:
        return state.kept.episodes.clear("data", ts_us, f"the ranks of {state.job} work alike") if quiet else None
    factor = math.exp(worst.excess)
    confidence: Confidence = "low" if worst.fit is None else "medium"
    told = "its work per rank is not told" if worst.fit is None else "compute follows the work that each rank was given"
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
                Evidence(what="noise between peers, sigma of ln(ratio)", value=worst.noise, unit="ln"),
                Evidence(what="most steps in which one rank was slowest", value=worst.share, unit="fraction"),
                Evidence(what=f"correlation of compute with work: {told}", value=worst.fit),
            ],
            action="balance sequence lengths between ranks",
            confidence=confidence,
            cost=cost_of(state, worst.group.ranks, worst.middle_s * (factor - 1)),
        ),
    )


@dataclass(frozen=True, slots=True)
class Uneven:
    """How unevenly the ranks of a group worked over the last steps. `excess`, `noise`: natural logarithms."""

    group: PeerGroup
    excess: float
    noise: float
    share: float
    """Of the steps, those in which the same rank was slowest."""
    middle_s: float
    fit: float | None
    """Correlation of compute with the work told; None: none was told, or all had the same."""


def _uneven(group: PeerGroup) -> Uneven | None:
    tops: list[int] = []
    excesses: list[float] = []
    values: list[float] = []
    middles: list[float] = []
    for entries in group.loads:
        own = {i: e.compute_s for i, e in enumerate(entries) if e.compute_s is not None and e.compute_s > 0}
        if len(own) < _LEAST_RANKS:
            return None
        ratios = ratios_to_others(own)
        top = max(ratios, key=ratios.__getitem__)
        tops.append(top)
        excesses.append(ratios[top])
        values += ratios.values()
        middles.append(median(list(own.values())))
    share = Counter(tops).most_common(1)[0][1] / len(tops)
    fits = [fit for fit in (_fit(group, "tokens"), _fit(group, "sum_sq_len")) if fit is not None]
    return Uneven(group, median(excesses), sigma_of(values, 0.0), share, median(middles), max(fits) if fits else None)


def _fit(group: PeerGroup, work: Literal["tokens", "sum_sq_len"]) -> float | None:
    """Correlation over ranks and steps, each against the middle of its step."""
    pairs: list[tuple[float, float]] = []
    for entries in group.loads:
        told = [
            (float(w), e.compute_s)
            for e in entries
            if (w := getattr(e, work)) is not None and w > 0 and e.compute_s is not None and e.compute_s > 0
        ]
        if len(told) < _LEAST_RANKS:
            return None
        work_middle, time_middle = median([w for w, _ in told]), median([t for _, t in told])
        pairs += [(math.log(w / work_middle), math.log(t / time_middle)) for w, t in told]
    return correlation(pairs)
