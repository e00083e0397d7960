"""What can go wrong in the simulated fleet, and what must be said of it."""

import math
from dataclasses import dataclass

from infra.fleet.fault_gpus import GPU_KINDS
from infra.fleet.fault_jobs import JOB_KINDS
from infra.fleet.fault_kind import FaultKind
from infra.fleet.fault_links import LINK_KINDS

# The default words are those of the detectors; a scenario may name others.
KINDS: dict[str, FaultKind] = {
    "thermal_throttle": FaultKind(
        target="gpu",
        size=0.4,
        low=0.02,
        high=0.8,
        meaning="share of the SM clock lost at the thermal limit",
        expect=("thermal_throttle",),
        detector="throttle",
    ),
    "clock_lock": FaultKind(
        target="gpu",
        size=0.3,
        low=0.02,
        high=0.8,
        meaning="share of the SM clock lost to a lock that was left behind, without a reason bit",
        expect=("clock_lock",),
        detector="throttle",
    ),
    "power_brake": FaultKind(
        target="rack",
        size=0.5,
        low=0.02,
        high=0.8,
        meaning="share of the SM clock lost while the rack signals the brake",
        expect=("power_brake",),
        detector="throttle",
    ),
    "ecc_growth": FaultKind(
        target="gpu",
        size=3.0,
        low=0.0001,
        high=1e5,
        meaning="corrected ECC errors a second",
        expect=("correctable_ecc_growth", "correctable_ecc_storm"),
        detector="memory",
        per_second=True,
    ),
    "ecc_uncorrectable": FaultKind(
        target="gpu",
        size=1.0,
        low=1.0,
        high=64.0,
        meaning="uncorrectable ECC errors",
        expect=("uncorrectable_ecc", "xid_48"),
        detector="memory",
        bound="scrapes",
    ),
    "xid": FaultKind(
        target="gpu",
        size=1.0,
        low=1.0,
        high=200_000.0,
        meaning="lines printed by the kernel",
        expect=(),
        detector="xid",
    ),
    "gpu_lost": FaultKind(
        target="gpu",
        size=1.0,
        low=1.0,
        high=1.0,
        meaning="nothing: a GPU is lost or not",
        expect=("xid_79", "gpu_lost"),
        detector="xid",
        bound="scrapes",
    ),
    "lossless_drop": FaultKind(
        target="port",
        size=40.0,
        low=0.01,
        high=1e6,
        meaning="packets dropped a second on the lossless queue",
        expect=("lossless_drop",),
        detector="lossless_drop",
        bound="scrapes",
        per_second=True,
    ),
    "stage_imbalance": FaultKind(
        target="stage",
        size=0.25,
        low=0.01,
        high=4.0,
        meaning="further compute of the stage, as a share",
        expect=(),
        detector="straggler",
        page=False,
    ),
    "data_imbalance": FaultKind(
        target="job",
        size=0.12,
        low=0.005,
        high=0.6,
        meaning="spread of the load from step to step and replica to replica (sigma of its logarithm)",
        expect=(),
        detector="straggler",
        page=False,
    ),
    "slow_host": FaultKind(
        target="node",
        size=0.3,
        low=0.01,
        high=5.0,
        meaning="further compute of every rank of the host, as a share",
        expect=("host_slow",),
        detector="straggler",
        bound="steps",
    ),
    "node_silent": FaultKind(
        target="node",
        size=1.0,
        low=1.0,
        high=1.0,
        meaning="nothing: a node reports or not",
        expect=("node_silent",),
        detector="silence",
    ),
    "job_hang": FaultKind(
        target="job",
        size=1.0,
        low=1.0,
        high=1.0,
        meaning="nothing: a job hangs or not",
        expect=("job_silent", "job_hang_suspected", "job_hang_confirmed", "rank_absent", "comm_hang"),
        detector="hang",
    ),
}


XID_WORDS: dict[int, tuple[str, ...]] = {
    48: ("uncorrectable_ecc",),
    64: ("row_remap_failure",),
    94: ("uncorrectable_ecc",),
    95: ("uncontained_ecc",),
    140: ("uncorrectable_ecc",),
}
"""XID code -> what else it may rightly be called."""
KINDS |= LINK_KINDS | JOB_KINDS | GPU_KINDS


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault of a scenario, with its truth. Seconds count from the scenario's start."""

    kind: str
    target: str
    from_s: float = 0.0
    to_s: float = math.inf
    size: float
    code: int | None = None
    """XID code, for kind `xid`."""
    text: str | None = None
    """What the driver prints after the code, for kind `xid`; None: the usual text of the code."""
    every_s: float = math.inf
    """It comes back after this, ..."""
    for_s: float = math.inf
    """... for this long each time."""
    expect: tuple[str, ...] = ()
    """Cause words, one of which must be named."""
    page: bool = True
    optional: bool = False
    """Too small to be held to: found or not, both are right."""
    within_s: float = 60.0
    """The page must come within this after `from_s`."""

    @property
    def name(self) -> str:
        """`kind target`, as the scoreboard shows it."""
        kind = f"xid {self.code}" if self.kind == "xid" else self.kind
        return f"{kind} {self.target}"

    def active(self, at_s: float) -> bool:
        """Whether it is at work at that second of the scenario."""
        if not self.from_s <= at_s < self.to_s:
            return False
        return self.every_s == math.inf or (at_s - self.from_s) % self.every_s < self.for_s
