"""The logs of one job, and what they have said."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from collectors.contract.beat import Beat
from collectors.contract.topics import JOB_PLACEMENTS, NCCL_WINDOWS
from collectors.nccl_log.line import NEEDLE, read_line
from collectors.nccl_log.membership import Membership
from collectors.settings import collector_name
from collectors.source import Outlet, SourceError
from collectors.tail import Tail


class Reading:
    """The files of one job, and what they have said."""

    def __init__(
        self,
        files: Sequence[Path],
        folder: Path | None,
        job: str,
        cluster: str,
        outlet: Outlet,
        instance: str | None = None,
    ) -> None:
        self._collector = collector_name("nccl-log", instance or job)
        self._files, self._dir, self._job, self._cluster = files, folder, job, cluster
        self._outlet = outlet
        self._tails: dict[Path, Tail] = {}
        self.membership = Membership(cluster=cluster, job=job)
        self.lines = 0
        self.bytes = 0

    def read(self, *, to_end: bool) -> Iterator[int]:
        """The rest of every file, in pieces; the number of lines of each. Raises `SourceError`."""
        needle, troubles = NEEDLE.encode(), []
        for path in [*self._files, *self._listed()]:
            tail = self._tails.setdefault(path, Tail(path))
            before = tail.bytes
            try:
                while lines := tail.read(to_end=to_end):
                    self.bytes, before = self.bytes + tail.bytes - before, tail.bytes
                    for line in lines:
                        found = read_line(line.raw.decode("utf-8", "replace")) if needle in line.raw else None
                        if found is not None:
                            self.lines += 1
                            self.membership.add(found)
                    yield len(lines)
            except OSError as why:
                troubles.append(f"{path}: {why.strerror}")
        if troubles:
            raise SourceError("; ".join(troubles[:3]))

    def tell(self, ts_us: int, *, settled: bool) -> int:
        """Publish what is new; the number of messages. A placement waits until nobody has joined for a sweep, or
        `settled` says that nobody will: ranks join one after another, and communicators too."""
        count = 0
        for window in self.membership.news(ts_us):
            self._outlet.publish(NCCL_WINDOWS, window)
            count += 1
        placed = self.membership.placement(ts_us) if settled or not count else None
        if placed is not None:
            self._outlet.publish(JOB_PLACEMENTS, placed)
            count += 1
        return count

    def beat(self, began_s: float, messages: int, interval_s: float, trouble: str | None) -> None:
        """Report one sweep."""
        self._outlet.beat(
            Beat(
                cluster=self._cluster,
                ts_us=time.time_ns() // 1000,
                collector=self._collector,
                source="nccl-log",
                target=str(self._dir or self._files[0]),
                subject=self._job,
                ok=trouble is None,
                seconds=round(time.monotonic() - began_s, 6),
                messages=messages,
                samples=self.lines,
                bytes=self.bytes,
                interval_s=interval_s,
                error=trouble,
            )
        )
        self.lines = self.bytes = 0

    def written_us(self) -> int | None:
        """When the newest of the files was written; None: there is none."""
        times = [path.stat().st_mtime_ns // 1000 for path in self._tails if path.is_file()]
        return max(times, default=None)

    def _listed(self) -> list[Path]:
        if self._dir is None:
            return []
        try:
            return sorted(path for path in self._dir.iterdir() if path.is_file())
        except OSError as why:
            raise SourceError(f"--dir {self._dir}: {why.strerror}") from why
