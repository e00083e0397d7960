"""Findings about links."""

from collections.abc import Sequence

from collectors.contract.gpu import GpuScrape
from streams.contract import Evidence, Finding, Severity, Subject
from streams.detectors.links_errors import allowed_per_minute
from streams.detectors.links_limits import LinkLimits
from streams.detectors.links_sights import Sight
from streams.detectors.links_state import Owner, Part
from streams.gpus import gpu_subject

DETECTOR = "gpu_link"
_ERRORS = {
    "pcie_replay": "PCIe replays",
    "pcie_corrected": "corrected PCIe errors",
    "aer_corrected": "PCIe errors in the kernel's log",
    "aer_uncorrected": "uncorrected PCIe errors",
    "nvlink_crc": "NVLink CRC errors",
    "nvlink_replay": "NVLink replays",
    "nvlink_recovery": "NVLink retrainings",
    "nvlink_lost": "NVLink errors that correction did not mend",
    "nvlink_failed": "NVLink retrainings that failed",
    "c2c": "errors on the link to the CPU",
}
ACTIONS = {
    "pcie_replays": "reseat the GPU or its riser at the next stop; swap slots to see which part has the errors",
    "pcie_uncorrected": "drain the node; reseat the GPU or its riser; replace the part that has it again",
    "pcie_downtrain": "drain the node, reset the GPU or power-cycle the node; reseat it if the link stays narrow",
    "nvlink_errors": "run the NVLink diagnostic at both ends of the link; reset the GPU, then look at cable and board",
    "nvlink_failed": "drain the node and reset the GPUs at both ends of the link",
    "nvlink_down": "drain the node and reset its GPUs; if the link stays down look at both ends, cable and board",
    "nvswitch_reset_required": "drain the node and reset its GPUs and switches together",
    "c2c_errors": "drain the node and restart it; if the errors come back have the module replaced",
}
OVER = {
    "pcie_downtrain": "the PCIe link is as wide and fast as it was",
    "nvlink_down": "all NVLinks are up again",
    "nvswitch_reset_required": "the switch asks for no reset any more",
}
_ALWAYS: dict[str, Severity] = {
    "pcie_replays": "warning",
    "pcie_uncorrected": "critical",
    "nvlink_failed": "critical",
    "nvlink_down": "critical",
    "nvswitch_reset_required": "critical",
    "c2c_errors": "warning",
}


def subject_of(scrape: GpuScrape, owner: Owner, row: int | None) -> Subject:
    """The GPU, or the switch of the node."""
    if row is not None:
        return gpu_subject(scrape.node, scrape.gpus[row])
    if owner.startswith(f"{scrape.node}/"):
        return Subject(kind="device", id=owner, node=scrape.node, device=owner)
    if owner == scrape.node:
        return Subject(kind="node", id=owner, node=owner)
    return Subject(kind="gpu", id=owner, node=scrape.node, gpu_uuid=owner)


def too_many_errors(
    scrape: GpuScrape, owner: Owner, row: int | None, word: str, part: Part, ts_us: int, limits: LinkLimits
) -> Finding:
    """More than such a link may have."""
    sort = max(part.levels, key=lambda s: (part.levels[s], s))
    per_minute = rate_per_minute(part, sort)
    allowed = allowed_per_minute(sort, scrape, row, limits)
    severity: Severity = _ALWAYS.get(word) or ("critical" if per_minute >= limits.severe * allowed else "warning")
    unit, times = ("a minute", 1.0) if allowed >= 1.0 else ("an hour", 60.0)
    words = f"{_number(times * per_minute)} {_ERRORS[sort]} {unit}, {_number(times * allowed)} are normal"
    if allowed <= 0.0:
        count = sum(c for _, s, c, _ in part.recent if s == sort)
        words = f"{_ERRORS[sort]}: {count:g}, none is normal"
    return _finding(
        scrape,
        subject_of(scrape, owner, row),
        ts_us,
        severity=severity,
        cause=word,
        value=round(per_minute, 3),
        limit=round(allowed, 3),
        unit="errors/minute",
        summary=f"{label(scrape, owner, row)}: {words}",
        evidence=[
            *(
                Evidence(what=f"{_ERRORS[s]} a minute", value=round(rate_per_minute(part, s), 3))
                for s in sorted(part.levels)
            ),
            *(
                Evidence(what=f"errors of link {link}", value=count)
                for link, count in sorted(part.links.items(), key=lambda kv: (-kv[1], kv[0]))[:4]
            ),
        ],
    )


def rate_per_minute(part: Part, sort: str) -> float:
    """Of late, from the first scrape with errors of that sort that is remembered to the last."""
    of = [(ts_us, count, over_us) for ts_us, s, count, over_us in part.recent if s == sort]
    if not of:
        return 0.0
    span_us = of[-1][0] - of[0][0] + of[0][2]
    count = sum(c for _, c, _ in of)
    return count * 60e6 / span_us if span_us > 0 else count


def bad_link(scrape: GpuScrape, seen: Sight, limits: LinkLimits) -> Finding:
    """A link that is down, narrow or slow."""
    severity = _ALWAYS.get(seen.word) or ("critical" if seen.share <= limits.narrow else "warning")
    evidence = [Evidence(what="bandwidth left", value=round(seen.share, 3), unit="fraction")] if seen.share < 1 else []
    return _finding(
        scrape,
        subject_of(scrape, seen.owner, seen.row),
        scrape.ts_us,
        severity=severity,
        cause=seen.word,
        value=seen.value,
        limit=seen.limit,
        unit=seen.unit,
        summary=f"{label(scrape, seen.owner, seen.row)}: {seen.words}",
        evidence=[*evidence, *(Evidence(what=f"link {link} is down") for link in seen.links[:8])]
        or [Evidence(what=seen.words, value=seen.value, unit=seen.unit)],
    )


def bad_node(scrape: GpuScrape, seen: Sequence[Sight], limits: LinkLimits) -> Finding:
    """Most GPUs of a node at once: what they have in common is at fault."""
    worst = min(seen, key=lambda s: (s.share, s.value or 0.0))
    severity = _ALWAYS.get(worst.word) or ("critical" if worst.share <= limits.narrow else "warning")
    return _finding(
        scrape,
        Subject(kind="node", id=scrape.node, node=scrape.node),
        scrape.ts_us,
        severity=severity,
        cause=worst.word,
        value=worst.value,
        limit=worst.limit,
        unit=worst.unit,
        summary=f"{len(seen)} GPUs of {scrape.node} at once, as {label(scrape, worst.owner, worst.row)}: {worst.words}",
        evidence=[
            Evidence(what=f"{label(scrape, s.owner, s.row)}: {s.words}", value=s.value, unit=s.unit) for s in seen[:16]
        ],
    )


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.2g}"


def label(scrape: GpuScrape, owner: Owner, row: int | None) -> str:
    """As a person calls it."""
    if row is None:
        return f"NVSwitch {owner.partition('/')[2]} on {scrape.node}" if "/" in owner else owner
    index = scrape.gpus[row].index
    return f"GPU {index if index is not None else owner} on {scrape.node}"


def _finding(
    scrape: GpuScrape,
    subject: Subject,
    ts_us: int,
    *,
    severity: Severity,
    cause: str,
    value: float | None,
    limit: float | None,
    unit: str | None,
    summary: str,
    evidence: list[Evidence],
) -> Finding:
    return Finding(
        cluster=scrape.cluster,
        detector=DETECTOR,
        state="opened",
        subject=subject,
        episode_us=ts_us,
        ts_us=ts_us,
        severity=severity,
        cause=cause,
        value=value,
        limit=limit,
        unit=unit,
        summary=summary,
        evidence=evidence,
        action=ACTIONS[cause],
    )
