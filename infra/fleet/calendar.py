"""What happens next: acts in the order of their times, and at one time faults before jobs before ticks."""

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from collectors.contract.job import JobEvent
from infra.fleet.step import Step

FAULTS_FIRST, THEN_JOBS, THEN_TICKS = 0, 1, 2


@dataclass(frozen=True, slots=True)
class KernelLine:
    """A line in a node's kernel log."""

    ts_us: int
    node: str
    text: str


Happening = Step | KernelLine | JobEvent
Act = Callable[[], Iterator[Happening]]


class Calendar:
    """A queue of acts; two of one time and rank come in the order in which they were entered."""

    def __init__(self) -> None:
        self._queue: list[tuple[int, int, int, Act]] = []
        self._entered = 0

    def at(self, us: int, rank: int, act: Act) -> None:
        """Enter an act."""
        self._entered += 1
        heapq.heappush(self._queue, (us, rank, self._entered, act))

    def next_us(self) -> int:
        """The time of the next act."""
        return self._queue[0][0]

    def take(self) -> tuple[int, Act]:
        """The next act, with its time."""
        us, _, _, act = heapq.heappop(self._queue)
        return us, act
