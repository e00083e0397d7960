"""Faults of one GPU that leave it on the bus: slow, capped, or with memory that was repaired or could not be."""

from infra.fleet.fault_kind import FaultKind

GPU_KINDS: dict[str, FaultKind] = {
    "slow_gpu": FaultKind(
        target="gpu",
        size=0.3,
        low=0.01,
        high=5.0,
        meaning="further compute of the rank on it, as a share, at a sound clock",
        expect=("gpu_slow", "slow_rank"),
        detector="straggler",
        bound="steps",
    ),
    "power_cap": FaultKind(
        target="gpu",
        size=0.4,
        low=0.02,
        high=0.8,
        meaning="share of the power limit that somebody took away",
        expect=("power_cap",),
        detector="throttle",
    ),
    "hw_slowdown": FaultKind(
        target="gpu",
        size=0.5,
        low=0.02,
        high=0.8,
        meaning="share of the SM clock lost to the hardware's slowdown, neither for heat nor by a brake",
        expect=("hw_slowdown",),
        detector="throttle",
    ),
    "row_remap": FaultKind(
        target="gpu",
        size=1.0,
        low=1.0,
        high=64.0,
        meaning="rows that wait for a reset to be remapped, for corrected errors",
        expect=("row_remap_pending",),
        detector="memory",
        bound="scrapes",
    ),
    "row_remap_failure": FaultKind(
        target="gpu",
        size=1.0,
        low=1.0,
        high=1.0,
        meaning="nothing: a row could be remapped or not",
        expect=("row_remap_failure", "xid_64"),
        detector="memory",
        bound="scrapes",
    ),
    "sram_threshold": FaultKind(
        target="gpu",
        size=1.0,
        low=1.0,
        high=1.0,
        meaning="nothing: more uncorrected errors in SRAM than a GPU may have, or not",
        expect=("sram_threshold",),
        detector="memory",
        bound="scrapes",
    ),
}
