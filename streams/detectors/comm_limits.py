"""The numbers behind the verdicts on collectives."""

from dataclasses import dataclass

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US


@dataclass(frozen=True, slots=True, kw_only=True)
class CommLimits:
    """Limits of `CommDetector`."""

    share: float = 0.6
    """A rank is late when its time is the shortest in this share of the collectives, ..."""
    collectives: int = 30
    """... over at least so many, ..."""
    waits: float = 0.1
    """... and the others' median wait is more than this share of the time. A starting point, not tested on data."""
    chance: float = 20.7
    """-ln of the probability that an even draw of 1/n brings such a share (Chernoff): one in 1e9: a job of a hundred
    communicators is looked at a million times a day. In a group of two 0.6 of 30 is chance. Our own choice."""
    late_least_us: int = 30 * SECOND_US
    """A rank must be late for so long: a tensor-parallel group has hundreds of collectives in one step. Our own
    choice."""
    settled_share: float = 0.4
    """Below this share, or ..."""
    settled_waits: float = 0.05
    """... below these waits a late rank is late no more. Our own choices."""
    most_late: int = 8
    """More late ranks than these are not a fault of ranks. Our own choice."""
    slow: float = 1.10
    """A transfer (the shortest time of all ranks) so many times its own past is slow: the effect of 10 % on which
    ByteDance (arXiv 2505.05713) and Greyhound (2410.12588) settle, ..."""
    slow_windows: int = 3
    """... in so many windows in a row."""
    settled: float = 1.05
    """Below it a slow transfer is over, in as many windows."""
    z: float = 4.0
    """The windows' mean must stand so many standard errors above the past: as for step times."""
    noise_floor: float = 0.01
    """Least noise believed, natural logarithm: as for step times."""
    window_us: int = 10 * SECOND_US
    """A window lasts so long, ..."""
    window_least: int = 3
    """... and has at least so many operations of a kind. Our own choices."""
    base_windows: int = 60
    """Windows of the own past, ..."""
    base_least: int = 6
    """... of which there must be so many. Our own choices."""
    gather_us: int = 20 * SECOND_US
    """So long after the first communicator is slow the others have shown whether they are too. Our own choice."""
    fresh_us: int = 3 * MINUTE_US
    """A communicator whose last window is older says nothing of now. Our own choice."""
    clear_score: float = 0.75
    """A node is named when so many of its communicators are slow, ..."""
    clear_groups: int = 2
    """... at least so many, and no other node has as many. Our own choices."""
    join_us: int = 60 * SECOND_US
    """Ranks write their files in their own rhythm: a collective is waited for so long. Our own choice."""
    present: float = 0.8
    """Share of a communicator's ranks that must have told of a collective, as with steps."""
    page: float = 1.10
    """A slow link that makes the job so many times slower pages; else it is a ticket. Our own choice."""
    chain: float = 2.0
    """A pipeline's stage is named when what it keeps others waiting is so many times that of any other. Our own
    choice."""
    usable_us: int = 10 * MINUTE_US
    """Step reports so recent judge late ranks better than this can. Our own choice."""
    most_comms: int = 2048
    """Communicators of one job; the one not heard for longest makes room. Our own choice."""
    most_open: int = 2048
    """Collectives of one communicator that are waited for. Our own choice."""
    most_rows: int = 1 << 20
    """What ranks said of collectives that are waited for, of a whole job. Our own choice."""
    most_joined: int = 256
    """Collectives of one communicator and window beyond which only every second, fourth, ... is looked at. Our own
    choice."""
    most_cells: int = 4096
    """Pairs of ranks that send to each other, of one communicator. Our own choice."""
    ended_us: int = 60 * MINUTE_US
    """So long after its end nothing of a job is remembered. Our own choice."""
