"""What a line means beside what the same part went through before: repeats, solos and by-products."""

import math

from msgspec import structs

from collectors.contract.kernel import KernelEvent
from streams.contract import Confidence
from streams.detectors.xid_limits import DAY_US, XidLimits
from streams.detectors.xid_past import Mark, Past, marks_of, past_of
from streams.detectors.xid_rules import PROGRAM_KINDS, Verdict

DIAGNOSE = "run the extended diagnostic; if it fails, the field diagnostic"
AGAIN: dict[str, str] = {
    "memory": "run the field diagnostic; if it fails, ask for replacement",
    "bus": "ask for the board: swap it, and if the fault stays it is the slot",
    "gsp": "open a ticket with the driver's bug report: a reset did not cure it",
    "link": "look at both ends of the link, then replace the cable or the board",
    "xid": "run the field diagnostic: what was done the last time did not cure it",
}
KINDS: dict[str, str] = {
    "memory": "uncorrected memory errors of this GPU",
    "bus": "losses of the GPU in this slot",
    "gsp": "failures of this GPU's system processor",
}
_RANK = 60


def weigh(
    limits: XidLimits,
    pasts: dict[str, Past],
    part: str,
    verdict: Verdict,
    event: KernelEvent,
    gpus: int,
    job: str | None = None,
) -> Verdict:
    """The verdict in the light of the past, which takes the event in. `gpus`: how many the node has.

    `job`: who holds the GPU, where that is known: a job that is started again and again is one run.
    """
    if not verdict.remembered:
        return verdict
    past = past_of(pasts, part)
    if verdict.link_down:
        past.note("link down", event.ts_us, apart_us=limits.group_us, memory_us=limits.link_drop_us)
    if verdict.by_product:
        verdict = _by_product(limits, pasts, verdict, event.ts_us)
    kind = verdict.kind
    if kind is None:
        return verdict
    times = past.note(
        kind,
        event.ts_us,
        apart_us=limits.group_us if kind in PROGRAM_KINDS else limits.apart_us,
        memory_us=limits.memory_us,
        who=job or (None if event.pid is None else f"pid {event.pid}"),
        place=verdict.place,
    )
    if kind == "sm":
        return _same_place(limits, pasts, past, verdict, event)
    if kind == "mmu":
        return _same_gpu(limits, pasts, past, verdict, event, gpus)
    return verdict if times < 2 else _again(limits, verdict, kind, times)


def _again(limits: XidLimits, verdict: Verdict, kind: str, times: int) -> Verdict:
    days = limits.memory_us // DAY_US
    name = KINDS.get(kind, f"NVLink errors of {kind}" if kind.startswith("link ") else kind.replace("xid", "XID"))
    fact = f"{name} within {days} days"
    retry = verdict.bin == "retry" and kind.startswith("xid ")
    if retry and times < limits.retries:
        return structs.replace(verdict, times=times)
    known = AGAIN[kind.partition(" ")[0]]
    then = f"again within {days} days: {known}"
    chosen, severity, rank = verdict.bin, verdict.severity, verdict.rank
    hardware = 0 < verdict.hardware_after < times
    if kind == "gsp":
        chosen = "reboot_node"
    if severity == "info" or retry:
        chosen, severity, rank = "drain_and_diagnose", "warning", max(rank, _RANK)
    if hardware:
        severity, rank = "critical", max(rank, 80)
        then = "its hardware: run the field diagnostic and ask for replacement of the GPU or board"
    return structs.replace(
        verdict,
        times=times,
        then=then,
        words=f"{verdict.words}, time {times} in {days} days",
        facts=(*verdict.facts, f"{fact}: {times}"),
        bin=chosen,
        severity=severity,
        rank=rank,
    )


def _by_product(limits: XidLimits, pasts: dict[str, Past], verdict: Verdict, ts_us: int) -> Verdict:
    downs = marks_of(pasts.values(), "link down", ts_us - limits.link_drop_us, ts_us)
    if next(downs, None) is None:
        return verdict
    then = "act on the NVLink that went down just before"
    return structs.replace(verdict, severity="info", bin="ignore", then=then, kind=None)


def _same_place(limits: XidLimits, pasts: dict[str, Past], past: Past, verdict: Verdict, event: KernelEvent) -> Verdict:
    """XID 13 again on one TPC and nowhere else: hardware. On several, or on several GPUs at once: the program."""
    if verdict.place is None:
        return verdict
    runs = _runs(limits, past, "sm", event.ts_us)
    alone = [m for m in runs if m.places == [verdict.place] and not _shared(limits, pasts, past, "sm", m)]
    same = _distinct(alone)
    if same < limits.sm_runs or same <= len([m for m in runs if m.places and m.places != [verdict.place]]):
        return verdict
    fact = f"{same} runs failed on {verdict.place} of this GPU and nowhere else"
    return _hardware(verdict, same, "again on one TPC", fact, "low" if same <= limits.sm_runs else "medium")


def _same_gpu(
    limits: XidLimits, pasts: dict[str, Past], past: Past, verdict: Verdict, event: KernelEvent, gpus: int
) -> Verdict:
    """XID 31 in several runs on one GPU, more than chance would put there: hardware."""
    runs = [m for m in _runs(limits, past, "mmu", event.ts_us) if not _shared(limits, pasts, past, "mmu", m)]
    here = _distinct(runs)
    if here < limits.mmu_runs:
        return verdict
    others = [p for p in pasts.values() if p is not past]
    elsewhere = len(list(marks_of(others, "mmu", event.ts_us - limits.memory_us, event.ts_us)))
    if _tail(here, here + elsewhere, 1 / max(2, gpus)) > limits.mmu_chance:
        return verdict
    fact = f"{here} runs failed on this GPU, {elsewhere} on the others of its node"
    return _hardware(verdict, here, "again and again on this GPU", fact, "low")


def _hardware(verdict: Verdict, times: int, how: str, fact: str, confidence: Confidence) -> Verdict:
    return structs.replace(
        verdict,
        cause=verdict.cause.removeprefix("application_"),
        words=f"{verdict.words}, {how}",
        severity="warning",
        bin="drain_and_diagnose",
        rank=_RANK,
        then=DIAGNOSE,
        times=times,
        confidence=confidence,
        facts=(*verdict.facts, fact),
    )


def _runs(limits: XidLimits, past: Past, kind: str, ts_us: int) -> list[Mark]:
    return [m for m in past.marks.get(kind, ()) if ts_us - limits.memory_us <= m.last_us and m.first_us <= ts_us]


def _shared(limits: XidLimits, pasts: dict[str, Past], past: Past, kind: str, mark: Mark) -> bool:
    """Did another GPU of the node have the same at that time? Then it was the program's."""
    others = (p for p in pasts.values() if p is not past)
    since_us, until_us = mark.first_us - limits.group_us, mark.last_us + limits.group_us
    return next(marks_of(others, kind, since_us, until_us), None) is not None


def _distinct(runs: list[Mark]) -> int:
    """Jobs, or processes where no job is known; a run of which neither is known counts as one."""
    return len({m.who for m in runs if m.who is not None}) + sum(m.who is None for m in runs)


def _tail(hits: int, of: int, chance: float) -> float:
    """At least so many hits by chance (binomial)."""
    return sum(math.comb(of, k) * chance**k * (1 - chance) ** (of - k) for k in range(hits, of + 1))
