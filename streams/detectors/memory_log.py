"""The stages of an uncorrected memory error as the kernel log tells them, joined with what the counters say."""

from dataclasses import dataclass

from streams.detectors.memory_state import GpuMemory, Uncorrected

NOTICE = 92
"""The driver's own word for many corrected errors."""
RECORDED = 63
"""A row or page was recorded for repair: on its own no sign of an uncorrected error."""
ERRORS = frozenset({48, 94, 95, 140, 171, 172})
"""Found, contained, not contained, handled by nobody, found in DRAM, found in SRAM."""
FAILED = 64
"""The repair could not be recorded."""
UNCONTAINED = frozenset({95, 140})
CODES = frozenset({NOTICE, RECORDED, FAILED}) | ERRORS

STAGES = {
    48: "uncorrected error found",
    171: "uncorrected error found in DRAM",
    172: "uncorrected error found in SRAM",
    94: "contained: only the programs that read it were ended",
    95: "not contained: every program on the GPU may have read it",
    140: "handled by nobody",
    63: "row recorded for repair",
    64: "row could not be recorded for repair",
}
"""In the order of the chain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLimits:
    """How lines of the kernel log belong together."""

    group_us: int = 5_000_000
    """Delta study (arXiv 2503.11901): repeats within 5 s on one GPU are one error."""
    recorded_us: int = 60_000_000
    """A row that was recorded for repair so shortly before the error was found belongs to it (own choice)."""
    again_us: int = 30 * 86_400_000_000
    """A second uncorrected error within so long asks for the field diagnostic: studies count 3 to 12 in a million
    GPU-hours (arXiv 2503.11901), so two in 30 days are no chance."""


def take_line(gpu: GpuMemory, code: int, ts_us: int, limits: LogLimits) -> None:
    """One line about an uncorrected error; what the log says of before a reset is over."""
    if ts_us <= gpu.reset_us:
        return
    if code == RECORDED:
        gpu.recorded_us = max(gpu.recorded_us, ts_us)
        if gpu.uncorrected is None:
            return
    lost = gpu.uncorrected
    if lost is None:
        lost = gpu.uncorrected = Uncorrected(started_us=ts_us, last_us=ts_us)
    lost.started_us, lost.last_us = min(lost.started_us, ts_us), max(lost.last_us, ts_us)
    before = lost.code_us.get(code)
    if before is None or abs(ts_us - before) >= limits.group_us:
        lost.codes[code] = lost.codes.get(code, 0) + 1
    lost.code_us[code] = max(ts_us, before or 0)
    if code in ERRORS:
        if lost.logged == 0 or abs(ts_us - lost.logged_us) >= limits.group_us:
            lost.logged += 1
        lost.logged_us = max(ts_us, lost.logged_us)


def stages(gpu: GpuMemory, lost: Uncorrected, limits: LogLimits) -> dict[int, int]:
    """XID -> times, in the order of the chain."""
    codes = dict(lost.codes)
    if RECORDED not in codes and 0 < gpu.recorded_us >= lost.started_us - limits.recorded_us:
        codes[RECORDED] = 1
    return {code: codes[code] for code in STAGES if code in codes}


def is_again(gpu: GpuMemory, lost: Uncorrected, limits: LogLimits) -> bool:
    """Was there another episode on this GPU within the month before?"""
    return any(lost.started_us - limits.again_us <= start < lost.started_us for start in gpu.faults)
