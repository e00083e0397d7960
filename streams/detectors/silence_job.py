"""Jobs whose steps stop ending: hung, dead, or only some ranks gone."""

from collections.abc import Sequence
from typing import Any

import msgspec

from collectors.contract.job import JobEvent, StepReport
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import JOB_EVENTS, JOB_STEPS
from streams.contract import Evidence, Finding, Severity, Subject
from streams.detector import Tick
from streams.detectors.silence_job_state import JobKept, JobState
from streams.detectors.silence_limits import SilenceLimits
from streams.detectors.silence_part import NAME

_NAMED = 16
"""Ranks named in a summary or in the evidence."""


class JobSilence:
    """A job is silent when no step ended for five of its step times; phases that take long are known."""

    topics: tuple[Topic[Any], ...] = (JOB_STEPS, JOB_EVENTS)

    def __init__(self, limits: SilenceLimits) -> None:
        self.limits = limits

    def fresh(self) -> JobState:
        """The state of a job never heard."""
        return JobState()

    def step(self, state: JobState, batch: Sequence[Message | Tick]) -> tuple[JobState, list[Finding]]:
        """Take reports, events and ticks of one job in arrival order."""
        out: list[Finding] = []
        for item in batch:
            if isinstance(item, StepReport):
                out += self._report(state, item)
            elif isinstance(item, JobEvent):
                out += self._event(state, item)
            elif isinstance(item, Tick):
                out += self._pass(state, item.ts_us)
                if self._forgotten(state):
                    state = self.fresh()
        return state, out

    def keep(self, state: JobState) -> bytes | None:
        """Pace, attempt and open episodes; None for a job that never reported a step."""
        return None if state.kept == JobKept() else msgspec.msgpack.encode(state.kept)

    def restore(self, kept: bytes) -> JobState:
        """A job that fell silent while nobody listened is still found; its ranks come back as they report."""
        was = msgspec.msgpack.decode(kept, type=JobKept)
        edges_us = [finding.ts_us for finding in was.episodes.open.values()]
        state = JobState(kept=was, pace=was.pace.copy(), now_us=max([was.pace.last_us, *edges_us]))
        state.muted_us = was.pace.last_us
        state.lag_us = 0 if was.episodes.open else self.limits.keep_every_us
        return state

    def _report(self, state: JobState, report: StepReport) -> list[Finding]:
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
        out += self._missing(state)
        if state.pace.last_us >= kept.pace.last_us + self.limits.keep_every_us:
            state.sync()
        return out

    def _event(self, state: JobState, event: JobEvent) -> list[Finding]:
        kept = state.kept
        if event.kind == "ended":
            return self._end(state, event)
        if not kept.reports or event.attempt < kept.attempt:
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
            state.pace.beat_us = max(state.pace.beat_us, event.ts_us)
        elif event.kind == "checkpoint" and event.ts_us > state.pace.last_us:
            if event.seconds is None:
                state.pace.phase = "saving"
            else:
                state.pace.checkpoint_s = max(state.pace.checkpoint_s, event.seconds)
            state.pace.last_us = event.ts_us
            out += self._back(state, event.ts_us)
        return out

    def _end(self, state: JobState, event: JobEvent) -> list[Finding]:
        kept = state.kept
        if not kept.reports or (kept.ended_us is not None and event.ts_us <= kept.ended_us):
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

    def _pass(self, state: JobState, now_us: int) -> list[Finding]:
        """Time passes: has the deadline of the whole job gone by?"""
        state.now_us = max(state.now_us, now_us)
        kept, pace = state.kept, state.pace
        if not kept.reports or kept.ended_us is not None or "job" in kept.episodes.open:
            return []
        limit_us = pace.limit_us(self.limits)
        deadline_us = pace.last_us + limit_us
        if state.now_us < deadline_us + state.lag_us:
            return []
        if not pace.beat_us:
            cause, words = "job_hang_suspected", "it sends no heartbeats that could tell hung from dead"
        elif deadline_us - pace.beat_us <= self.limits.heartbeat_us:
            cause, words = "job_hang_suspected", "its processes still send heartbeats"
        else:
            cause, words = "job_silent", "its heartbeats stopped too"
        evidence = [Evidence(what="last step report", ts_us=pace.last_us)]
        if pace.step_s is not None:
            evidence.append(Evidence(what="step time, mean", value=pace.step_s, unit="s"))
        if pace.beat_us:
            evidence.append(Evidence(what="last heartbeat", ts_us=pace.beat_us))
        evidence += _laggards(state)
        state.sync()
        edge = kept.episodes.report(
            "job",
            self._finding(
                state,
                deadline_us,
                limit_us,
                cause,
                "critical",
                f"no step of {kept.job} ended for {limit_us / 1e6:g} s in phase {pace.phase}; {words}",
                evidence,
            ),
        )
        return [] if edge is None else [edge]

    def _missing(self, state: JobState) -> list[Finding]:
        """Ranks that stopped reporting while others went on for a whole limit."""
        limit_us = state.pace.limit_us(self.limits)
        last_us = state.pace.last_us
        if last_us < max(state.oldest_us, state.resumed_us) + limit_us or "ranks" in state.kept.episodes.open:
            return []
        state.oldest_us = min(state.seen.values())
        silent = sorted(rank for rank, seen_us in state.seen.items() if last_us >= seen_us + limit_us)
        if not silent:
            return []
        deadline_us = max(state.resumed_us, min(state.seen[rank] for rank in silent)) + limit_us
        state.kept.missing = silent
        state.sync()
        edge = state.kept.episodes.report(
            "ranks",
            self._finding(
                state,
                deadline_us,
                limit_us,
                "rank_silent",
                "warning",
                f"{len(silent)} of {len(state.seen)} ranks of {state.kept.job} stopped reporting while the others go "
                f"on: {_names(silent)}",
                [Evidence(what=f"last report of rank {rank}", ts_us=state.seen[rank]) for rank in silent[:_NAMED]],
            ),
        )
        return [] if edge is None else [edge]

    def _back(self, state: JobState, ts_us: int) -> list[Finding]:
        kept = state.kept
        limit_us = state.pace.limit_us(self.limits)
        out: list[Finding | None] = []
        if "job" in kept.episodes.open and state.pace.last_us + limit_us > state.now_us:
            out.append(kept.episodes.clear("job", ts_us, f"steps of {kept.job} end again"))
        if kept.missing and all(
            (seen := state.seen.get(rank)) is not None and seen + limit_us > state.now_us for rank in kept.missing
        ):
            out.append(kept.episodes.clear("ranks", ts_us, f"ranks {_names(kept.missing)} report again"))
            kept.missing = []
        if out:
            state.sync()
        return [edge for edge in out if edge is not None]

    def _over(self, state: JobState, ts_us: int, words: str) -> list[Finding]:
        edges = [state.kept.episodes.clear(name, ts_us, words) for name in sorted(state.kept.episodes.open)]
        return [edge for edge in edges if edge is not None]

    def _forgotten(self, state: JobState) -> bool:
        if state.kept.ended_us is not None:
            return state.now_us >= state.kept.ended_us + self.limits.ended_us
        return state.kept.reports and state.now_us >= state.pace.last_us + self.limits.forgotten_us

    def _finding(
        self,
        state: JobState,
        deadline_us: int,
        limit_us: int,
        cause: str,
        severity: Severity,
        summary: str,
        evidence: list[Evidence],
    ) -> Finding:
        kept = state.kept
        return Finding(
            cluster=kept.cluster,
            ts_us=deadline_us,
            detector=NAME,
            state="opened",
            subject=Subject(kind="job", id=kept.job, job=kept.job),
            episode_us=deadline_us,
            severity=severity,
            cause=cause,
            value=limit_us / 1e6,
            limit=limit_us / 1e6,
            unit="s",
            summary=summary,
            evidence=evidence,
            jobs=[kept.job],
        )


def _laggards(state: JobState) -> list[Evidence]:
    """Ranks that stand behind the others: in a hang the rank that did not get there is the suspect."""
    if not state.step:
        return []
    most, least = max(state.step.values()), min(state.step.values())
    behind = sorted(rank for rank, step in state.step.items() if step < most)
    if least == most or 2 * len(behind) > len(state.step):
        return [Evidence(what="last step of all ranks", value=float(most), unit="step")]
    return [Evidence(what=f"ranks behind the others: {_names(behind)}", value=float(least), unit="step")]


def _names(ranks: list[int]) -> str:
    return ", ".join(str(r) for r in ranks[:_NAMED]) + (" ..." if len(ranks) > _NAMED else "")
