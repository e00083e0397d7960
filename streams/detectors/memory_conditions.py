"""Everything that is wrong with a GPU's memory, gravest first, and what to do about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from streams.contract import Severity
from streams.detectors.memory_condition import REPLACE, RESET, Condition
from streams.detectors.memory_corrected import corrected
from streams.detectors.memory_fields import (
    PAGES_CORRECTED,
    PAGES_PENDING,
    PAGES_UNCORRECTED,
    REMAP_FAILED,
    REMAP_PENDING,
    SRAM_THRESHOLD,
    UNCORRECTED_ROWS,
    UNREPAIRABLE,
)
from streams.detectors.memory_log import FAILED, LogLimits
from streams.detectors.memory_state import GpuMemory
from streams.detectors.memory_trend import DAY_US, TrendLimits
from streams.detectors.memory_uncorrected import uncorrected, vendor_evidence
from streams.detectors.memory_wear import WearLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimits:
    """Limits with their source; those of corrected errors, of wear and of the log in groups of their own."""

    retired_pages: float = 63.0
    """DCGM health: of 64 that a GPU up to Turing may retire (DcgmGPUHardwareLimits.h)."""
    retired_uncorrected: float = 15.0
    """DCGM health: more than so many pages for uncorrected errors, with ..."""
    retired_uncorrected_week: float = 1.0
    """... more than so many of them new in a week."""
    quiet_us: int = DAY_US
    """An uncorrected error without a reset seen after it is let go after so long (own choice)."""
    trend: TrendLimits = field(default_factory=TrendLimits)
    wear: WearLimits = field(default_factory=WearLimits)
    log: LogLimits = field(default_factory=LogLimits)


_FLAGS: tuple[tuple[str, str, Severity, str, str], ...] = (
    (
        UNREPAIRABLE,
        "memory_unrepairable",
        "critical",
        "device memory has errors that cannot be repaired any more",
        REPLACE,
    ),
    (REMAP_FAILED, "row_remap_failure", "critical", "remapping of a bad memory row failed", REPLACE),
    (SRAM_THRESHOLD, "sram_threshold", "critical", "more uncorrected SRAM errors than the GPU may have", REPLACE),
)
_PENDING: tuple[tuple[str, str, Severity, str, str], ...] = (
    (REMAP_PENDING, "row_remap_pending", "warning", "a bad memory row waits for a GPU reset to be remapped", RESET),
    (PAGES_PENDING, "page_retirement_pending", "warning", "a bad page waits for a driver reload to be retired", RESET),
)


def conditions(
    gpu: GpuMemory, now: Mapping[str, float], now_us: int, days: float, fleet_per_day: float, limits: MemoryLimits
) -> list[Condition]:
    """The first names the cause. `now`: field -> reading of this GPU; `days`: how long it is known."""
    lost = None if gpu.uncorrected is None else uncorrected(gpu, gpu.uncorrected, now, limits.log)
    flags = [_flag(gpu, now, *row) for row in _FLAGS if row[0] in gpu.levels]
    # The last row sets the flag of a failed remap too (NVIDIA GPU Memory Error Management): it says why.
    found = [*_exhausted(gpu, now, limits.wear), *flags, *_retired(gpu, now_us, limits)]
    if lost is not None:
        failed = gpu.uncorrected is not None and FAILED in gpu.uncorrected.codes
        found = [lost, *found] if failed and not flags else [*found, lost]
    trend = None
    if gpu.trend is not None:
        trend = corrected(gpu, gpu.trend, now, now_us, days, fleet_per_day, limits.trend, limits.wear)
    if trend is not None and trend.severity == "critical":
        found.append(trend)
    found += [_flag(gpu, {}, *row) for row in _PENDING if row[0] in gpu.levels]
    if trend is not None and trend.severity != "critical":
        found.append(trend)
    return found


def _flag(
    gpu: GpuMemory, now: Mapping[str, float], name: str, cause: str, severity: Severity, words: str, action: str
) -> Condition:
    return Condition(
        cause=cause,
        severity=severity,
        value=gpu.levels[name],
        limit=0.0,
        unit="flag",
        words=words,
        action=action,
        facts=lambda: [] if gpu.uncorrected is not None else vendor_evidence(now),
    )


def _exhausted(gpu: GpuMemory, now: Mapping[str, float], wear: WearLimits) -> list[Condition]:
    rows = gpu.levels.get(UNCORRECTED_ROWS, 0.0)
    if rows < wear.rows:
        return []
    return [
        Condition(
            cause="row_remap_exhausted",
            severity="critical",
            value=rows,
            limit=wear.rows,
            unit="rows",
            words="every row that the GPU may remap for uncorrected errors is used",
            action=REPLACE,
            facts=lambda: vendor_evidence(now),
        )
    ]


def _retired(gpu: GpuMemory, now_us: int, limits: MemoryLimits) -> list[Condition]:
    from_uncorrected = gpu.levels.get(PAGES_UNCORRECTED, 0.0)
    pages = gpu.levels.get(PAGES_CORRECTED, 0.0) + from_uncorrected
    week = sum(n for day, n in gpu.retired.items() if day > now_us // DAY_US - 7)
    many = from_uncorrected > limits.retired_uncorrected and week > limits.retired_uncorrected_week
    if pages < limits.retired_pages and not many:
        return []
    return [
        Condition(
            cause="page_retirement_limit",
            severity="critical",
            value=pages,
            limit=limits.retired_pages,
            unit="pages",
            words="the GPU has retired about as many pages as it may, or too many within a week",
            action=REPLACE,
        )
    ]
