"""The numbers behind the straggler verdicts, each with where it comes from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StragglerLimits:
    """Limits of `StragglerDetector`. Factors are of own compute time over that of the peers."""

    effect: float = 1.10
    """A slow-down worth a finding: ByteDance (arXiv 2505.05713) and Greyhound (2410.12588) both settle on 10 %."""
    settled: float = 1.05
    """Below it an open slow-down is over; smaller ones cannot be told from noise (Holmes, NSDI '25)."""
    settled_steps: int = 20
    """Steps whose median must be below `settled`."""
    windows: tuple[int, ...] = (3, 5, 7, 10, 14, 20, 28, 40, 60)
    """Short windows for large slow-downs, long ones for small. Those between 3, 5, 10, 20 and 40 make the verdict
    earlier, and 15 % at a noise of 0.15 needs 60: both our own choice."""
    z: float = 4.0
    """The median of a window must stand so many of its standard errors above the peers."""
    certainty: float = 5.5
    """So must the clipped mean: the median alone, of 5 or 10 steps at 4 standard errors, accuses one healthy rank
    in 50,000 windows, which is one an hour in a noisy job of 64."""
    certain_ranks: int = 64
    """Ranks of a job for which `certainty` holds. In a larger one it rises to sqrt(certainty^2 + 2 ln(ranks / this)),
    so that a job of 10,000 accuses a healthy rank no oftener. Our own choice."""
    clip: float = 3.0
    """Standard deviations at which single steps are clipped for that mean."""
    share: float = 0.8
    """Share of a window's steps that must pass half the effect: one spike is no slow-down."""
    long_steps: int = 20
    """From this window on the median itself outvotes spikes, ..."""
    long_share: float = 0.6
    """... and a noisy rank that is truly 15 % slow passes half the effect in but three of four steps."""
    noise_floor: float = 0.01
    """Least noise believed, natural logarithm."""
    noise_steps: int = 40
    """Steps before the window from which the noise is taken."""
    noise_values: int = 24
    """With fewer values before the window the noise comes from the other ranks of the window as well."""
    noise_doubt: float = 2.33
    """The noise is taken two standard errors (1.17 / sqrt(n) of itself) higher than the values say."""
    noise_growth: float = 1.5
    """Noise inside the window that is so many times what was before it counts instead: data of many lengths that set in
    would accuse healthy ranks by the noise of the quiet steps. Our own choice."""
    pair_values: int = 8
    """The same for two ranks, of whom neither can stand for the other: each counts about its own median."""
    first_steps: int = 10
    """Steps of an attempt that are never judged: compilation, caches, allocator."""
    deadline_us: int = 30_000_000
    """A step is judged so long after its first report, whoever is missing."""
    later_steps: int = 3
    """A rank that has reported so many steps further is not waited for."""
    present: float = 0.8
    """Share of a group that must have reported, else the step is not judged."""
    given_up: int = 10
    """Steps in a row that a rank may miss before it is waited for no more."""
    open_steps: int = 256
    """Most unjudged steps of one job in memory."""
    most_ranks: int = 131_072
    """Most ranks of one job that are remembered; further ones are not judged. Our own choice."""
    leap: int = 1_000
    """A step number further ahead, from few ranks, is a mistake of theirs and not where the job is."""
    rewind_us: int = 120_000_000
    """Steps that most ranks repeat so long after they were judged are a restart that nobody announced."""
    quality_steps: int = 3
    """Incomplete steps in a row before the telemetry itself is reported."""
    base_steps: int = 60
    """A series' own past, for the level shift."""
    base_least: int = 20
    """Without so much past nothing is said of a level shift."""
    shift_steps: int = 10
    """Window of the level shift: 15 alarms on 263 unmodified Megatron-LM runs, all real shifts."""
    stage_noise: float = 0.05
    """A stage imbalance is steady: noise within the stage stays below this ..."""
    data_noise: float = 0.05
    """... and an imbalance of the data is not: noise above this, and the slowest rank changes."""
    data_share: float = 0.34
    """No rank may be the slowest in more of the steps, else it is not the data."""
    data_fit: float = 0.5
    """Where the work of each rank is known, its compute time must follow it with such a correlation, else the noise is
    not the data's. Our own choice; sums over long steps reach less than the 0.98 of single microbatches."""
    data_pairs: float = 0.98
    """Where forward and backward times of each microbatch are told, they must go together so well (a rank's
    correlation): .989 to .996 with uneven sequences, .71 to .92 with a slow worker or a long last stage, in the three
    traces of ByteDance-Seed/StragglerAnalysis."""
    microbatches: int = 16
    """Microbatches of a rank that such a correlation needs. Our own choice."""
    batch_steps: int = 3
    """Steps in a row that make another batch size the job's: the last batch of an epoch is smaller. Our own choice."""
    past_ranks: int = 16
    """Ranks that left their own past at once although their peers hide it. More of them are the job's. Our choice."""
    comm_windows: tuple[int, ...] = (3, 5, 10)
    """Steps over which all members of a group transfer longer than before. Three at least: Lockstep's own rule after
    Aegis and C4, as collectives slow down together."""
    comm_least: int = 6
    """Steps of the group's own past that this needs: the shortest of many is a quiet number. Our own choice."""
    comm_ticket: float = 1.02
    """A slower transfer is worth a ticket when steps take so many times as long, ..."""
    comm_page: float = 1.10
    """... a page from here on, and a record below. Our own choice, the page at `effect`."""
    worse: float = 2.0
    """An open slow-down speaks again when its excess has grown by this."""
    host_ranks: int = 2
    """Slow ranks of one node that make the node the suspect."""
    host_nodes: int = 3
    """Nodes of a job that are needed to compare whole nodes with each other. Our own choice."""

    def share_of(self, window: int) -> float:
        """Share of the steps of a window that must pass half the effect."""
        return self.long_share if window >= self.long_steps else self.share
