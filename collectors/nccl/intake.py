"""Records in, windows and beats out."""

import time
from collections.abc import Iterable
from pathlib import Path

from collectors.contract.beat import Beat
from collectors.contract.topics import NCCL_WINDOWS
from collectors.nccl.folder import BadLine
from collectors.nccl.prom import Page, page_windows
from collectors.nccl.record import Lost, Record
from collectors.nccl.window import windows
from collectors.settings import collector_name
from collectors.source import Outlet

HELD = 64_000
"""Records that are held for one flush: a first look at a job that has run for days is cut into several."""


class Intake:
    """Publishes the windows of one job's folder and counts for its beat."""

    def __init__(
        self,
        outlet: Outlet,
        cluster: str,
        job: str,
        node: str | None,
        this_node: str,
        target: Path,
        instance: str | None = None,
    ) -> None:
        self._collector = collector_name("nccl-inspector", instance or job)
        self.job = job
        self._outlet = outlet
        self._cluster = cluster
        self._node = node
        self._this_node = this_node
        self._target = str(target)
        self._records: list[Record | Lost] = []
        self._messages = self._samples = self._beaten = 0

    def add(self, found: Iterable[Record | Lost | BadLine | Page]) -> None:
        """Take records and pages; bad lines are rejected with their place."""
        for one in found:
            if isinstance(one, BadLine):
                self._outlet.reject(f"nccl-inspector:{self._target}", one.raw, one.why)
            elif isinstance(one, Page):
                self._page(one)
            else:
                self._records.append(one)
        if len(self._records) >= HELD:
            self.flush()

    def flush(self) -> int:
        """Publish what is held; the number of messages so far."""
        records, self._records = self._records, []
        self._samples += len(records)
        for window in windows(records, cluster=self._cluster, job=self.job, node=self._node, this_node=self._this_node):
            self._outlet.publish(NCCL_WINDOWS, window)
            self._messages += 1
        return self._messages

    def _page(self, page: Page) -> None:
        for window in page_windows(page, cluster=self._cluster, job=self.job, node=self._node or self._this_node):
            self._outlet.publish(NCCL_WINDOWS, window)
            self._messages += 1
            self._samples += len(window.rank)

    def beat(self, began_s: float, interval_s: float, trouble: str | None, size: int = 0) -> None:
        """Report one sweep, which read `size` bytes."""
        self._outlet.beat(
            Beat(
                cluster=self._cluster,
                ts_us=time.time_ns() // 1000,
                collector=self._collector,
                source="nccl-inspector",
                target=self._target,
                ok=trouble is None,
                seconds=round(time.monotonic() - began_s, 6),
                messages=self._messages - self._beaten,
                samples=self._samples,
                bytes=size,
                interval_s=interval_s,
                error=trouble,
            )
        )
        self._beaten, self._samples = self._messages, 0
