"""What is due in a job that may hang, level by level."""

from collections.abc import Callable

from streams.contract import Finding
from streams.detectors.hang_findings import say
from streams.detectors.hang_limits import HangLimits
from streams.detectors.hang_state import HangState, Pace
from streams.detectors.hang_verdicts import better, by_counts, by_dumps, by_heartbeats, by_reports_alone, by_silence

_MOVES = 3
"""Polls in which counts moved, before their standing still says anything by itself: a start looks the same."""
_DRAIN_US = 10_000_000
Judge = Callable[[HangState, HangLimits, int], list[Finding]]


def next_due(state: HangState, limits: HangLimits) -> tuple[int, Judge] | None:
    """The earliest deadline and what to do at it."""
    kept, pace = state.kept, state.pace
    due: list[tuple[int, Judge]] = []
    if state.ras.poll_us > state.ras.judged_us:
        due.append((state.ras.poll_us + limits.settle_us, poll))
    if state.recorder.newest_us > state.recorder.judged_us:
        due.append((state.recorder.newest_us + limits.dumps_us, dumps))
    if kept.reports and kept.ended_us is None and "job" not in kept.episodes.open:
        sign_us = max(pace.last_us, pace.counted_us)
        due_us = sign_us + pace.limit_us(limits) + state.lag_us
        due.append((max(due_us, _told_us(state, limits) + state.lag_us), overdue))
    last = kept.episodes.open.get("job")
    if last is not None and last.cause == "job_hang_suspected" and pace.beat_us:
        due.append((max(pace.beat_us, state.listens_us or 0) + limits.heartbeat_us, by_beats))
    return min(due, key=lambda one: one[0], default=None)


def overdue(state: HangState, limits: HangLimits, deadline_us: int) -> list[Finding]:
    """Level 1, with what is known better already."""
    deadline_us -= state.lag_us
    limit_us = state.pace.limit_us(limits)
    first = by_silence(state, limits, deadline_us, limit_us)
    lost = by_heartbeats(state, limits, deadline_us)
    verdict = better(first, lost, by_counts(state, limits), by_dumps(state)) or first
    return say(state, limits, verdict, deadline_us, limit_us)


def by_beats(state: HangState, limits: HangLimits, deadline_us: int) -> list[Finding]:
    """An open hang of which only heartbeats tell: all stopped, so the job is gone and not stuck, or came again."""
    limit_us = state.pace.limit_us(limits)
    return say(state, limits, by_silence(state, limits, deadline_us, limit_us), deadline_us, limit_us)


def poll(state: HangState, limits: HangLimits, deadline_us: int) -> list[Finding]:
    """Level 2: a whole poll of RAS has come."""
    kept, pace, ras = state.kept, state.pace, state.ras
    stood_us = ras.still_us
    further = ras.judge()
    last = kept.episodes.open.get("job")
    if kept.ended_us is not None or ras.poll_us <= state.muted_us:
        return []
    if last is None:
        if ras.still_us == 0:
            pace.still_us = max(pace.still_us, stood_us)
        if further and kept.reports and ras.before_us >= max(pace.counted_us, pace.last_us + _drain_us(pace)):
            pace.counted_us = ras.poll_us
            if pace.counted_us >= pace.last_us + 2 * pace.limit_us(limits):
                return say(state, limits, by_reports_alone(state), deadline_us, pace.limit_us(limits))
        return _by_counts_alone(state, limits, deadline_us)
    if further and ras.before_us >= last.ts_us and last.cause != "job_silent":
        pace.counted_us = ras.poll_us
        edge = kept.episodes.clear("job", deadline_us, f"collectives of {kept.job} go on")
        state.sync()
        return [] if edge is None else [edge]
    verdict = by_counts(state, limits)
    return [] if verdict is None else say(state, limits, verdict, deadline_us, limit_of(state, limits))


def _by_counts_alone(state: HangState, limits: HangLimits, deadline_us: int) -> list[Finding]:
    """No step is overdue yet, or none is ever told: what RAS must show to speak for itself."""
    kept, pace, ras = state.kept, state.pace, state.ras
    if ras.still_us < limits.still_us - limits.jitter_us or ras.moves < _MOVES:
        return []
    step_us = 0 if pace.step_s is None else int(pace.step_s * 1e6)
    if kept.reports and ras.judged_us < pace.last_us + max(limits.still_us, int(limits.alone_steps * step_us)):
        return []
    verdict = by_counts(state, limits)
    if verdict is None:
        return []
    least_us = max(
        limits.alone_us if kept.reports else limits.alone_unknown_us,
        int(limits.alone_steps * step_us),
        int(limits.alone_past * pace.still_us),
    )
    known = not kept.reports or pace.phase == "train"
    if verdict.cause in ("process_dead", "host_dead"):
        enough = True
    elif verdict.blamed:
        enough = known and ras.still_us >= least_us
    else:
        enough = not kept.reports and ras.still_us >= max(least_us, limits.checkpoint_us)
    return say(state, limits, verdict, deadline_us, least_us) if enough else []


def dumps(state: HangState, limits: HangLimits, deadline_us: int) -> list[Finding]:
    """Level 3: the dumps of the flight recorder have come."""
    kept, recorder = state.kept, state.recorder
    recorder.judged_us = recorder.newest_us
    if kept.ended_us is not None or recorder.judged_us <= state.muted_us:
        return []
    verdict = by_dumps(state)
    if verdict is None:
        return []
    if "job" not in kept.episodes.open:
        since_us = recorder.read(state.roll).since_us
        old = since_us is not None and recorder.judged_us - since_us >= limits.dump_age_us
        if not old or (kept.reports and recorder.judged_us < state.pace.last_us + limits.step_least_us):
            return []
    return say(state, limits, verdict, deadline_us, limit_of(state, limits))


def limit_of(state: HangState, limits: HangLimits) -> int:
    """How long nothing may be heard of the job: of its steps, or where none are told of its counts."""
    return state.pace.limit_us(limits) if state.kept.reports else limits.alone_unknown_us


def _told_us(state: HangState, limits: HangLimits) -> int:
    """When RAS has told, or with its next poll tells, whether counts moved on after the last step; 0: it does not."""
    pace, ras = state.pace, state.ras
    if not ras.before_us or ras.judged_us < pace.last_us + _drain_us(pace):
        return 0
    gap_us = min(ras.judged_us - ras.before_us, limits.still_us + limits.jitter_us) if ras.still_us == 0 else 0
    return ras.judged_us + gap_us + limits.settle_us


def _drain_us(pace: Pace) -> int:
    """What was launched before a hang may still be counted so long after the last step."""
    return max(_DRAIN_US, 0 if pace.step_s is None else int(pace.step_s * 1e6))
