"""What the straggler detector remembers of one job."""

from collections import deque
from dataclasses import dataclass, field
from typing import Literal

from msgspec import Struct, structs
from msgspec import field as kept_field

from collectors.contract.job import Placement
from streams.detectors.straggler_groups import PeerGroup, Stage
from streams.detectors.straggler_load import EQUAL, Load, Sample
from streams.detectors.straggler_setting import Setting
from streams.detectors.straggler_steps import Entry, OpenStep, Steps
from streams.detectors.straggler_track import Track
from streams.episodes import Episodes

By = Literal["compute", "host"]
Per = Literal["token", "sample", "step"]
"""What a job's step time is divided by, as batches may grow."""


class Suspect(Struct, frozen=True):
    """A rank whose slow-down is open since a step of this attempt."""

    factor: float
    node: str | None
    since: int
    base: float | None = None
    """ln(compute) of its own past, where it has no peers."""
    sure: bool = True
    """False: one of two that parted, and nobody knows which changed."""
    by: By = "compute"
    """What is longer than the peers': its own compute, or what its host adds to the step."""
    held: bool = False
    """`base` was measured with another setting of the job, so nothing tells when it is over."""


class Kept(Struct):
    """What outlives the process; it changes with an edge, an attempt or an end, never with a plain step."""

    attempt: int = 0
    first: int | None = None
    """First step of the attempt."""
    edge_step: int = -1
    """Step that brought the last edge: what is read again up to it brings none."""
    ended_us: int | None = None
    regression_base: float | None = None
    """ln(step time) before the job slowed as a whole; None: it has not."""
    regression_since: int = -1
    regression_per: Per | None = None
    """What `regression_base` is a time of; None: as now."""
    comm: dict[int, float] = kept_field(default_factory=dict)
    """First rank of a group whose transfers take longer -> ln(transfer) before."""
    comm_since: int = -1
    comm_held: bool = False
    """As with a suspect."""
    config: str | None = None
    batch_size: int | None = None
    set_since: int = -1
    """The step of this attempt that brought one of the two."""
    suspects: dict[int, Suspect] = kept_field(default_factory=dict)
    settled: dict[int, int] = kept_field(default_factory=dict)
    """Rank -> the step in which it recovered, while that is recent."""
    episodes: Episodes = kept_field(default_factory=Episodes)


@dataclass(slots=True)
class StragglerState:
    """All of one job. Only `kept` is durable; the rest is read back from the last minutes of the topic."""

    kept: Kept = field(default_factory=Kept)
    cluster: str = "default"
    job: str = ""
    steps: Steps = field(default_factory=Steps)
    muted_step: int = -1
    """After a restore: steps up to it rebuild the statistics and say nothing."""
    placement: dict[int, Placement] = field(default_factory=dict)
    placed_us: int = -1
    restarted_us: int = -1
    reported_us: int = -1
    nodes: dict[int, str] = field(default_factory=dict)
    """Rank -> the node that last reported it."""
    groups: list[PeerGroup] = field(default_factory=list)
    grouped: tuple[int, int] = (-1, -1)
    """Count of ranks and time of the placement that the groups were made from."""
    load: Load = EQUAL
    samples: deque[list[Sample]] = field(default_factory=lambda: deque(maxlen=64))
    uneven_steps: int = 0
    """Steps since the start in which the work of peers differed, of a job whose load model rests on equal work."""
    since_open: dict[int, list[float]] = field(default_factory=dict)
    """Suspect rank -> its ratios of the last steps, only those after it became a suspect."""
    times_since: list[float] = field(default_factory=list)
    """The same of the job's step times, in a regression."""
    recent: deque[OpenStep] = field(default_factory=lambda: deque(maxlen=5))
    """The last judged steps, for evidence."""
    nodes_named: list[str] = field(default_factory=list)
    nodes_track: Track | None = None
    """The nodes, by their place in `nodes_named`, against each other."""
    times: list[float] = field(default_factory=list)
    """ln(step time) of judged steps."""
    per: Per | None = None
    """What these times are of; None: no step yet."""
    setting: Setting = field(default_factory=Setting)
    parts: list[Entry] = field(default_factory=list)
    """What a typical rank spent in the same steps."""
    dtype: str | None = None
    """In which the job computes, as it says."""
    comm_above: dict[int, list[float]] = field(default_factory=dict)
    """First rank of a group in `kept.comm` -> ln(transfer / before) of the steps since."""
    stages: deque[dict[Stage, float]] = field(default_factory=lambda: deque(maxlen=20))
    stages_first: list[dict[Stage, float]] = field(default_factory=list)
    judged: int = 0
    incomplete: int = 0
    after_break: bool = False
    checkpoints: deque[int] = field(default_factory=lambda: deque(maxlen=16))

    def begin(self, attempt: int) -> None:
        """Forget the steps of the attempt before; what is open stays open until the new one says otherwise."""
        if attempt != self.kept.attempt:
            self.kept.attempt = attempt
            self.kept.edge_step = -1
        self.kept.first = None
        self.kept.ended_us = None
        self.kept.regression_since = -1
        self.kept.comm_since = -1
        self.kept.set_since = -1
        self.kept.suspects = {r: structs.replace(s, since=-1) for r, s in self.kept.suspects.items()}
        self.kept.settled = {}
        self.since_open.clear()
        self.times_since.clear()
        self.comm_above.clear()
        now_us = self.steps.now_us
        self.steps = Steps(now_us=now_us)
        self.muted_step = -1
        self.regroup()
        self.load = EQUAL
        self.samples.clear()
        self.uneven_steps = 0
        self.recent.clear()
        self.times.clear()
        self.parts.clear()
        self.per = None
        self.setting = Setting()
        self.stages.clear()
        self.stages_first.clear()
        self.judged = 0
        self.incomplete = 0
        self.after_break = False
        self.checkpoints.clear()

    def regroup(self) -> None:
        """Make the peer groups anew before the next step is judged."""
        self.nodes_track = None
        self.groups = []
        self.grouped = (-1, -1)

    @property
    def world(self) -> int:
        """Ranks of the job, as placed or as heard."""
        return max(len(self.placement), len(self.steps.last))

    @property
    def pipelined(self) -> bool:
        """Whether the job has several pipeline stages."""
        return len({group.stage for group in self.groups}) > 1

    def node_of(self, rank: int) -> str | None:
        """Where a rank runs, by the placement or else by who reported it."""
        place = self.placement.get(rank)
        return place.node if place is not None else self.nodes.get(rank)
