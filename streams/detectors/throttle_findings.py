"""Findings about slow clocks."""

from collections.abc import Sequence

from collectors.contract.gpu import GpuScrape
from streams.contract import Evidence, Finding, Severity, Subject
from streams.detectors.throttle_causes import evidence
from streams.detectors.throttle_reading import Reading, ThrottleLimits
from streams.detectors.throttle_state import Judged
from streams.gpus import gpu_subject

DETECTOR = "throttle"


def slow_gpu(scrape: GpuScrape, one: Judged, limits: ThrottleLimits) -> Finding:
    """One GPU below its clock."""
    reason = one.why()
    return _finding(
        scrape,
        gpu_subject(scrape.node, scrape.gpus[one.reading.row]),
        severity=reason.severity or _severity(one, limits),
        cause=reason.cause,
        value=one.reading.clock,
        limit=round(limits.slow * one.pace.reference, 1),
        unit="MHz",
        slowdown=round(1.0 / one.pace.share, 3),
        summary=f"{gpu_label(scrape, one.reading)} runs at {_share(one, 'its')} clock: {reason.words}",
        evidence=evidence(one.reading, scrape, one.before, one.part.held),
        action=reason.action,
    )


def slow_node(scrape: GpuScrape, members: Sequence[Judged], limits: ThrottleLimits) -> Finding:
    """Most busy GPUs of a node below their clock for one reason."""
    worst = min(members, key=lambda s: s.pace.share)
    reason = worst.why()
    return _finding(
        scrape,
        Subject(kind="node", id=scrape.node, node=scrape.node),
        severity=reason.severity or _severity(worst, limits),
        cause=reason.cause,
        value=worst.reading.clock,
        limit=round(limits.slow * worst.pace.reference, 1),
        unit="MHz",
        slowdown=round(1.0 / worst.pace.share, 3),
        summary=f"{len(members)} GPUs of {scrape.node} run at {_share(worst, 'their')} clock: {reason.words}",
        evidence=[
            *(
                Evidence(what=f"SM clock of {gpu_label(scrape, m.reading)}", value=m.reading.clock, unit="MHz")
                for m in members
            ),
            *evidence(worst.reading, scrape, worst.before, worst.part.held),
        ],
        action=reason.action,
    )


def hot_gpu(scrape: GpuScrape, one: Judged, limits: ThrottleLimits) -> Finding:
    """A GPU that is not slow yet, or, with no degrees left, held at its limit."""
    margin = one.reading.margin
    at_limit = one.part.spent >= limits.windows
    words = "is at its temperature limit" if at_limit else f"is within {limits.margin_c:.0f} degrees of its slowdown"
    return _finding(
        scrape,
        gpu_subject(scrape.node, scrape.gpus[one.reading.row]),
        severity="warning" if at_limit else "info",
        cause="thermal_throttle" if at_limit else "thermal_margin_low",
        value=margin,
        limit=0.0 if at_limit else limits.margin_c,
        unit="C",
        summary=f"{gpu_label(scrape, one.reading)} {words}",
        evidence=evidence(one.reading, scrape, one.before, one.part.held),
        action="check its cooling before it slows",
    )


def gpu_label(scrape: GpuScrape, reading: Reading) -> str:
    """As a person calls it."""
    index = scrape.gpus[reading.row].index
    return f"GPU {reading.uuid if index is None else index} of {scrape.node}"


def _severity(one: Judged, limits: ThrottleLimits) -> Severity:
    return "critical" if one.pace.share < limits.severe and not one.pace.own else "warning"


def _share(one: Judged, whose: str) -> str:
    clock = "" if one.reading.clock is None else f"{one.reading.clock:.0f} MHz, "
    return f"{clock}{one.pace.share:.0%} of {whose}" + (" usual" if one.pace.own else "")


def _finding(
    scrape: GpuScrape,
    subject: Subject,
    *,
    severity: Severity,
    cause: str,
    value: float | None,
    limit: float,
    unit: str,
    summary: str,
    evidence: list[Evidence],
    action: str,
    slowdown: float | None = None,
) -> Finding:
    return Finding(
        cluster=scrape.cluster,
        detector=DETECTOR,
        state="opened",
        subject=subject,
        episode_us=scrape.ts_us,
        ts_us=scrape.ts_us,
        severity=severity,
        cause=cause,
        value=value,
        limit=limit,
        unit=unit,
        summary=summary,
        evidence=evidence,
        action=action,
        slowdown=slowdown,
    )
