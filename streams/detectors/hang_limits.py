"""The numbers behind the hang verdicts."""

from dataclasses import dataclass

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US


@dataclass(frozen=True, slots=True, kw_only=True)
class HangLimits:
    """Limits of `HangDetector`."""

    step_gap: float = 5.0
    """A job hangs after so many of its step times without a step (EROICA calls 5 x the average blocked), ..."""
    step_least_us: int = MINUTE_US
    """... no sooner than this, ..."""
    step_most_us: int = 10 * MINUTE_US
    """... and no later, which is when PyTorch's watchdog ends the job by itself (`timeout_ms` 600000)."""
    step_memory: float = 0.1
    """Weight of the newest step time in the mean. Our own choice."""
    checkpoint: float = 3.0
    """While it saves: so many of its own longest checkpoints, ..."""
    checkpoint_us: int = 45 * MINUTE_US
    """... or this before the first; also what a start may take (nvidia-resiliency-ext: 45 min between heartbeats)."""
    unannounced: float = 1.5
    """A job may save without a word: so many of its longest checkpoints are never a hang. Our own choice."""
    intervals: float = 3.0
    """A job that reports seldom may be silent for so many of its reporting intervals. Our own choice."""
    gaps: int = 15
    """Gaps between reports remembered, of which the second longest is the interval. Our own choice."""
    learned: int = 6
    """Gaps that make an interval. Our own choice."""
    heartbeat_us: int = 90 * SECOND_US
    """Three heartbeats of 30 s, as the training client sends them: a process without one for so long is gone."""
    still_us: int = 30 * SECOND_US
    """RAS counts that have not moved for so long confirm a hang: two polls 30 s apart."""
    jitter_us: int = 3 * SECOND_US
    """By so much two polls may stand closer. Our own choice."""
    alone_us: int = 2 * MINUTE_US
    """Without a step overdue, counts that stand still and differ are a hang after so long, ..."""
    alone_unknown_us: int = 10 * MINUTE_US
    """... or, where no steps are told, after so long: a start or a checkpoint looks the same. Our own choices."""
    alone_steps: float = 2.0
    """... and so many step times, ..."""
    alone_past: float = 3.0
    """... and so many times the longest stillness after which the job went on by itself. Our own choices."""
    settle_us: int = 2 * SECOND_US
    """A poll comes as a window a communicator: it is judged so long after its own time. Our own choice."""
    dumps_us: int = 10 * SECOND_US
    """So long after the newest of the flight recorder's dumps they are judged: ranks write them one after the other.
    Our own choice."""
    dump_age_us: int = 5 * MINUTE_US
    """An operation that waited so long when it was dumped is a hang even where no step is known to be overdue.
    Our own choice."""
    update_us: int = 30 * SECOND_US
    """Least time between two updates that only name other ranks. Our own choice."""
    least_us: int = 30 * SECOND_US
    """An end that is told may be so much older than the last step. Our own choice."""
    keep_every_us: int = MINUTE_US
    """How far the durable last word may lag behind."""
    ended_grace_us: int = 10 * MINUTE_US
    """Reports of an attempt that ended so recently are its last words, not a new life. Our own choice."""
    ended_us: int = 60 * MINUTE_US
    """So long after its end nothing of a job is remembered. Our own choice."""
    forgotten_us: int = 7 * 24 * 60 * MINUTE_US
    """A job silent for so long is watched no more; its episode stays as it was told. Our own choice."""
    most_comms: int = 4096
    """Communicators of one job that are followed. Our own choice."""
    most_rows: int = 1 << 20
    """Ranks of all of them together: 10,000 ranks in a hundred communicators each. Our own choice."""
