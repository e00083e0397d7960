"""Lines in, reports, events and beats out."""

import time
from collections.abc import Callable, Iterable

from collectors.contract.beat import Beat
from collectors.contract.job import JobEvent
from collectors.contract.topics import JOB_EVENTS, JOB_STEPS
from collectors.defect import defect
from collectors.settings import collector_name
from collectors.source import Outlet
from collectors.steps.batch import StepBatch
from collectors.training_log.log import TrainingLog
from collectors.training_log.messages import Row

WINDOW_US = 10_000_000
"""Steps of an old log that share a report: readers judge by the time of a report."""


class Intake:
    """Publishes what one log says and counts for its beat. Events keep their place among the steps."""

    def __init__(
        self, log: TrainingLog, outlet: Outlet, cluster: str, job: str, target: str, instance: str | None = None
    ) -> None:
        self._collector = collector_name("training-log", instance or job)
        self.log = log
        self.job = job
        self._outlet = outlet
        self._cluster = cluster
        self._target = target
        self._batches: dict[str, StepBatch] = {}
        self._first_us = self._last_us = 0
        self.messages = self.steps = self.lines = 0
        self.bytes = 0
        """Read of the log so far; whoever reads lines counts them here."""
        self._told = (0, 0, 0)
        self._defect: str | None = None
        """Of a line since the last beat."""

    def line(self, raw: bytes, arrived_us: int | None = None) -> None:
        """One raw line."""
        self.lines += 1
        self._try(lambda: self.log.read(raw, arrived_us), raw)

    def rest(self, now_us: int | None = None) -> None:
        """What was held back for lines that did not come; with `now_us`, what may still come is waited for."""
        self._try(lambda: self.log.rest(now_us), b"")

    def flush(self) -> None:
        """Publish the steps that are held."""
        for batch in self._batches.values():
            for report in batch.take(self._last_us):
                self._outlet.publish(JOB_STEPS, report)
                self.messages += 1
        self._batches.clear()

    def beat(self, began_s: float, interval_s: float, trouble: str | None) -> None:
        """Report one sweep."""
        trouble, self._defect = self._defect or trouble, None
        messages, steps, size = self._told
        self._told = (self.messages, self.steps, self.bytes)
        self._outlet.beat(
            Beat(
                cluster=self._cluster,
                ts_us=time.time_ns() // 1000,
                collector=self._collector,
                source="training-log",
                target=self._target,
                ok=trouble is None,
                seconds=round(time.monotonic() - began_s, 6),
                messages=self.messages - messages,
                samples=self.steps - steps,
                bytes=self.bytes - size,
                interval_s=interval_s,
                error=trouble,
            )
        )

    def _try(self, read: Callable[[], Iterable[Row | JobEvent]], raw: bytes) -> None:
        try:
            self._add(read())
        except Exception as why:  # noqa: BLE001 (the lines after this one are read)
            self._defect = defect(f"training-log:{self._target}", why)
            self._outlet.reject(f"training-log:{self._target}", raw, self._defect)

    def _add(self, found: Iterable[Row | JobEvent]) -> None:
        for one in found:
            if isinstance(one, Row):
                self._row(one)
            else:
                self.flush()
                self._outlet.publish(JOB_EVENTS, one)
                self.messages += 1

    def _row(self, row: Row) -> None:
        if self._batches and row.end_us - self._first_us >= WINDOW_US:
            self.flush()
        if not self._batches:
            self._first_us = row.end_us
        self._last_us = row.end_us
        batch = self._batches.get(row.node)
        if batch is None:
            batch = self._batches[row.node] = StepBatch(self._cluster, row.node)
        batch.add(row.step)
        self.steps += 1
