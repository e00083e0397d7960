"""Putting the steps of a job together again: nodes report apart, in any order, some never."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from collectors.contract.job import StepReport
from streams.detectors.straggler_limits import StragglerLimits

_ENDLESS = float("inf")


class Entry(NamedTuple):
    """One rank's one step, seconds. `compute_s` None: the rank reported, but not its own compute time."""

    compute_s: float | None
    wait_s: float | None
    step_s: float | None
    tokens: int | None
    sum_sq_len: int | None
    transfer_s: float | None = None
    data_s: float | None = None
    cpu_s: float | None = None


COMPUTE, WAIT, STEP, _, _, TRANSFER, DATA, CPU = range(len(Entry._fields))
"""Positions in an `Entry`."""


@dataclass(slots=True)
class OpenStep:
    """A step that is still coming in."""

    first_us: int
    last_us: int
    train: bool = True
    entries: dict[int, Entry] = field(default_factory=dict)
    microbatches: dict[int, tuple[list[float], list[float]]] = field(default_factory=dict)
    """Rank -> forward and backward times, until they are judged."""
    configs: set[str] = field(default_factory=set)
    """What its ranks say it ran with: one word, or they do not agree."""
    batch_sizes: set[int] = field(default_factory=set)
    """In the same way, the global batch size."""
    passed: int = 0
    """Ranks, in the order in which they were first heard, that need not be waited for: each is asked once."""


@dataclass(slots=True)
class Steps:
    """The unjudged steps of one attempt."""

    open: dict[int, OpenStep] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)
    """Rank -> its highest step: the ranks that this attempt is known to have."""
    order: list[int] = field(default_factory=list)
    """The same ranks as they came."""
    absent: dict[int, int] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)
    repeated: set[int] = field(default_factory=set)
    first: int | None = None
    floor: int = -1
    """The last judged step: what is not above it comes too late."""
    floor_us: int = 0
    now_us: int = 0

    def take(self, limits: StragglerLimits, report: StepReport) -> bool:
        """Add a report. The first word of a (rank, step) counts. True: the job has gone back in its steps."""
        count = len(report.rank)
        saves = _readable(report.checkpoint_s, count)
        cells = zip(*(_readable(getattr(report, name), count) for name in Entry._fields), strict=True)
        told = zip(report.rank, report.step, report.phase, saves, cells, strict=False)
        for rank, number, phase, saved, row in told:
            if number < 0:
                continue
            known = self.last.get(rank)
            if known is None and len(self.last) >= limits.most_ranks:
                continue
            if known is None:
                self.order.append(rank)
            if known is None or number > known:
                self.last[rank] = number
            self.gone.discard(rank)
            if self.first is None or number < self.first:
                self.first = number
            if number <= self.floor:
                if report.ts_us > self.floor_us + limits.rewind_us:
                    self.repeated.add(rank)
                continue
            step = self.open.get(number)
            if step is None:
                step = self.open[number] = OpenStep(report.ts_us, report.ts_us)
            if rank in step.entries:
                continue
            step.first_us = min(step.first_us, report.ts_us)
            step.last_us = max(step.last_us, report.ts_us)
            step.train = step.train and phase == "train" and (saved is None or saved == 0)
            step.entries[rank] = Entry._make(row)
        if report.config_hash is not None or report.global_batch_size or report.microbatch_forward_s:
            self._take_further(report)
        return len(self.repeated) * 2 > len(self.last) - len(self.gone)

    def _take_further(self, report: StepReport) -> None:
        """What few reports hold, of the steps that are still open."""
        count = len(report.rank)
        sizes, forward, backward = (
            [*column[:count], *([None] * (count - len(column)))]
            for column in (report.global_batch_size, report.microbatch_forward_s, report.microbatch_backward_s)
        )
        for rank, number, size, f, b in zip(report.rank, report.step, sizes, forward, backward, strict=False):
            step = self.open.get(number)
            if step is None or rank not in step.entries:
                continue
            if report.config_hash is not None:
                step.configs.add(report.config_hash)
            if size is not None and size > 0:
                step.batch_sizes.add(size)
            if f is not None and b is not None:
                step.microbatches.setdefault(rank, (f, b))

    def due(self, limits: StragglerLimits, now_us: int) -> Iterator[tuple[int, OpenStep, int]]:
        """Close, in order, every step that is complete or out of time: (number, step, event time)."""
        self.now_us = max(self.now_us, now_us)
        while self.open:
            number = min(self.open)
            step = self.open[number]
            deadline_us = step.first_us + limits.deadline_us
            if self._complete(limits, number, step):
                closed_us = step.last_us
            elif self.now_us >= deadline_us:
                closed_us = deadline_us
            elif len(self.open) > limits.open_steps:
                closed_us = step.last_us
            else:
                return
            del self.open[number]
            many = len(step.entries) >= limits.present * (len(self.last) - len(self.gone))
            if many or 0 <= self.floor < number <= self.floor + limits.leap:
                self._leave(limits, number, step, closed_us)
            yield number, step, max(self.floor_us, closed_us)

    def _complete(self, limits: StragglerLimits, number: int, step: OpenStep) -> bool:
        if len(step.entries) >= len(self.last) - len(self.gone):
            return True
        enough = number + limits.later_steps
        while step.passed < len(self.order):
            if self._blocks(self.order[step.passed], enough, step):
                return False
            step.passed += 1
        return True

    def _blocks(self, rank: int, enough: int, step: OpenStep) -> bool:
        return rank not in step.entries and rank not in self.gone and self.last[rank] < enough

    def _leave(self, limits: StragglerLimits, number: int, step: OpenStep, closed_us: int) -> None:
        self.floor = number
        self.floor_us = max(self.floor_us, closed_us)
        self.repeated.clear()
        if len(step.entries) == len(self.last) and not self.absent:
            return
        for rank in self.last:
            if rank in step.entries:
                self.absent.pop(rank, None)
            elif rank not in self.gone:
                self.absent[rank] = self.absent.get(rank, 0) + 1
                if self.absent[rank] >= limits.given_up:
                    del self.absent[rank]
                    self.gone.add(rank)


def _readable(column: Sequence[float | None], count: int) -> Sequence[float | None]:
    """The column with `count` cells: None where it is too short or holds no length of time."""
    if not column:
        return [None] * count
    kept = [value if value is not None and 0 <= value < _ENDLESS else None for value in column[:count]]
    return kept if len(kept) == count else [*kept, *([None] * (count - len(kept)))]
