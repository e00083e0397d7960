"""What is remembered of a node's memory faults, GPU by GPU."""

from hashlib import blake2b
from typing import Literal

from msgspec import Struct, field

from collectors.contract.gpu import Gpu
from collectors.contract.kernel import KernelEvent
from streams.detectors.memory_columns import Seen
from streams.detectors.memory_trend import DAY_US, Trend, TrendLimits, is_trend
from streams.episodes import Episodes
from streams.successors import Slots

Level = Literal["none", "burst", "growth", "degrading", "storm"]
"""Of corrected errors: info, info, warning, critical, critical."""
LEVELS_BY_GRAVITY: tuple[Level, ...] = ("none", "burst", "growth", "degrading", "storm")
NEVER = 1 << 62
MOST_LINES = 256
MOST_PENDING = 64
WEAR_DAYS = 28
MONTH_US = 30 * DAY_US
MOST_FAULTS = 32
OWNER_SILENT_US = 300_000_000
"""After so long another source of the same counter takes over."""


class Uncorrected(Struct):
    """One episode of uncorrected errors, joined from counters and kernel log: each may lose some in a crash."""

    started_us: int
    last_us: int
    """The last sign of either; a reset after it ends the episode."""
    by_field: dict[str, float] = field(default_factory=dict)
    """Counter -> errors, or rows remapped for them."""
    counted_us: int = 0
    """The last growth of a counter; what is not later was counted already."""
    codes: dict[int, int] = field(default_factory=dict)
    """XID -> times, repeats within seconds as one."""
    code_us: dict[int, int] = field(default_factory=dict)
    logged: int = 0
    """Errors by the log: codes of one error within seconds count as one."""
    logged_us: int = 0
    energy_mj: float | None = None
    """Of the GPU after the first error; far less of it later means a reset."""

    @property
    def errors(self) -> float:
        """The larger of log and counters tells more of the truth."""
        return max(*self.by_field.values(), float(self.logged), 0.0) if self.by_field else float(self.logged)


class Wear(Struct):
    """Signs that spare rows are used up and that the driver complains: days since 1970 (UTC) -> how much."""

    corrected_rows: dict[int, float] = field(default_factory=dict)
    """Rows newly remapped for corrected errors."""
    uncorrected_rows: dict[int, float] = field(default_factory=dict)
    """Rows newly remapped for uncorrected errors."""
    banks: dict[int, float] = field(default_factory=dict)
    """Steps that memory banks went down in spare rows (of four, from all to none)."""
    notices: dict[int, int] = field(default_factory=dict)
    """XID 92."""
    counted_us: int = 0
    """The last growth of a counter; what is not later was counted already."""

    def forget(self, today: int) -> None:
        """Let go of what is older than the window."""
        for days in (self.corrected_rows, self.uncorrected_rows, self.banks, self.notices):
            for day in [d for d in days if d <= today - WEAR_DAYS]:
                del days[day]

    def is_empty(self) -> bool:
        """Is there nothing left to remember?"""
        return not (self.corrected_rows or self.uncorrected_rows or self.banks or self.notices)


class GpuMemory(Struct):
    """What is remembered of one GPU that has anything to remember."""

    levels: dict[str, float] = field(default_factory=dict)
    """Flags and counts that mean something by their height: the last reading where it was not zero."""
    uncorrected: Uncorrected | None = None
    trend: Trend | None = None
    corrected: Level = "none"
    """As last judged on a reading."""
    wear: Wear | None = None
    retired: dict[int, float] = field(default_factory=dict)
    """Days since 1970 -> pages retired for uncorrected errors, the last week."""
    faults: list[int] = field(default_factory=list)
    """Starts of the uncorrected episodes of the last 30 days that are over."""
    recorded_us: int = 0
    """The last XID 63: a row was recorded for repair."""
    reset_us: int = 0
    """The last reset that was seen: what the log says of before it is over."""
    told: str = ""
    """What was known of the uncorrected episode when it was last told."""

    def is_empty(self) -> bool:
        """Is there nothing left to remember?"""
        return not (self.levels or self.uncorrected or self.trend or self.wear or self.faults)

    def reset(self, ts_us: int) -> None:
        """A reset ends the uncorrected errors that came before it."""
        if self.uncorrected is not None and self.uncorrected.last_us < ts_us:
            self.reset_us = ts_us
            self.end()

    def end(self) -> None:
        """The uncorrected errors are over, and remembered as one fault."""
        if self.uncorrected is not None:
            self.faults = [*self.faults, self.uncorrected.started_us][-MOST_FAULTS:]
            self.uncorrected, self.told = None, ""


class Kept(Struct):
    """What outlives the process."""

    gpus: dict[str, GpuMemory] = field(default_factory=dict)
    episodes: Episodes = field(default_factory=Episodes)
    since_us: int = 0
    """The first scrape."""
    edge_us: int = 0
    """The scrape that brought the last edge: read back, it and those before it bring none."""
    lines: list[int] = field(default_factory=list)
    """Digests of the last lines of the kernel log, to know one that is delivered again."""
    fleet_per_day: float | None = None
    """Event-days a GPU-day of the fleet, as the warehouse told."""
    past_days: dict[str, int] = field(default_factory=dict)
    """UUID -> days that the warehouse knows it for, of the GPUs that have anything to remember."""


class MemoryState:
    """One node."""

    __slots__ = ("due_us", "kept", "known", "owners", "parts", "past_days", "pending", "seen", "slots")

    def __init__(self, kept: Kept | None = None) -> None:
        self.kept = kept or Kept()
        self.known = dict.fromkeys(self.kept.lines)
        self.seen: dict[str, Seen] = {}
        self.owners: dict[str, str] = {}
        """Field -> the source whose growth counts: two readers of one counter must not count it twice."""
        self.parts: dict[str, Gpu] = {}
        """PCI address and UUID -> GPU: the log names the address only."""
        self.pending: dict[int, KernelEvent] = {}
        """Lines about an address that no scrape has named yet, by their digest."""
        self.slots = Slots()
        self.past_days = dict(self.kept.past_days)
        self.due_us = 0 if kept else NEVER
        """When something may end though nothing grows."""

    def knows(self, digest: int) -> bool:
        """Was that line judged before? It is remembered."""
        if digest in self.known:
            return True
        self.known[digest] = None
        if len(self.known) > MOST_LINES:
            del self.known[next(iter(self.known))]
        return False

    def owns(self, field_id: str, source: str, ts_us: int) -> bool:
        """Does this source's growth of a field count? Another takes over from one that is silent."""
        owner = self.owners.setdefault(field_id, source)
        if owner != source and ts_us - self.seen[owner].ts_us > OWNER_SILENT_US:
            owner = self.owners[field_id] = source
        return owner == source

    def days_known(self, uuid: str, now_us: int) -> float:
        """How long a GPU is known, to this process or to the warehouse."""
        own = (now_us - self.kept.since_us) / DAY_US if self.kept.since_us else 0.0
        return max(own, float(self.past_days.get(uuid, 0)))

    def fleet_per_day(self, limits: TrendLimits) -> float:
        """Event-days a GPU-day of the fleet."""
        return limits.fleet_per_day if self.kept.fleet_per_day is None else self.kept.fleet_per_day

    def is_trending(self, gpu: GpuMemory, uuid: str, now_us: int, limits: TrendLimits) -> bool:
        """Do corrected errors keep coming?"""
        days, fleet = self.days_known(uuid, now_us), self.fleet_per_day(limits)
        return gpu.trend is not None and is_trend(gpu.trend, now_us, days, fleet, limits)


def digest_of(event: KernelEvent) -> int:
    """What makes a line of the kernel log that line."""
    said = (event.ts_us, event.kind, event.code, event.pci, event.gpu_uuid, event.raw)
    return int.from_bytes(blake2b("|".join(map(str, said)).encode(), digest_size=8).digest(), "big")
