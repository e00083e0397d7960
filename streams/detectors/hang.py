"""Jobs that make no steps: hung, dead, or only some ranks gone. One episode, whose cause gets better.

Level 1 is that no step ends although one is overdue. Level 2 is that RAS counts stand still, and which rank is
behind. Level 3 is the flight recorder: which rank did not enter what the others wait in.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from collectors.contract.job import CollectiveWindow, JobEvent, StepReport
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import JOB_EVENTS, JOB_PLACEMENTS, JOB_STEPS, NCCL_WINDOWS
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.hang_findings import NAME, say
from streams.detectors.hang_levels import by_beats, limit_of, next_due
from streams.detectors.hang_limits import HangLimits
from streams.detectors.hang_ranks import back, missing
from streams.detectors.hang_recorder import Recorder
from streams.detectors.hang_state import HangKept, HangState
from streams.detectors.hang_verdicts import by_heartbeats

_BEATS_US = 5_000_000
"""Heartbeats are looked through no oftener."""


class HangDetector:
    """One state per job. Phases that take long are known; it is over when steps end again, and only then."""

    name = NAME
    topics: tuple[Topic[Any], ...] = (JOB_STEPS, JOB_EVENTS, NCCL_WINDOWS, JOB_PLACEMENTS)

    def __init__(self, limits: HangLimits | None = None) -> None:
        self.limits = limits or HangLimits()

    def fresh(self) -> HangState:
        """The state of a job never heard."""
        return HangState()

    def step(self, state: HangState, batch: Sequence[Message | Tick]) -> tuple[HangState, list[Finding]]:
        """Take reports, events, windows and ticks of one job in arrival order."""
        out: list[Finding] = []
        for item in batch:
            if isinstance(item, StepReport):
                out += self._report(state, item)
            elif isinstance(item, JobEvent):
                out += self._event(state, item)
            elif isinstance(item, CollectiveWindow):
                out += self._window(state, item)
            elif isinstance(item, Tick):
                out += self._pass(state, item.ts_us)
                if self._forgotten(state):
                    state = self.fresh()
        return state, out

    def keep(self, state: HangState) -> bytes | None:
        """Pace, attempt and open episodes; None for a job of which neither a step nor a count was told."""
        return None if state.kept == HangKept() else msgspec.msgpack.encode(state.kept)

    def restore(self, kept: bytes) -> HangState:
        """A job that fell silent while nobody listened is still found; its ranks come back as they report."""
        was = msgspec.msgpack.decode(kept, type=HangKept)
        edges_us = [finding.ts_us for finding in was.episodes.open.values()]
        state = HangState(kept=was, pace=was.pace.copy(), now_us=max([was.pace.last_us, *edges_us]))
        state.muted_us = max(was.pace.last_us, was.pace.counted_us)
        state.lag_us = 0 if was.episodes.open else self.limits.keep_every_us
        state.listens_us = None
        return state

    def _report(self, state: HangState, report: StepReport) -> list[Finding]:
        kept = state.kept
        if report.attempt < kept.attempt or report.ts_us <= max(state.nodes.get(report.node, 0), state.started_us):
            return []
        if kept.ended_us is not None and report.attempt == kept.attempt:
            if report.ts_us <= kept.ended_us + self.limits.ended_grace_us:
                return []
            state.begin(report.attempt, report.ts_us)
        out = self._pass(state, report.ts_us)
        if report.attempt > kept.attempt:
            out += self._over(state, report.ts_us, f"{report.job} started again")
            state.begin(report.attempt, report.ts_us)
        kept.cluster, kept.job, kept.reports = report.cluster, report.job, True
        state.lag_us = 0
        state.hear(self.limits, report)
        if report.ts_us <= state.muted_us:
            return out
        out += self._back(state, report.ts_us)
        out += missing(state, self.limits)
        if state.pace.last_us >= kept.pace.last_us + self.limits.keep_every_us:
            state.sync()
        return out

    def _event(self, state: HangState, event: JobEvent) -> list[Finding]:
        kept = state.kept
        if event.kind == "ended":
            return self._end(state, event)
        if event.attempt < kept.attempt:
            return []
        state.roll.learn(event)
        if event.kind == "heartbeat" and event.rank is not None and kept.ended_us is None:
            state.beats[event.rank] = max(state.beats.get(event.rank, 0), event.ts_us)
        if not kept.job:
            return []
        out = self._pass(state, event.ts_us)
        if event.kind in ("started", "restarted", "placed"):
            again = event.attempt > kept.attempt or (kept.ended_us is not None and event.ts_us > kept.ended_us)
            if again or (event.kind == "restarted" and event.ts_us > max(state.started_us, state.pace.last_us)):
                out += self._over(state, event.ts_us, f"{event.job} started again")
                state.started_us = event.ts_us
                state.begin(event.attempt, event.ts_us)
        elif kept.ended_us is not None:
            return out
        elif event.kind == "heartbeat":
            if event.ts_us > state.pace.beat_us + self.limits.heartbeat_us:
                state.beats_from_us = event.ts_us
            state.pace.beat_us = max(state.pace.beat_us, event.ts_us)
            out += self._beats(state)
        elif event.kind == "checkpoint" and event.ts_us > state.pace.last_us:
            if event.seconds is None:
                state.pace.phase = "saving"
            else:
                state.pace.checkpoint_s = max(state.pace.checkpoint_s, event.seconds)
            state.pace.last_us = event.ts_us
            out += self._back(state, event.ts_us)
        return out

    def _end(self, state: HangState, event: JobEvent) -> list[Finding]:
        kept = state.kept
        if not kept.job or (kept.ended_us is not None and event.ts_us <= kept.ended_us):
            return []
        if event.ts_us < max(state.started_us, state.pace.last_us - self.limits.least_us):
            return []
        if event.attempt < kept.attempt and event.ts_us < state.pace.last_us:
            return []
        out = self._pass(state, event.ts_us) if event.ts_us > state.pace.last_us else []
        out += self._over(state, event.ts_us, f"{event.job} ended: {event.state or 'no reason told'}")
        state.begin(kept.attempt, event.ts_us)
        kept.ended_us = event.ts_us
        return out

    def _window(self, state: HangState, window: CollectiveWindow) -> list[Finding]:
        """What RAS counts, or one rank's dump. Other windows are of operations that ended and say nothing here."""
        kept = state.kept
        if window.source not in ("nccl-ras", "flight-recorder") or not window.comm:
            return []
        if kept.ended_us is not None:
            if window.ts_us <= kept.ended_us + self.limits.ended_grace_us:
                return []
            state.begin(kept.attempt, window.ts_us)
        if window.ts_us <= state.started_us:
            return []
        out = self._pass(state, window.ts_us)
        kept.cluster, kept.job = window.cluster, window.job
        if window.source == "nccl-ras":
            state.ras.take(self.limits, window)
        elif window.ts_us > state.pace.last_us:
            state.recorder.take(self.limits, window)
        return out

    def _beats(self, state: HangState) -> list[Finding]:
        """Level 1c, in an open hang: has a process stopped sending heartbeats?"""
        if "job" not in state.kept.episodes.open or state.now_us < state.beats_due_us:
            return []
        state.beats_due_us = state.now_us + _BEATS_US
        verdict = by_heartbeats(state, self.limits, state.now_us)
        if verdict is not None:
            return say(state, self.limits, verdict, state.now_us, limit_of(state, self.limits))
        last, steady_us = state.kept.episodes.open["job"], state.beats_from_us + self.limits.heartbeat_us
        again = (last.cause, last.severity) == ("job_silent", "critical") and state.pace.beat_us >= steady_us
        return by_beats(state, self.limits, state.now_us) if again else []

    def _pass(self, state: HangState, now_us: int) -> list[Finding]:
        """Time passes: what is due is judged in the order of its deadlines, whatever the rhythm of the ticks."""
        state.now_us = max(state.now_us, now_us)
        if state.listens_us is None:
            state.listens_us = now_us
        out: list[Finding] = []
        while (due := next_due(state, self.limits)) is not None and due[0] <= state.now_us:
            deadline_us, judge = due
            out += judge(state, self.limits, deadline_us)
        return out

    def _back(self, state: HangState, ts_us: int) -> list[Finding]:
        kept = state.kept
        limit_us = state.pace.limit_us(self.limits)
        out: list[Finding | None] = []
        if "job" in kept.episodes.open and state.pace.last_us + limit_us > state.now_us:
            out.append(kept.episodes.clear("job", ts_us, f"steps of {kept.job} end again"))
            kept.blamed = []
            state.recorder = Recorder()
        out.append(back(state, self.limits, ts_us))
        edges = [edge for edge in out if edge is not None]
        if edges:
            state.sync()
        return edges

    def _over(self, state: HangState, ts_us: int, words: str) -> list[Finding]:
        edges = [state.kept.episodes.clear(name, ts_us, words) for name in sorted(state.kept.episodes.open)]
        return [edge for edge in edges if edge is not None]

    def _forgotten(self, state: HangState) -> bool:
        if state.kept.ended_us is not None:
            return state.now_us >= state.kept.ended_us + self.limits.ended_us
        heard_us = max(state.pace.last_us, state.ras.poll_us, state.recorder.newest_us)
        return bool(state.kept.job) and heard_us > 0 and state.now_us >= heard_us + self.limits.forgotten_us
