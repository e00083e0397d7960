"""Unequal data: in each step another rank has the most to do, and no part is to blame. Told, never paged."""

import math
from collections import Counter
from dataclasses import dataclass
from typing import Literal

from streams.contract import Confidence, Evidence, Finding
from streams.detectors.straggler_cost import cost_of
from streams.detectors.straggler_findings import finding, job_subject
from streams.detectors.straggler_groups import PeerGroup
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_microbatches import Likeness, likeness, pairs_of
from streams.detectors.straggler_state import StragglerState
from streams.detectors.straggler_statistic import correlation, median, ratios_to_others, sigma_of
from streams.detectors.straggler_steps import OpenStep

_LEAST_RANKS = 4
_SAMPLED_RANKS = 16
"""Ranks of a group whose microbatches are looked at: each tells its correlation by itself."""


def remember_loads(limits: StragglerLimits, state: StragglerState, step: OpenStep) -> None:
    """Add what some ranks of each group worked on in one judged step."""
    for group in state.groups:
        if len(group.ranks) < _LEAST_RANKS:
            continue
        group.loads.append([e for r in group.sampled if (e := step.entries.get(r)) is not None])
        told = [(r, step.microbatches[r]) for r in group.sampled if r in step.microbatches] if step.microbatches else []
        found = ((rank, pairs_of(*times)) for rank, times in told[:_SAMPLED_RANKS])
        group.microbatches.append({rank: pairs for rank, pairs in found if pairs is not None})
        if len(group.loads) > limits.settled_steps:
            group.loads.popleft()
            group.microbatches.popleft()
    step.microbatches.clear()


def data_imbalance(limits: StragglerLimits, state: StragglerState, ts_us: int) -> Finding | None:
    """In each step another rank has the most to do. Judged as measured: here the load is the point.

    It is over when every group was seen to work alike: one that told too little says nothing.
    """
    worst: Uneven | None = None
    groups = [group for group in state.groups if len(group.ranks) >= _LEAST_RANKS]
    quiet = bool(groups)
    for group in groups:
        suspected = any(rank in state.kept.suspects for rank in group.ranks)
        known = not suspected and len(group.loads) >= limits.settled_steps
        seen = _uneven(limits, group) if known else None
        if seen is None:
            quiet = False
            continue
        quiet = quiet and seen.noise < limits.data_noise / 2
        if (
            seen.noise > limits.data_noise
            and seen.share <= limits.data_share
            and seen.excess >= math.log(limits.effect)
            and seen.is_the_datas(limits)
            and (worst is None or seen.excess > worst.excess)
        ):
            worst = seen
    if worst is None:
        return state.kept.episodes.clear("data", ts_us, f"the ranks of {state.job} work alike") if quiet else None
    factor = math.exp(worst.excess)
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
                worst.proof(),
            ],
            action="balance sequence lengths between ranks",
            confidence=worst.confidence,
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
    alike: Likeness | None
    """Of forward and backward times; None: not told, or the microbatches of a step hardly vary, so that what makes the
    ranks uneven is nothing that they would show."""

    def is_the_datas(self, limits: StragglerLimits) -> bool:
        """By microbatches where they are told, else by the work told, else nothing speaks against it."""
        if self.alike is not None:
            return self.alike.correlation >= limits.data_pairs
        return self.fit is None or self.fit >= limits.data_fit

    @property
    def confidence(self) -> Confidence:
        """By which of the three ways it was judged."""
        return "high" if self.alike is not None else "low" if self.fit is None else "medium"

    def proof(self) -> Evidence:
        """In words."""
        if self.alike is not None:
            what = f"correlation of forward with backward times of a microbatch, median of {self.alike.ranks} ranks"
            return Evidence(what=what, value=self.alike.correlation)
        told = "its work per rank is not told" if self.fit is None else "compute follows the work each rank was given"
        return Evidence(what=f"correlation of compute with work: {told}", value=self.fit)


def _uneven(limits: StragglerLimits, group: PeerGroup) -> Uneven | None:
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
    alike = likeness(limits, group.microbatches)
    if alike is not None and alike.spread < limits.data_noise:
        alike = None
    return Uneven(
        group,
        median(excesses),
        sigma_of(values, 0.0),
        share,
        median(middles),
        max(fits) if fits else None,
        alike,
    )


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
