"""What is remembered of one job to notice that it hangs."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from msgspec import Struct, structs
from msgspec import field as kept_field

from collectors.contract.job import StepReport
from streams.detectors.hang_limits import HangLimits
from streams.detectors.hang_ras import Ras
from streams.detectors.hang_recorder import Recorder
from streams.detectors.roll import Roll
from streams.detectors.silence_rhythm import Rhythm
from streams.detectors.straggler_statistic import median
from streams.episodes import Episodes


class Pace(Struct):
    """How the job moves: what its deadline is made of."""

    last_us: int = 0
    """Its last sign of progress."""
    step_s: float | None = None
    phase: str = "restart"
    """Of the newest step; `saving`: a checkpoint began."""
    checkpoint_s: float = 0.0
    """Its longest checkpoint."""
    beat_us: int = 0
    """Its last heartbeat."""
    rhythm: Rhythm = kept_field(default_factory=Rhythm)
    """Gaps between the reports of one node."""
    counted_us: int = 0
    """The last RAS poll that showed ranks getting further after the last step report."""
    still_us: int = 0
    """The longest that RAS counts stood still before the job went on by itself."""

    def copy(self) -> "Pace":
        """A copy that does not move on."""
        return structs.replace(self, rhythm=Rhythm(list(self.rhythm.gaps)))

    def limit_us(self, limits: HangLimits) -> int:
        """How long no step may end."""
        limit = limits.step_most_us
        interval_us = self.rhythm.interval_us(limits)
        if interval_us is not None:
            if self.step_s is not None:
                limit = min(limit, max(limits.step_least_us, int(limits.step_gap * self.step_s * 1e6)))
            limit = max(limit, int(limits.intervals * interval_us))
        if self.phase in ("checkpoint", "saving", "restart"):
            known = self.checkpoint_s > 0 and self.phase != "restart"
            saving = int(limits.checkpoint * self.checkpoint_s * 1e6) if known else limits.checkpoint_us
            return max(limit, saving)
        if self.phase != "train":
            limit = max(limit, limits.step_most_us)
        return max(limit, int(limits.unannounced * self.checkpoint_s * 1e6))


class HangKept(Struct):
    """What outlives the process. `pace` lags behind by at most `keep_every_us`; an edge brings it up to date."""

    cluster: str = "default"
    job: str = ""
    attempt: int = 0
    reports: bool = False
    """The job has reported steps: only then is their absence silence."""
    ended_us: int | None = None
    pace: Pace = kept_field(default_factory=Pace)
    missing: list[int] = kept_field(default_factory=list)
    """Ranks of the open `rank_silent` episode."""
    blamed: list[str] = kept_field(default_factory=list)
    """Labels of the processes that the open hang names."""
    episodes: Episodes = kept_field(default_factory=Episodes)


@dataclass(slots=True)
class HangState:
    """All of one job."""

    kept: HangKept = field(default_factory=HangKept)
    pace: Pace = field(default_factory=Pace)
    now_us: int = 0
    lag_us: int = 0
    """After a restore the last word may have been so much later than what was kept."""
    muted_us: int = 0
    """After a restore: reports up to it were learned from before and only say which ranks there are."""
    resumed_us: int = 0
    """When the whole job went on after a pause: before it no single rank was missing."""
    started_us: int = 0
    nodes: dict[str, int] = field(default_factory=dict)
    """Node -> its last report."""
    seen: dict[int, int] = field(default_factory=dict)
    """Rank -> its last report."""
    step: dict[int, int] = field(default_factory=dict)
    """Rank -> its highest step."""
    beats: dict[int, int] = field(default_factory=dict)
    """Rank -> its last heartbeat."""
    beats_from_us: int = 0
    """When heartbeats came again after those of all ranks had stopped: before it none was missing."""
    listens_us: int | None = 0
    """Since when heartbeats are heard; None: it was restored, and has heard nothing yet."""
    beats_due_us: int = 0
    """Heartbeats are looked through no sooner: there may be thousands."""
    roll: Roll = field(default_factory=Roll)
    ras: Ras = field(default_factory=Ras)
    recorder: Recorder = field(default_factory=Recorder)
    oldest_us: int = 0
    """No rank was last seen before it; only ever too early, so that the scan over all ranks is rare."""

    def begin(self, attempt: int, ts_us: int) -> None:
        """Another attempt: its ranks are not known yet, and it may take long to load."""
        self.kept.attempt = attempt
        self.kept.ended_us = None
        self.kept.missing = []
        self.kept.blamed = []
        self.pace.last_us = max(self.pace.last_us, ts_us)
        self.pace.phase = "restart"
        self.pace.step_s = None
        self.pace.counted_us = 0
        self.pace.rhythm = Rhythm()
        self.nodes.clear()
        self.seen.clear()
        self.step.clear()
        self.beats.clear()
        self.beats_due_us = self.beats_from_us = 0
        self.ras = Ras()
        self.recorder = Recorder()
        self.oldest_us = self.resumed_us = 0
        self.sync()

    def sync(self) -> None:
        """Bring what is kept up to date."""
        self.kept.pace = self.pace.copy()

    def hear(self, limits: HangLimits, report: StepReport) -> None:
        """Learn from a report that is newer than the node's last."""
        before_us = self.nodes.get(report.node)
        if report.ts_us > self.muted_us:
            # A pause of the whole job teaches once, not once a node.
            if before_us is not None and before_us >= self.resumed_us:
                self.pace.rhythm.learn(limits, report.ts_us - before_us)
            if report.ts_us > self.pace.last_us + self.pace.limit_us(limits) // 2:
                self.resumed_us = report.ts_us
        self.nodes[report.node] = report.ts_us
        newest, phase = -1, self.pace.phase
        for rank, number, told in zip(report.rank, report.step, report.phase, strict=False):
            self.roll.nodes[rank] = report.node
            self.seen[rank] = max(self.seen.get(rank, 0), report.ts_us)
            self.step[rank] = max(self.step.get(rank, -1), number)
            if number >= newest:
                newest, phase = number, told
        if report.ts_us >= self.pace.last_us:
            self.pace.phase = phase
            self.pace.last_us = report.ts_us
        if report.ts_us <= self.muted_us:
            return
        for saved in report.checkpoint_s:
            if saved is not None and saved < float("inf"):
                self.pace.checkpoint_s = max(self.pace.checkpoint_s, saved)
        self._learn_step(limits, list(_train_times(report)))

    def _learn_step(self, limits: HangLimits, times: list[float]) -> None:
        if not times:
            return
        now = median(times)
        if self.pace.step_s is None:
            self.pace.step_s = now
        else:
            # A step that a hang held up must not teach that hangs are normal.
            now = min(now, 3 * self.pace.step_s)
            self.pace.step_s += limits.step_memory * (now - self.pace.step_s)


def _train_times(report: StepReport) -> Iterator[float]:
    for phase, step_s in zip(report.phase, report.step_s, strict=False):
        if phase == "train" and step_s is not None and 0 < step_s < float("inf"):
            yield step_s
