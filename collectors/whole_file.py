"""A file of a user's that is read whole, up to a bound."""

import sys
import time
from pathlib import Path

from collectors.source import SourceError


def read_whole(path: Path, most_bytes: int) -> tuple[bytes, int]:
    """The content and the time it was written, microseconds; `-` is standard input, now. Raises `SourceError`."""
    try:
        if str(path) == "-":
            raw, ts_us = sys.stdin.buffer.read(most_bytes + 1), time.time_ns() // 1000
        else:
            with path.open("rb") as file:
                raw, ts_us = file.read(most_bytes + 1), path.stat().st_mtime_ns // 1000
    except OSError as why:
        raise SourceError(f"{path}: {why.strerror}") from why
    if len(raw) > most_bytes:
        raise SourceError(f"{path}: more than {most_bytes >> 20} MB; give a part of it")
    return raw, ts_us
