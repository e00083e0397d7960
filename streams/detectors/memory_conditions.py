"""What is wrong with a GPU's memory, gravest first, and what to do about it."""

from dataclasses import dataclass, field

from msgspec import Struct
from msgspec import field as struct_field

from streams.contract import Evidence, Severity
from streams.detectors.memory_trend import DAY_US, Trend, TrendLevel, TrendLimits, event_days

CORRECTED = ("310", "312")
"""Since driver load, and for life."""
UNCORRECTED = ("311", "313", "393")
"""Errors since driver load, errors for life, rows remapped for them."""
REMAP_PENDING = "396"
LEVELS = ("346", "390", "391", "392", "393", "395", REMAP_PENDING, "1507")
"""Flags and counts that mean something by their height."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryLimits:
    """Limits with their source; those of the corrected-error trend stand in `TrendLimits`."""

    retired_pages: float = 63.0
    """DCGM health: of 64 that a GPU up to Turing may retire (DcgmGPUHardwareLimits.h)."""
    retired_uncorrected: float = 15.0
    retired_uncorrected_week: float = 1.0
    """DCGM health: more than 15 pages for uncorrected errors, with more than one new in a week."""
    remapped_rows: float = 512.0
    """NVIDIA GPU Memory Error Management: the most rows that a GPU remaps."""
    quiet_us: int = DAY_US
    """An uncorrected error without a reset seen after it is let go after so long (own choice)."""
    trend: TrendLimits = field(default_factory=TrendLimits)


class Uncorrected(Struct):
    """Uncorrected errors of one episode: by counter, since each may lose some (a crash, a reload)."""

    by_field: dict[str, float] = struct_field(default_factory=dict)
    last_us: int = 0

    @property
    def errors(self) -> float:
        """The larger tells more of the truth."""
        return max(self.by_field.values(), default=0.0)


class GpuMemory(Struct):
    """What is remembered of one GPU that has anything to remember."""

    levels: dict[str, float] = struct_field(default_factory=dict)
    """Of `LEVELS`: the last reading where it was not zero."""
    uncorrected: Uncorrected | None = None
    trend: Trend | None = None
    corrected: TrendLevel = "none"
    """As last judged on a reading."""
    retired: dict[int, float] = struct_field(default_factory=dict)
    """Days since 1970 -> pages retired for uncorrected errors, the last week."""

    def is_empty(self) -> bool:
        """Is there nothing left to remember?"""
        return not self.levels and self.uncorrected is None and self.trend is None


class Condition(Struct, frozen=True, kw_only=True):
    """One thing that is wrong now."""

    cause: str
    severity: Severity
    value: float
    limit: float
    unit: str
    words: str
    action: str
    ts_us: int | None = None

    def evidence(self) -> Evidence:
        """The condition as a fact behind the finding."""
        return Evidence(what=self.words, value=self.value, unit=self.unit, ts_us=self.ts_us)


_RMA = "drain; run the field diagnostic; with its report and these counters, ask for replacement of the GPU"
_RESET = "drain at the next gap in the work and reset the GPU"

_FLAGS: tuple[tuple[str, str, Severity, str, str], ...] = (
    ("1507", "memory_unrepairable", "critical", "device memory has errors that cannot be repaired any more", _RMA),
    ("395", "row_remap_failure", "critical", "remapping of a bad memory row failed", _RMA),
    ("346", "sram_threshold", "critical", "more uncorrected SRAM errors than the GPU may have", _RMA),
)
_PENDING: tuple[tuple[str, str, Severity, str, str], ...] = (
    (REMAP_PENDING, "row_remap_pending", "warning", "a bad memory row waits for a GPU reset to be remapped", _RESET),
    ("392", "page_retirement_pending", "warning", "a bad page waits for a driver reload to be retired", _RESET),
)


def conditions(gpu: GpuMemory, now_us: int, limits: MemoryLimits) -> list[Condition]:
    """Everything that is wrong, gravest first; the first names the cause."""
    found = [_flag(gpu, *row) for row in _FLAGS if row[0] in gpu.levels]
    found += _counts(gpu, now_us, limits)
    if gpu.uncorrected is not None:
        found.append(_uncorrected(gpu.uncorrected))
    trend = None if gpu.trend is None else _trend(gpu.trend, gpu.corrected, now_us, limits.trend)
    if trend is not None and trend.severity == "critical":
        found.append(trend)
    found += [_flag(gpu, *row) for row in _PENDING if row[0] in gpu.levels]
    if trend is not None and trend.severity != "critical":
        found.append(trend)
    return found


def _flag(gpu: GpuMemory, name: str, cause: str, severity: Severity, words: str, action: str) -> Condition:
    return Condition(
        cause=cause, severity=severity, value=gpu.levels[name], limit=0.0, unit="flag", words=words, action=action
    )


def _counts(gpu: GpuMemory, now_us: int, limits: MemoryLimits) -> list[Condition]:
    found: list[Condition] = []
    rows = gpu.levels.get("393", 0.0)
    if rows >= limits.remapped_rows:
        found.append(
            Condition(
                cause="row_remap_exhausted",
                severity="critical",
                value=rows,
                limit=limits.remapped_rows,
                unit="rows",
                words="every row that the GPU may remap for uncorrected errors is used",
                action=_RMA,
            )
        )
    uncorrected = gpu.levels.get("391", 0.0)
    pages = gpu.levels.get("390", 0.0) + uncorrected
    week = sum(n for day, n in gpu.retired.items() if day > now_us // DAY_US - 7)
    if pages >= limits.retired_pages or (
        uncorrected > limits.retired_uncorrected and week > limits.retired_uncorrected_week
    ):
        found.append(
            Condition(
                cause="page_retirement_limit",
                severity="critical",
                value=pages,
                limit=limits.retired_pages,
                unit="pages",
                words="the GPU has retired about as many pages as it may, or too many within a week",
                action=_RMA,
            )
        )
    return found


def _uncorrected(errors: Uncorrected) -> Condition:
    return Condition(
        cause="uncorrectable_ecc",
        severity="critical",
        value=errors.errors,
        limit=0.0,
        unit="errors",
        words=f"{errors.errors:.0f} uncorrected memory error{'' if errors.errors == 1 else 's'}",
        action=f"{_RESET}; a second one within 30 days asks for the field diagnostic",
        ts_us=errors.last_us,
    )


def _trend(trend: Trend, level: TrendLevel, now_us: int, limits: TrendLimits) -> Condition | None:
    if level == "none":
        return None
    if level == "storm":
        return Condition(
            cause="correctable_ecc_storm",
            severity="critical",
            value=trend.rate_per_s,
            limit=limits.storm_per_s,
            unit="errors/s",
            words=f"{trend.rate_per_s:.0f} corrected memory errors a second",
            action="drain and reset the GPU; if it comes back, run the field diagnostic",
            ts_us=trend.last_us,
        )
    if level == "burst":
        return Condition(
            cause="correctable_ecc_burst",
            severity="info",
            value=trend.errors,
            limit=limits.burst_errors,
            unit="errors",
            words=f"one burst of {trend.errors:.0f} corrected memory errors",
            action="none: 5 % of GPUs have such bursts",
            ts_us=trend.last_us,
        )
    days = event_days(trend, now_us, limits)
    total = sum(trend.days.values())
    if days >= limits.event_days:
        words = f"corrected memory errors on {days} of the last {limits.event_days_of} days, {total:.0f} in all"
    else:
        words = f"corrected memory errors keep coming: {trend.errors:.0f} so far, {trend.rate_per_s:.1f} a second"
    return Condition(
        cause="correctable_ecc_growth",
        severity="warning",
        value=max(trend.errors, total),
        limit=limits.steady_errors,
        unit="errors",
        words=words,
        action="reset the GPU at the next gap in the work and watch it; replace it only with further evidence",
        ts_us=trend.last_us,
    )
