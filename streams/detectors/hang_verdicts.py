"""What steps, heartbeats, RAS and dumps each say of a hang."""

from streams.contract import Evidence
from streams.detectors.hang_findings import GRADE, Verdict
from streams.detectors.hang_limits import HangLimits
from streams.detectors.hang_state import HangState
from streams.detectors.roll import NAMED, Who, in_order, listed, listed_numbers


def better(*views: Verdict | None) -> Verdict | None:
    """The one that says most."""
    return max((view for view in views if view is not None), key=lambda view: GRADE[view.cause], default=None)


def by_silence(state: HangState, limits: HangLimits, deadline_us: int, limit_us: int) -> Verdict:
    """Level 1: no step ended, and what the heartbeats say to it."""
    kept, pace = state.kept, state.pace
    if not pace.beat_us:
        cause, words = "job_hang_suspected", "it sends no heartbeats that could tell hung from dead"
    elif deadline_us - pace.beat_us < limits.heartbeat_us:
        cause, words = "job_hang_suspected", f"its last heartbeat came {(deadline_us - pace.beat_us) / 1e6:.0f} s ago"
    else:
        cause, words = "job_silent", "its heartbeats stopped too"
    blamed, evidence = _behind_in_steps(state)
    silent_s = max(limit_us, deadline_us - pace.last_us) / 1e6
    return Verdict(
        cause=cause,
        words=f"no step of {kept.job} ended for {silent_s:.0f} s in phase {pace.phase}; {words}",
        blamed=blamed,
        evidence=evidence,
        confidence="low" if cause == "job_silent" else "medium",
    )


def by_reports_alone(state: HangState) -> Verdict:
    """Collectives go on: the job runs, only its step reports are missing."""
    silent_s = (state.pace.counted_us - state.pace.last_us) / 1e6
    return Verdict(
        cause="job_silent",
        words=f"no step of {state.kept.job} was reported for {silent_s:.0f} s while its collectives go on: the reports "
        "are missing and not the steps",
        severity="warning",
        confidence="high",
    )


def by_heartbeats(state: HangState, limits: HangLimits, now_us: int) -> Verdict | None:
    """Level 1c: processes whose heartbeats stopped while those of others go on."""
    from_us = state.beats_from_us
    lost = {rank for rank, beat_us in state.beats.items() if max(beat_us, from_us) + limits.heartbeat_us <= now_us}
    if not lost or len(lost) == len(state.beats):
        return None
    blamed = in_order({state.roll.of_rank(rank) for rank in lost})
    evidence = [
        Evidence(what=f"last heartbeat of rank {rank}", ts_us=state.beats[rank]) for rank in sorted(lost)[:NAMED]
    ]
    return _dead(state, blamed, "their heartbeats stopped while those of the others go on", evidence)


def by_counts(state: HangState, limits: HangLimits) -> Verdict | None:
    """Level 2: collective counts that stand still; who is behind, and who does not answer."""
    ras = state.ras
    if ras.judged_us <= state.pace.last_us or ras.still_us < limits.still_us - limits.jitter_us:
        return None
    still = ras.verdict(state.roll)
    evidence = [
        Evidence(what="collective counts stand still (RAS)", value=still.still_us / 1e6, unit="s", ts_us=ras.judged_us)
    ]
    evidence += [Evidence(what=words) for words in still.errors]
    if still.silent:
        evidence.append(
            Evidence(what=f"do not answer RAS: {listed(still.silent)}", value=float(len(still.silent)), unit="ranks")
        )
    if still.dead:
        return _dead(state, still.dead, "RAS has not reached them for a minute and gave them up", evidence)
    stand = f"{state.kept.job} hangs: its collective counts stand still for {still.still_us / 1e6:.0f} s"
    if still.crossed:
        evidence.append(Evidence(what=f"behind in one communicator, waiting in another: {listed(still.behind)}"))
        words = f"{stand} and ranks wait for each other in different communicators"
    elif still.behind:
        if still.where is not None:
            evidence.append(Evidence(what=f"{still.behind[0].words()} is behind in {still.where}"))
        words = f"{stand}; {still.waiting} ranks wait for {listed(still.behind)}"
    elif still.silent:
        words = f"{stand}; {listed(still.silent)} did not answer RAS"
    else:
        words = f"{stand} and are the same on all ranks: the network holds an operation, or no rank calls the next"
    return Verdict(
        cause="job_hang_confirmed",
        words=words,
        blamed=[] if still.crossed else still.behind or still.silent,
        evidence=evidence,
        confidence="high" if still.behind and not still.crossed else "medium",
    )


def by_dumps(state: HangState) -> Verdict | None:
    """Level 3: the rank that did not enter the first collective which others entered, or the network."""
    recorder, job = state.recorder, state.kept.job
    if not recorder.judged_us or recorder.judged_us <= state.pace.last_us:
        return None
    read = recorder.read(state.roll)
    evidence = []
    if read.where is not None:
        evidence.append(Evidence(what=f"first unmatched operation (flight recorder): {read.where}"))
    if read.since_us is not None:
        evidence.append(Evidence(what="called, the oldest that has not ended", ts_us=read.since_us))
    if read.undumped:
        evidence.append(Evidence(what=f"left no dump: {listed(read.undumped)}", value=float(len(read.undumped))))
    if read.absent:
        return Verdict(
            cause="rank_absent",
            words=f"{job} hangs: {listed(read.absent)} did not enter {read.where}, in which {read.waiting} ranks wait",
            blamed=read.absent,
            evidence=evidence,
            confidence="high",
            comm=read.comm,
        )
    if read.undumped and read.waiting:
        return Verdict(
            cause="rank_absent",
            words=f"{job} hangs: {read.waiting} ranks wait in {read.where}; {listed(read.undumped)} left no dump",
            blamed=read.undumped,
            evidence=evidence,
            confidence="medium",
            comm=read.comm,
        )
    if read.crossed:
        return Verdict(
            cause="application_hang",
            words=f"{job} hangs: ranks wait for each other in different operations, first {read.where}",
            evidence=evidence,
            confidence="high",
        )
    if read.inside:
        return Verdict(
            cause="comm_hang",
            words=f"{job} hangs in communication: all ranks are inside {read.where} and it does not end",
            evidence=evidence,
            confidence="high",
            comm=read.comm,
        )
    return Verdict(
        cause="application_hang",
        words=f"{job} hangs between collectives: no rank is inside one (checkpoint, storage or data loading)",
        evidence=evidence,
        confidence="medium",
    )


def _dead(state: HangState, blamed: list[Who], why: str, evidence: list[Evidence]) -> Verdict:
    """Processes are gone; a host is where all of its ranks are and ranks of other hosts live."""
    job = state.kept.job
    gone: dict[str, set[int]] = {}
    for who in blamed:
        if who.node is not None and who.rank is not None:
            gone.setdefault(who.node, set()).add(who.rank)
    of = state.roll.by_node()
    hosts = [node for node, ranks in sorted(gone.items()) if len(ranks) > 1 and of.get(node, set()) <= ranks]
    if hosts:
        some = ", ".join(hosts[:NAMED])
        words = f"{job} stands still: all its processes on {some} are gone; {why}"
        evidence = [*evidence, Evidence(what=f"processes gone: {listed(blamed)}", value=float(len(blamed)))]
        return Verdict(cause="host_dead", words=words, blamed=blamed, evidence=evidence, confidence="medium")
    words = f"{job} stands still: {listed(blamed)} {'is' if len(blamed) == 1 else 'are'} gone; {why}"
    return Verdict(cause="process_dead", words=words, blamed=blamed, evidence=evidence, confidence="high")


def _behind_in_steps(state: HangState) -> tuple[list[Who], list[Evidence]]:
    """Ranks that stand behind the others: in a hang the rank that did not get there is the suspect."""
    if not state.step:
        return [], []
    most, least = max(state.step.values()), min(state.step.values())
    behind = sorted(rank for rank, step in state.step.items() if step < most)
    if least == most or 2 * len(behind) > len(state.step):
        return [], [Evidence(what="last step of all ranks", value=float(most), unit="step")]
    words = f"ranks behind the others: {listed_numbers(behind)}"
    return [state.roll.of_rank(rank) for rank in behind], [Evidence(what=words, value=float(least), unit="step")]
