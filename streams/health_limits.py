"""The limits of node health."""

from dataclasses import dataclass, field

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US
MINUTE_US = 60_000_000
VERSION = 2
"""Of the weights; told with each score. They are proposals, to be fitted on nodes that turned out bad."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthLimits:
    """A node's score is 100 less the points of its worst part; states follow score, evidence and schedulers.

    Weights are in `data/health_points.csv`, each with its source. "Published proposal": states, bands and weights
    gathered from what large fleets publish, without data to fit them on.
    """

    points: dict[str, float] = field(default_factory=dict)
    """Cause -> points, in place of the table's: `[health.points]` with `gpu_slow = 30`; 100 is a hard fault."""
    other: float = 10.0
    """Points of a soft fault that the table does not name: own choice."""
    after_hard: float = 50.0
    """What a hard fault weighs once it is over, for a part that came back has to prove itself: own choice."""
    job_failed: float = 20.0
    """Points for a job's failure that is attributed to the node (published proposal): a grave fault of the node ..."""
    grave: float = 20.0
    """... of so many points at least (own choice) ..."""
    failure_before_us: int = 10 * MINUTE_US
    """... began no longer than this before the job's end (attribution window that Meta published, HPCA '25) ..."""
    failure_after_us: int = 5 * MINUTE_US
    """... or no longer than this after it (the same window)."""
    half_life_us: int = 7 * DAY_US
    """Points of what is over fade by half in so long (published proposal), in steps of an hour."""
    forget_points: float = 0.5
    """Fewer are forgotten: own choice."""
    suspect_below: float = 80.0
    """A node with a lower score is suspect (published proposal)."""
    cordon_below: float = 50.0
    """... and with a lower one than this should take no work (published proposal)."""
    margin: float = 5.0
    """A band is left upwards only by so much (published proposal) ..."""
    dwell_us: int = 15 * MINUTE_US
    """... and after so long (published proposal)."""
    clear_us: int = DAY_US
    """A suspect node is healthy once its score was good for so long (published proposal)."""
    two_kinds_us: int = DAY_US
    """Two independent kinds of soft fault on one part within this should take it out (published proposal)."""
    unknown_after_us: int = 10 * MINUTE_US
    """A node silent for longer is unknown (published proposal)."""
    burn_in_us: int = HOUR_US
    """A node that came back is on probation after so long without a fault (published proposal)."""
    burn_in_swap_us: int = DAY_US
    """... after so long where its GPUs are others than before (published proposal)."""
    probation_us: int = 7 * DAY_US
    """... and healthy after so much longer (published proposal)."""
    returns: int = 3
    """Taken out for faults so often ..."""
    returns_us: int = 28 * DAY_US
    """... within this, a node is a candidate for retirement (published proposal)."""
    guard_share: float = 0.2
    """No more of a cluster's nodes than this are advised out at a time (published proposal) ..."""
    guard_few: int = 2
    """... but so many in a small one: own choice."""
    guard_per_hour: int = 5
    """No more nodes an hour than this are advised out (published proposal); beyond, one incident tells of all."""
    fabric_models: tuple[str, ...] = ("SXM", "HBM3", "H200", "B200", "B300", "GB200", "GB300", "V100")
    """Part of a GPU model's name: a board that works only with its NVLink fabric (names as NVML tells them) ..."""
    bridge_models: tuple[str, ...] = ("NVL", "PCIe", "PCIE")
    """... and of one that also works without: a dead NVLink there is a soft fault."""
    most_marks: int = 256
    """Faults remembered of one node; beyond, those that ended first are forgotten: own choice."""
