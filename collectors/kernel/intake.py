"""Lines in, events and beats out."""

import time
from collections.abc import Callable

from collectors.contract.beat import Beat
from collectors.contract.kernel import KernelEvent
from collectors.contract.topics import KERNEL_EVENTS
from collectors.defect import defect
from collectors.kernel.fact import UnreadableLine
from collectors.kernel.kmsg import KmsgGap, KmsgRecord
from collectors.kernel.log import KernelLog
from collectors.settings import collector_name
from collectors.source import Outlet

LONGEST_LINE = 64 << 10
"""The kernel prints a line of 1 KiB at most, and no log daemon's frame around it is longer; the rest is none."""


class Intake:
    """Publishes the events of one log and counts for its beat. `target` names the log."""

    def __init__(
        self, log: KernelLog, outlet: Outlet, target: str, cluster: str, node: str, instance: str | None = None
    ) -> None:
        self._log = log
        self._outlet = outlet
        self._target = target
        self._cluster = cluster
        self._node = node
        self._collector = collector_name("kernel", instance)
        self.events = 0
        self._beaten = 0
        self._lines = 0
        self.bytes = 0
        """Read of the log so far; whoever reads lines counts them here."""
        self._told_bytes = 0
        self._defect: str | None = None
        """Of a line since the last beat."""
        self.newest_us = 0
        """The time of the newest event."""
        self.skip_until_us: int | None = None
        """Events up to this time were published by an earlier run."""

    def line(self, raw: bytes, number: int | None = None) -> None:
        """One line of text; `number` is where it stands in its file."""
        self._lines += 1
        where = "" if number is None else f"line {number}: "
        text = raw[:LONGEST_LINE].decode("utf-8", "replace").rstrip("\r\n")
        self._try(lambda: self._log.read(text), raw, where)

    def record(self, record: KmsgRecord | KmsgGap | bytes, boot_us: int) -> None:
        """One record of /dev/kmsg."""
        if isinstance(record, bytes):
            self.bytes += len(record)
            self._outlet.reject(f"kernel:{self._target}", record, "not a kmsg record")
            return
        ts_us = boot_us + record.since_boot_us
        if isinstance(record, KmsgGap):
            self._publish(
                KernelEvent(
                    cluster=self._cluster,
                    node=self._node,
                    ts_us=ts_us,
                    kind="gap",
                    detail=f"{record.records} records were overwritten before they were read",
                )
            )
            return
        self.bytes += record.size
        for text in record.lines:
            self._lines += 1
            self._try(lambda text=text: self._log.read_record(ts_us, text), text.encode(), "")  # type: ignore[misc]

    def beat(self, began_s: float, interval_s: float | None, error: str | None = None) -> None:
        """Report what came since the last beat."""
        error, self._defect = self._defect or error, None
        self._outlet.beat(
            Beat(
                cluster=self._cluster,
                ts_us=time.time_ns() // 1000,
                collector=self._collector,
                source="kernel",
                target=self._target,
                subject=self._node,
                ok=error is None,
                seconds=round(time.monotonic() - began_s, 6),
                messages=self.events - self._beaten,
                samples=self._lines,
                bytes=self.bytes - self._told_bytes,
                interval_s=interval_s,
                error=error,
            )
        )
        self._beaten, self._lines, self._told_bytes = self.events, 0, self.bytes

    def _try(self, read: Callable[[], KernelEvent | None], raw: bytes, where: str) -> None:
        try:
            event = read()
        except UnreadableLine as why:
            self._outlet.reject(f"kernel:{self._target}", raw, f"{where}{why}")
            return
        except Exception as why:  # noqa: BLE001 (the lines after this one are read)
            self._defect = defect(f"kernel:{self._target}", why)
            self._outlet.reject(f"kernel:{self._target}", raw, f"{where}{self._defect}")
            return
        if event is not None and (self.skip_until_us is None or event.ts_us > self.skip_until_us):
            self._publish(event)

    def _publish(self, event: KernelEvent) -> None:
        self._outlet.publish(KERNEL_EVENTS, event)
        self.events += 1
        self.newest_us = max(self.newest_us, event.ts_us)
