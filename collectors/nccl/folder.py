"""A job's folder of Inspector files, read as they grow."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from collectors.nccl.prom import Page, gpu_of, read_page
from collectors.nccl.record import Lost, Record, RecordError, read_record
from collectors.source import SourceError
from collectors.tail import NumberedLine, Position, Tail
from collectors.whole_file import opened

PATTERN = "*.log"
"""`<hostname>-pid<PID>.log`, one file a process."""
PAGES = "nccl_inspector_metrics_*.prom"
"""Prometheus mode: one file a GPU, written anew every half minute or more, line by line, and removed at the end."""
QUIET_US = 1_000_000
"""A page that was written to less than so long ago may not be whole yet."""
MOST_PAGE_BYTES = 16 << 20

Found = Record | Lost | Page


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no record; `why` begins with file:line."""

    raw: bytes
    why: str


class Folder:
    """Files come and go; what was read of each is in `positions`, which can be kept and given to the next start."""

    def __init__(
        self,
        path: Path,
        positions: dict[str, Position] | None = None,
        now_us: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self.path = path
        self._now_us = now_us
        self.bytes = 0
        """Read so far."""
        self._pages: dict[str, int] = {}
        """File name -> when what was read of it was written."""
        self._tails = {name: Tail(path / name, at) for name, at in (positions or {}).items()}

    def positions(self) -> dict[str, Position]:
        """How far each file has been read."""
        return {name: tail.position for name, tail in self._tails.items()}

    def read(self, *, to_end: bool = False) -> Iterator[list[Found | BadLine]]:
        """All that is new, in pieces of about 1 MiB. The unfinished last line of a file waits for its end.

        With `to_end` it is read as it stands. Raises `SourceError` where the folder cannot be read.
        """
        try:
            names = sorted(file.name for file in self.path.glob(PATTERN)) if self.path.is_dir() else None
        except OSError as why:
            raise SourceError(f"--dir {self.path}: {why.strerror}") from why
        if names is None:
            raise SourceError(f"--dir {self.path}: no such folder")
        for name in names:
            if name not in self._tails:
                self._tails[name] = Tail(self.path / name)
        for name in list(self._tails):
            tail = self._tails[name]
            try:
                before = tail.bytes
                while lines := tail.read(to_end=to_end):
                    self.bytes, before = self.bytes + tail.bytes - before, tail.bytes
                    yield [found for line in lines if (found := read_raw(tail.path, line)) is not None]
            except OSError as why:
                yield [BadLine(b"", f"{tail.path}: {why.strerror}")]
            if name not in names:
                del self._tails[name]
        pages = {path.name: path for path in self.path.glob(PAGES)}
        self._pages = {name: at for name, at in self._pages.items() if name in pages}
        for name in sorted(pages):
            if page := self._page(pages[name], to_end):
                yield page

    def _page(self, path: Path, to_end: bool) -> list[Found | BadLine]:
        """A page that was written since it was last read, once it is quiet or, with `to_end`, as it stands."""
        try:
            written_us = path.stat().st_mtime_ns // 1000
            quiet = to_end or self._now_us() - written_us >= QUIET_US
            if self._pages.get(path.name) == written_us or not quiet:
                return []
            with opened(path, 0.0) as file:
                raw = file.read(MOST_PAGE_BYTES + 1)
        except FileNotFoundError:
            return []
        except OSError as why:
            return [BadLine(b"", f"{path}: {why.strerror}")]
        self._pages[path.name] = written_us
        self.bytes += len(raw)
        if len(raw) > MOST_PAGE_BYTES:
            return [BadLine(b"", f"{path}: more than {MOST_PAGE_BYTES >> 20} MB")]
        page = read_page(raw.decode("utf-8", "replace"), ts_us=written_us, gpu_uuid=gpu_of(path.name))
        return [page, *(BadLine(line.encode(), f"{path}:{number}: {why}") for number, line, why in page.bad)]


def read_raw(path: Path, line: NumberedLine) -> Record | Lost | BadLine | None:
    """One line of a process's file; None for a blank one."""
    if not line.raw.strip():
        return None
    try:
        return read_record(line.raw)
    except RecordError as why:
        return BadLine(line.raw, f"{path}:{line.number}: {why}")
