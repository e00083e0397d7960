"""How far an import is, for a person: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from collectors.prometheus.importer import Tally
from collectors.prometheus.plan import Progress

LINE_S = 10.0


def words(progress: Progress, tally: Tally) -> str:
    """One line."""
    told = f"{tally.samples:,} samples in {tally.messages:,} messages"
    if progress.over:
        return f"done: {told}"
    share = 100.0 * progress.done() / max(1, progress.plan.steps)
    day = time.strftime("%Y-%m-%d %H:%M", time.gmtime(progress.at * progress.plan.step_s))
    return f"{share:.0f} %: hosts {progress.round + 1}/{progress.plan.rounds}, {day} UTC; {told}"


class Bar:
    """On standard error: standard output may hold the messages."""

    def __init__(
        self,
        terminal: bool | None = None,
        write: Callable[[str], object] = sys.stderr.write,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._terminal = sys.stderr.isatty() if terminal is None else terminal
        self._write = write
        self._now_s = now_s
        self._said_s = float("-inf")
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> "Bar":
        if self._terminal:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (BarColumn(), TextColumn("{task.description}"), TimeRemainingColumn())
            self._bar = Progress(*columns, console=Console(stderr=True), transient=False)
            self._task = self._bar.add_task("", total=None)
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, why: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def tell(self, progress: Progress, tally: Tally) -> None:
        """Show it."""
        text = words(progress, tally)
        if self._bar is not None:
            self._bar.update(self._task, total=progress.plan.steps, completed=progress.done(), description=text)
        elif self._now_s() - self._said_s >= LINE_S or progress.over:
            self._said_s = self._now_s()
            self._write(f"lockstep collect prometheus: {text}\n")

    def complain(self, text: str) -> None:
        """Something that goes on by itself."""
        if self._bar is not None:
            self._bar.console.print(f"lockstep collect prometheus: {text}", highlight=False, markup=False)
        else:
            self._write(f"lockstep collect prometheus: {text}\n")
