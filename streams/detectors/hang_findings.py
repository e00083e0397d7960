"""The episode of a hang: it opens once, and a better cause replaces a weaker one."""

from dataclasses import dataclass, field

from msgspec import structs

from streams.contract import Candidate, Confidence, Evidence, Finding, Severity, Subject
from streams.detectors.hang_limits import HangLimits
from streams.detectors.hang_state import HangState
from streams.detectors.roll import NAMED, Who

NAME = "hang"
GRADE = {
    "job_hang_suspected": 0,
    "job_silent": 0,
    "job_hang_confirmed": 1,
    "application_hang": 2,
    "comm_hang": 3,
    "rank_absent": 4,
    "process_dead": 5,
    "host_dead": 6,
}
"""The causes of one episode, the better one the higher; heartbeats that stop or come again change between equals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One view of the hang."""

    cause: str
    words: str
    blamed: list[Who] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    severity: Severity = "critical"
    confidence: Confidence = "medium"
    comm: str | None = None


def say(state: HangState, limits: HangLimits, verdict: Verdict, ts_us: int, limit_us: int) -> list[Finding]:
    """Open the episode, or make it better; nothing where it says no more than is known."""
    kept = state.kept
    last = kept.episodes.open.get("job")
    labels = [who.label for who in verdict.blamed[:NAMED]]
    finding = _finding(state, limits, verdict, ts_us, limit_us)
    if last is None:
        edge = kept.episodes.report("job", finding)
        if edge is None:
            return []
    else:
        grade = GRADE[verdict.cause] - GRADE[last.cause]
        other = labels != kept.blamed and bool(labels) and ts_us >= last.ts_us + limits.update_us
        if grade < 0 or (verdict.cause == last.cause and not other):
            return []
        edge = structs.replace(
            finding,
            state="updated",
            episode_us=last.episode_us,
            ts_us=max(ts_us, last.ts_us),
            severity="critical" if last.severity == "critical" else finding.severity,
        )
        kept.episodes.open["job"] = edge
    kept.blamed = labels
    state.sync()
    return [edge]


def _finding(state: HangState, limits: HangLimits, verdict: Verdict, ts_us: int, limit_us: int) -> Finding:
    kept, pace = state.kept, state.pace
    world = state.roll.world()
    evidence = list(verdict.evidence)
    if kept.reports:
        evidence.append(Evidence(what="last step report", ts_us=pace.last_us))
    if pace.step_s is not None:
        evidence.append(Evidence(what="step time, mean", value=pace.step_s, unit="s"))
    if pace.beat_us:
        evidence.append(Evidence(what="last heartbeat", ts_us=pace.beat_us))
    return Finding(
        cluster=kept.cluster,
        ts_us=ts_us,
        detector=NAME,
        state="opened",
        subject=_subject(kept.job, verdict.blamed),
        episode_us=ts_us,
        severity=verdict.severity,
        cause=verdict.cause,
        value=max(limit_us, ts_us - pace.last_us) / 1e6 if kept.reports else state.ras.still_us / 1e6,
        limit=limit_us / 1e6,
        unit="s",
        summary=verdict.words,
        evidence=evidence,
        jobs=[kept.job],
        confidence=verdict.confidence,
        gpu_hours_lost_per_hour=float(world) if world is not None and verdict.severity == "critical" else None,
        candidates=_candidates(kept.job, verdict),
    )


def _subject(job: str, blamed: list[Who]) -> Subject:
    """The job, which is the episode's name; with the place of what it waits for, where that is one."""
    nodes = {who.node for who in blamed}
    node = next(iter(nodes)) if len(nodes) == 1 else None
    if len(blamed) != 1:
        return Subject(kind="job", id=job, job=job, node=node)
    (who,) = blamed
    return Subject(
        kind="job", id=job, job=job, node=node, rank=who.rank, gpu_uuid=who.gpu_uuid, gpu_index=who.gpu_index
    )


def _candidates(job: str, verdict: Verdict) -> list[Candidate]:
    score = round(1 / len(verdict.blamed), 3) if verdict.blamed else 1.0
    out = []
    for who in verdict.blamed[:NAMED]:
        if who.rank is not None:
            out.append(Candidate(kind="rank", id=f"{job}/{who.rank}", score=score, why=who.words()))
        elif who.node is not None:
            out.append(Candidate(kind="node", id=who.node, score=score, why=who.words()))
    if not out and verdict.comm is not None:
        out.append(Candidate(kind="comm", id=f"{job}/{verdict.comm}", score=1.0, why="all its ranks are inside it"))
    return out
