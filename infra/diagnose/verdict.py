"""From the answers to the likeliest cause."""

from collections.abc import Sequence

from infra.diagnose.judged import Episode, Judged
from infra.diagnose.parts import which_gpu, which_host, which_link
from infra.diagnose.picture import heat
from infra.diagnose.questions import against_its_past, one_or_all, spent_on, what_changed
from infra.diagnose.report import Answer, Report, Verdict
from infra.diagnose.series import MOST_BASE, MOST_WINDOW, Stretch, counted, slow_stretch, steps_of
from streams.causes import cause_row, runbook

HUNG = ("job_hang_suspected", "job_hang_confirmed", "comm_hang", "process_dead", "host_dead", "rank_silent")
UNEVEN = ("imbalance_stage", "imbalance_data", "mixed_hardware_inefficiency")


def diagnose(judged: Judged) -> Report:
    """Ask all questions in their order. Works with whatever is known; what is not is said."""
    steps = counted(steps_of(judged.reports))
    slow = slow_stretch(steps)
    window = slow.window if slow else steps[-MOST_WINDOW:]
    base = slow.base if slow else steps[-(MOST_WINDOW + MOST_BASE) : -MOST_WINDOW]
    first = against_its_past(steps, slow, judged.day_before)
    span = (min((r.ts_us for r in judged.reports), default=0), judged.end_us)
    if not window:
        verdict = _hung(judged) or Verdict(cause="unknown", part="", confidence="low", words=first.words)
        return Report(cluster=judged.cluster, job=judged.job, span=span, answers=[first], verdict=verdict)
    start_us, end_us = window[0].ts_us, window[-1].ts_us
    second, suspects = one_or_all(judged, window, slow)
    third, top = spent_on(window, base, suspects)
    fourth, on_gpus = which_gpu(judged, suspects, start_us, end_us)
    fifth = which_host(judged, suspects, window, top)
    sixth, on_links = which_link(judged, window, base)
    seventh = what_changed(judged, slow.since.ts_us if slow else None)
    answers = [first, second, third, fourth, fifth, sixth, seventh]
    verdict = _hung(judged) or _verdict(judged, slow, suspects, top, on_gpus, on_links, (start_us, end_us), answers)
    return Report(
        cluster=judged.cluster,
        job=judged.job,
        span=span,
        answers=answers,
        verdict=verdict,
        picture=heat(steps, judged.placement),
    )


def _hung(judged: Judged) -> Verdict | None:
    """A job that stands still is not slow."""
    still = [
        e
        for e in judged.episodes.values()
        if e.finding.cause in HUNG and e.cleared_us is None and e.finding.subject.job == judged.job
    ]
    return _of(max(still, key=lambda e: cause_row(e.finding.cause).level), "high") if still else None


def _verdict(
    judged: Judged,
    slow: Stretch | None,
    suspects: Sequence[int],
    top: str | None,
    on_gpus: list[Episode],
    on_links: list[Episode],
    span: tuple[int, int],
    answers: Sequence[Answer],
) -> Verdict:
    hardware = [e for e in on_gpus if cause_row(e.finding.cause).level >= 50]
    if suspects and hardware:
        return _of(_worst(hardware), "high")
    nodes = {judged.placement[r].node for r in suspects if r in judged.placement}
    if suspects and (len(suspects) > 1 or top in ("data_s", "cpu_s")) and len(nodes) == 1:
        (node,) = nodes
        told = [e for e in judged.on_node(node) if e.finding.cause == "host_slow" and e.during(*span)]
        if told:
            return _of(told[-1], "high")
        why = f"{len(suspects)} ranks of {node} compute longer than their peers"
        if top in ("data_s", "cpu_s"):
            why = f"{why}, and {'loading data' if top == 'data_s' else 'its CPU'} takes longer there"
        return _said("host_slow", f"node {node}", "medium", why)
    if suspects:
        rank = suspects[0]
        place = judged.placement.get(rank)
        part = f"gpu {place.gpu_uuid}" if place is not None and place.gpu_uuid else f"rank {judged.job}/{rank}"
        where = f" on {place.node}" if place is not None else ""
        return _said(
            "gpu_slow", part, "medium", f"rank {rank}{where} computes longer than its peers, by no known fault"
        )
    links = [e for e in on_links if cause_row(e.finding.cause).level > 0 and e.finding.severity != "info"]
    if slow is not None and links and top in ("transfer_s", "wait_s", None):
        return _of(_worst(links), "high" if top == "transfer_s" else "medium")
    shared = [e for e in hardware if slow is not None]
    if shared:
        return _of(_worst(shared), "medium")
    if slow is not None and top == "transfer_s":
        return _said(
            "comm_slow", f"job {judged.job}", "medium", "transfers of all ranks take longer; no cable stands out"
        )
    if slow is not None:
        grew = f"{top.removesuffix('_s')} grew on all ranks" if top else "all ranks alike"
        return _said(
            "job_regression", f"job {judged.job}", "medium", f"{grew}, and no part stands out: {answers[-1].words}"
        )
    uneven = [e for e in judged.episodes.values() if e.finding.cause in UNEVEN and e.during(*span)]
    if uneven:
        return _of(_worst(uneven), "medium")
    return Verdict(
        cause="not_slow",
        part=f"job {judged.job}",
        confidence="high" if answers[0].reply == "no" else "low",
        words="it keeps the pace of its past and no rank stands out",
    )


def _worst(episodes: Sequence[Episode]) -> Episode:
    return max(episodes, key=lambda e: (cause_row(e.finding.cause).weight(e.finding.severity), -e.opened_us))


def _of(episode: Episode, confidence: str) -> Verdict:
    finding = episode.finding
    made = _said(finding.cause, f"{finding.subject.kind} {finding.subject.id}", confidence, finding.summary)
    return (
        made
        if finding.action is None
        else Verdict(
            cause=made.cause,
            part=made.part,
            confidence=made.confidence,
            words=made.words,
            action=finding.action,
            runbook=made.runbook,
        )
    )


def _said(word: str, part: str, confidence: str, words: str) -> Verdict:
    level = confidence if confidence in ("high", "medium") else "low"
    return Verdict(
        cause=word,
        part=part,
        confidence=level,  # type: ignore[arg-type]
        words=words,
        action=cause_row(word).action,
        runbook=runbook(word),
    )
