"""When each target is read."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass

from collectors.dcgm.sweep import Sweep
from collectors.dcgm.targets import Target

STEP_S = 0.1
"""Moments are this far apart, so that the pages of a large fleet come in handfuls: waking up for each costs more
than reading it."""


@dataclass(slots=True, eq=False)
class _Turn:
    target: Target
    sweep: Sweep
    dropped: bool = False


class Rota:
    """Each target at its own moment of the interval. One that still runs when its time comes is left to end."""

    def __init__(self, interval_s: float, make: Callable[[Target], Sweep]) -> None:
        self._interval_s = interval_s
        self._make = make
        self._turns: dict[str, _Turn] = {}
        self._due: list[tuple[float, int, _Turn]] = []
        self._running: set[Sweep] = set()
        self._made = 0

    def follow(self, targets: dict[str, Target], now_s: float, wall_s: float) -> None:
        """These targets from now on; those that stay as they were keep their connection.

        `now_s` is a clock that never jumps, `wall_s` the time of day, from which moments are told once.
        """
        for name, turn in list(self._turns.items()):
            if targets.get(name) != turn.target:
                del self._turns[name]
                turn.dropped = True
                turn.sweep.close()
                self._running.discard(turn.sweep)
        for name, target in targets.items():
            if name not in self._turns:
                turn = self._turns[name] = _Turn(target, self._make(target))
                wait_s = (target.offset_s(self._interval_s) - wall_s) % self._interval_s
                self._made += 1
                heapq.heappush(self._due, (now_s + wait_s, self._made, turn))

    def step(self, now_s: float) -> None:
        """Start what is due, end what takes too long. Turns keep to their grid; those that are past are skipped."""
        self._running = {sweep for sweep in self._running if sweep.runs}
        for sweep in list(self._running):
            sweep.check()
        while self._due and self._due[0][0] <= now_s:
            due_s, number, turn = heapq.heappop(self._due)
            if turn.dropped:
                continue
            missed = (now_s - due_s) // self._interval_s
            heapq.heappush(self._due, (due_s + self._interval_s * (missed + 1.0), number, turn))
            turn.sweep.start()
            self._running.add(turn.sweep)
