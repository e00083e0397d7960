"""Slow ranks of a synchronous job: longest own compute among the ranks that do the same work.

In a synchronous job the step ends for all together, so step time says nothing about who is slow, and the
slow rank is the one that waits *least*. Judged are ratios of own compute time to the peers' median.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from collectors.contract.job import JobEvent, StepReport
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import JOB_EVENTS, JOB_PLACEMENTS, JOB_STEPS
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.straggler_comm import remember_transfer, slow_transfers
from streams.detectors.straggler_config import new_setting
from streams.detectors.straggler_data import data_imbalance, remember_loads
from streams.detectors.straggler_findings import NAME
from streams.detectors.straggler_groups import peer_groups
from streams.detectors.straggler_host import remember_host
from streams.detectors.straggler_job import quality, regression, remember_time
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_models import mixed_models
from streams.detectors.straggler_nodes import look_at_nodes, remember_nodes
from streams.detectors.straggler_past import look_back
from streams.detectors.straggler_stages import remember_stages, stage_imbalance
from streams.detectors.straggler_state import Kept, StragglerState
from streams.detectors.straggler_steps import OpenStep
from streams.detectors.straggler_suspects import (
    follow,
    forget_settled,
    look,
    moved,
    open_candidates,
    release,
    settle,
    worsen,
)
from streams.detectors.straggler_words import Candidate
from streams.detectors.straggler_work import learn_load, sample

ENDED_GRACE_US = 600_000_000
"""Reports of an attempt that ended so recently are its last words, not a new life."""
FORGOTTEN_US = 3_600_000_000
"""So long after its end nothing of a job is remembered."""


class StragglerDetector:
    """Judges each step once its ranks have reported, or its time is up. One state per job."""

    name = NAME
    topics: tuple[Topic[Any], ...] = (JOB_STEPS, JOB_EVENTS, JOB_PLACEMENTS)

    def __init__(self, limits: StragglerLimits | None = None) -> None:
        self.limits = limits or StragglerLimits()

    def fresh(self) -> StragglerState:
        """The state of a job never seen."""
        return StragglerState()

    def step(self, state: StragglerState, batch: Sequence[Message | Tick]) -> tuple[StragglerState, list[Finding]]:
        """Take reports, events and ticks of one job in arrival order."""
        out: list[Finding] = []
        for item in batch:
            if isinstance(item, StepReport):
                out += self._report(state, item)
            elif isinstance(item, JobEvent):
                out += self._event(state, item)
            elif isinstance(item, Tick):
                if state.steps.open:
                    out += self._judge_due(state, item.ts_us)
                ended_us = state.kept.ended_us
                if ended_us is not None and item.ts_us > ended_us + FORGOTTEN_US:
                    state = self.fresh()
        return state, out

    def keep(self, state: StragglerState) -> bytes | None:
        """Attempt, suspects and open episodes; None for a job that says nothing worth keeping."""
        return None if state.kept == Kept() else msgspec.msgpack.encode(state.kept)

    def restore(self, kept: bytes) -> StragglerState:
        """Open episodes at once; the ratios come back with the last minutes of the topic."""
        state = StragglerState(kept=msgspec.msgpack.decode(kept, type=Kept))
        state.steps.first = state.kept.first
        state.muted_step = state.kept.edge_step
        return state

    def _report(self, state: StragglerState, report: StepReport) -> list[Finding]:
        kept = state.kept
        if report.attempt < kept.attempt or report.ts_us < state.restarted_us:
            return []
        if kept.ended_us is not None and report.attempt == kept.attempt:
            if report.ts_us <= kept.ended_us + ENDED_GRACE_US:
                return []
            state.begin(report.attempt)
        elif report.attempt > kept.attempt:
            state.begin(report.attempt)
        state.cluster, state.job = report.cluster, report.job
        state.reported_us = max(state.reported_us, report.ts_us)
        out = self._judge_due(state, report.ts_us)
        if state.steps.take(self.limits, report):
            state.begin(report.attempt)
            state.steps.take(self.limits, report)
        for rank in report.rank:
            if rank in state.steps.last:
                state.nodes[rank] = report.node
        kept.first = state.steps.first
        return out + self._judge_due(state, report.ts_us)

    def _event(self, state: StragglerState, event: JobEvent) -> list[Finding]:
        state.cluster, state.job = event.cluster, event.job
        out: list[Finding] = []
        if event.model is not None and event.model.dtype is not None:
            state.dtype = event.model.dtype
        if event.placement and event.ts_us > state.placed_us:
            out += self._place(state, event)
        if event.kind == "ended":
            out += self._end(state, event)
        elif event.kind in ("started", "restarted") and event.ts_us > max(state.restarted_us, state.kept.ended_us or 0):
            again = event.attempt == state.kept.attempt and (
                event.kind == "restarted" or state.kept.ended_us is not None
            )
            if event.attempt > state.kept.attempt or again:
                state.restarted_us = event.ts_us
                state.begin(event.attempt)
        elif event.kind == "checkpoint" and event.step is not None:
            state.checkpoints.append(event.step)
        return out

    def _place(self, state: StragglerState, event: JobEvent) -> list[Finding]:
        state.placed_us = event.ts_us
        state.placement = {place.rank: place for place in event.placement}
        state.regroup()
        return moved(state, event.ts_us)

    def _end(self, state: StragglerState, event: JobEvent) -> list[Finding]:
        kept = state.kept
        if event.attempt < kept.attempt and event.ts_us < state.reported_us:
            return []
        if event.ts_us < state.restarted_us or (kept.ended_us is not None and event.ts_us <= kept.ended_us):
            return []
        words = f"{event.job} ended"
        out: list[Finding] = []
        for rank in sorted(kept.suspects):
            out += release(state, rank, event.ts_us, words, [])
        for name in sorted(kept.episodes.open):
            edge = kept.episodes.clear(name, event.ts_us, words)
            out += [] if edge is None else [edge]
        state.begin(kept.attempt)
        kept.ended_us = event.ts_us
        kept.regression_base, kept.comm, kept.comm_held = None, {}, False
        state.nodes.clear()
        return out

    def _judge_due(self, state: StragglerState, now_us: int) -> list[Finding]:
        out: list[Finding] = []
        for number, step, ts_us in state.steps.due(self.limits, now_us):
            edges = self._judge(state, number, step, ts_us)
            if edges:
                state.kept.edge_step = number
                out += edges
        return out

    def _judge(self, state: StragglerState, number: int, step: OpenStep, ts_us: int) -> list[Finding]:
        """Judge one closed step: statistics first, then what they say, unless it was said before a restart."""
        if self._gated(state, number, step):
            self._group(state)
            sample(self.limits, state, step)
            return []
        limits = self.limits
        self._group(state)
        if learn_load(limits, state, step):
            state.regroup()
            self._group(state)
        state.recent.append(step)
        state.judged += 1
        muted = number <= state.muted_step
        own = self._own(state, step)
        ended = new_setting(limits, state, number, step, ts_us, muted=muted)
        found, whole = self._compare(state, number, step, own, muted=muted)
        remember_nodes(limits, state)
        remember_time(limits, state, number, step)
        remember_stages(state, own)
        remember_loads(limits, state, step)
        remember_transfer(limits, state, number, step)
        if muted:
            forget_settled(state, number)
            return []
        found += look_at_nodes(limits, state)
        if not found:
            found = look_back(limits, state, [g for g in state.groups if g.compute.last or len(g.ranks) == 1])
        out = ended + settle(limits, state, number, ts_us)
        out += open_candidates(limits, state, found, number, ts_us)
        out += slow_transfers(limits, state, number, ts_us)
        out += regression(limits, state, number, ts_us)
        if state.kept.suspects and state.judged % limits.shift_steps == 0:
            out += worsen(limits, state, ts_us)
        if state.judged % limits.settled_steps == 0:
            out += [e for e in (stage_imbalance(limits, state, ts_us), data_imbalance(limits, state, ts_us)) if e]
            out += mixed_models(limits, state, ts_us)
        return out + quality(limits, state, step, whole, ts_us)

    def _compare(
        self, state: StragglerState, number: int, step: OpenStep, own: dict[int, float], *, muted: bool
    ) -> tuple[list[Candidate], bool]:
        """Add the step to every group; who is newly slow in it, and whether all groups told their compute."""
        limits = self.limits
        found: list[Candidate] = []
        whole = True
        for group in state.groups:
            present = {rank: own[rank] for rank in group.ranks if rank in own}
            told = len(present) >= limits.present * len(group.ranks)
            whole = whole and told
            if told:
                group.remember_own(limits, present)
            if told and len(present) > 1:
                group.compute.remember(limits, present)
            else:
                group.compute.last = {}
            if group.compute.last:
                found += [] if muted else look(limits, state, group, "compute")
            if not remember_host(limits, group, step):
                group.host.last = {}
            elif not muted:
                found += look(limits, state, group, "host")
            if state.kept.suspects:
                follow(limits, state, group, number)
        return found, whole

    def _gated(self, state: StragglerState, number: int, step: OpenStep) -> bool:
        """Warm-up, and what a checkpoint, an evaluation or a profile disturbs: the step and the next one."""
        pause = not step.train or number in state.checkpoints
        gated = pause or state.after_break or number - 1 in state.checkpoints
        state.after_break = pause
        return gated or number - (state.steps.first or 0) < self.limits.first_steps

    def _group(self, state: StragglerState) -> None:
        made_from = (len(state.steps.last), state.placed_us)
        if state.grouped == made_from:
            return
        before = {group.ranks: group for group in state.groups}
        state.groups = [before.get(g.ranks, g) for g in peer_groups(state.steps.last, state.placement)]
        state.grouped = made_from

    def _own(self, state: StragglerState, step: OpenStep) -> dict[int, float]:
        own: dict[int, float] = {}
        for rank, entry in step.entries.items():
            compute_s = entry.compute_s
            if compute_s is None or compute_s <= 0:
                continue
            load = state.load.of(entry.tokens, entry.sum_sq_len)
            if load is not None:
                own[rank] = compute_s / load
        return own
