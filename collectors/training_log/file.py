"""A log file: as it stands, and what its times are counted from where its lines have none."""

import sys
from collections.abc import Iterator
from datetime import tzinfo
from pathlib import Path

from collectors.source import SourceError
from collectors.tail import Tail
from collectors.training_log.line import read_lines
from collectors.training_log.log import TrainingLog

WALKED = "the log has no times: these are the file's last change less the durations printed since"
PIECE_BYTES = 1 << 20


def lines(path: Path) -> Iterator[bytes]:
    """Every finished line: one that is cut off could be read as a smaller number. Raises `SourceError`."""
    if path.exists() and not path.is_file():
        raise SourceError(f"--file {path}: not a regular file; pipe it to `--file -`")
    if not path.exists():
        raise SourceError(f"--file {path}: no such file")
    tail = Tail(path, bars=True)
    try:
        while found := tail.read():
            for line in found:
                yield line.raw
    except OSError as why:
        raise SourceError(f"--file {path}: {why.strerror}") from why


def stdin_lines() -> Iterator[bytes]:
    """Lines of standard input as they come; a longer one than 1 MiB comes in pieces."""
    while raw := sys.stdin.buffer.readline(PIECE_BYTES):
        if raw.endswith(b"\n"):
            yield raw[:-1]


def since(path: Path, fresh: TrainingLog, zone: tzinfo | None) -> tuple[int, str | None]:
    """When the log began, Unix microseconds: by its first stamp, else by its last change; less the durations printed
    before. The text says so where it is by the last change. `fresh` reads along. Raises `SourceError`."""
    for raw in lines(path):
        stamp_us = next((line.ts_us for line in read_lines(raw, zone) if line.ts_us is not None), None)
        if stamp_us is not None:
            return max(0, stamp_us - fresh.kept.clock_us), None
        fresh.read(raw)
    return max(0, path.stat().st_mtime_ns // 1000 - fresh.kept.clock_us), WALKED
