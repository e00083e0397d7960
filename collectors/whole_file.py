"""A file of a user's, read within bounds: of bytes, of the length of a line, and of the wait for a pipe."""

import io
import os
import select
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from collectors.source import SourceError

WAIT_S = 30.0
"""Longest silence of a pipe that is named as a file, as a shell's `<(command)` is."""
MOST_LINE = 1 << 20
_PIECE = 1 << 20


def read_whole(path: Path, most_bytes: int) -> tuple[bytes, int]:
    """The content and the time it was written, microseconds; `-` is standard input, now. Raises `SourceError`."""
    try:
        if str(path) == "-":
            raw, ts_us = sys.stdin.buffer.read(most_bytes + 1), time.time_ns() // 1000
        else:
            with opened(path) as file:
                found = os.fstat(file.fileno())
                ts_us = found.st_mtime_ns // 1000
                if found.st_size > most_bytes:
                    raise _too_large(path, most_bytes)
                raw = file.read(most_bytes + 1)
    except OSError as why:
        raise SourceError(f"{path}: {why.strerror}") from why
    if len(raw) > most_bytes:
        raise _too_large(path, most_bytes)
    return raw, ts_us


def opened(path: Path, wait_s: float | None = None) -> BinaryIO:
    """A plain file, or a pipe that somebody writes to. Raises `OSError`; a device or a folder is an error too."""
    # Without waiting: to open a pipe that nobody writes to would take for ever.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    kind = os.fstat(descriptor).st_mode
    if stat.S_ISREG(kind):
        return os.fdopen(descriptor, "rb")
    if stat.S_ISFIFO(kind):
        return io.BufferedReader(_Pipe(descriptor, WAIT_S if wait_s is None else wait_s), _PIECE)
    os.close(descriptor)
    raise OSError(0, "is a folder" if stat.S_ISDIR(kind) else "is neither a file nor a pipe", str(path))


def bounded_lines(file: BinaryIO, most: int = MOST_LINE) -> Iterator[bytes]:
    """Its lines; a longer one comes out in pieces."""
    return iter(lambda: file.readline(most), b"")


def _too_large(path: Path, most_bytes: int) -> SourceError:
    return SourceError(f"{path}: more than {most_bytes >> 20} MiB; give a part of it")


class _Pipe(io.RawIOBase):
    """The reading end of a pipe."""

    def __init__(self, descriptor: int, wait_s: float) -> None:
        self._descriptor = descriptor
        self._wait_s = wait_s

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._descriptor

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        """As in io. Raises `OSError` where nothing comes."""
        poll = select.poll()
        poll.register(self._descriptor, select.POLLIN)
        # A pipe without a writer is no pipe at its end: it has to be waited for, and `read` would not.
        if not poll.poll(self._wait_s * 1000):
            raise OSError(0, "a pipe to which nobody writes" + (f", for {self._wait_s:g} s" if self._wait_s else ""))
        return os.readv(self._descriptor, [buffer])

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()
