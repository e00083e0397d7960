"""Many scenarios at once, a process each, and how far they are."""

import multiprocessing
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from multiprocessing.queues import SimpleQueue
from typing import IO

from infra.fleet.scenario import Scenario
from infra.play import play
from infra.scoreboard import Scoreboard
from streams.detectors.all import Choice

LOOK_S = 0.2
"""How often the line on the terminal is written anew."""
BAR = 30
"""Characters."""


class Line:
    """One line on a terminal: how much of all is done. Elsewhere nothing."""

    def __init__(self, out: IO[str], costs: Mapping[int, float]) -> None:
        self._out = out
        self._live = out.isatty()
        self._costs = costs
        self._whole = sum(costs.values()) or 1.0
        self._done: dict[int, float] = {}
        self._shown = 0.0

    def hear(self, place: int, share: float, name: str) -> None:
        """That share of one scenario is played."""
        self._done[place] = share
        now = time.monotonic()
        if not self._live or (share < 1.0 and now - self._shown < LOOK_S):
            return
        self._shown = now
        done = sum(self._costs[place] * share for place, share in self._done.items()) / self._whole
        full = round(done * BAR)
        whole = sum(share >= 1.0 for share in self._done.values())
        bar = "#" * full + "-" * (BAR - full)
        self._out.write(f"\r\x1b[K[{bar}] {done:4.0%}  {whole}/{len(self._costs)} scenarios  {name}")
        self._out.flush()

    def end(self) -> None:
        """Leave no trace."""
        if self._live:
            self._out.write("\r\x1b[K")
            self._out.flush()


def play_all(scenarios: Sequence[Scenario], choices: Mapping[str, Choice], jobs: int, out: IO[str]) -> list[Scoreboard]:
    """The scoreboards in the order of the scenarios; the costly ones are begun first."""
    costs = {place: cost(scenario) for place, scenario in enumerate(scenarios)}
    line = Line(out, costs)
    order = sorted(costs, key=lambda place: -costs[place])
    try:
        if jobs <= 1 or len(scenarios) == 1:
            return [_here(place, scenario, choices, line) for place, scenario in enumerate(scenarios)]
        return _in_processes(scenarios, choices, min(jobs, len(scenarios)), order, line)
    finally:
        line.end()


def cost(scenario: Scenario) -> float:
    """About how long it takes to play, in no unit: scraped GPUs and steps of ranks."""
    scrapes = len(scenario.layout.gpu_by_name) * scenario.seconds / scenario.interval_s
    steps = sum(len(plan.nodes) * scenario.layout.gpus * scenario.seconds / plan.step_s for plan in scenario.jobs)
    return scrapes + 2.0 * steps + scenario.seconds


def _here(place: int, scenario: Scenario, choices: Mapping[str, Choice], line: Line) -> Scoreboard:
    board = play(scenario, lambda share: line.hear(place, share, scenario.name), choices)
    line.hear(place, 1.0, scenario.name)
    return board


def _in_processes(
    scenarios: Sequence[Scenario], choices: Mapping[str, Choice], jobs: int, order: Sequence[int], line: Line
) -> list[Scoreboard]:
    context = multiprocessing.get_context("spawn")
    told: SimpleQueue[tuple[int, float]] = context.SimpleQueue()
    boards: dict[int, Scoreboard] = {}
    with ProcessPoolExecutor(jobs, context, _listen, (told,)) as pool:
        running = {pool.submit(_there, place, scenarios[place], choices): place for place in order}
        try:
            while running:
                done, _ = wait(running, LOOK_S, FIRST_COMPLETED)
                while not told.empty():
                    place, share = told.get()
                    line.hear(place, share, scenarios[place].name)
                for future in done:
                    place = running.pop(future)
                    boards[place] = future.result()
                    line.hear(place, 1.0, scenarios[place].name)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [boards[place] for place in range(len(scenarios))]


_ears: "list[SimpleQueue[tuple[int, float]]]" = []
"""In a player's process: who hears how far it is."""


def _listen(told: "SimpleQueue[tuple[int, float]]") -> None:
    _ears.append(told)


def _there(place: int, scenario: Scenario, choices: Mapping[str, Choice]) -> Scoreboard:
    """In a process of its own: play, and say now and then how far."""
    last_s = time.monotonic()

    def progress(share: float) -> None:
        nonlocal last_s
        now = time.monotonic()
        if now - last_s >= 1.0:
            last_s = now
            for ear in _ears:
                ear.put((place, share))

    return play(scenario, progress, choices)
