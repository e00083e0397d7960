"""The file of a cable map."""

from dataclasses import dataclass
from pathlib import Path

from collectors.contract.fabric import Link
from collectors.contract.kafka import kafka_settings
from collectors.links.forms import MapError, read_map
from collectors.source import SourceError
from collectors.whole_file import read_whole

MOST_BYTES = 256 << 20
"""A cable is some 100 bytes: a fabric of 100,000 cables is 10 MB."""

Stamp = tuple[int, int, int]
"""Time of the last write (ns), size, inode."""


@dataclass(frozen=True, slots=True)
class MapFile:
    """What a file held. `ts_us`: when it was written, which is when its links were told."""

    ts_us: int
    links: dict[str, Link]
    size: int
    """Bytes of the file."""


def read_file(path: Path) -> MapFile:
    """Raises `MapError` naming file and line."""
    try:
        raw, ts_us = read_whole(path, MOST_BYTES)
        text = raw.decode("utf-8-sig")
    except SourceError as why:
        raise MapError(str(why)) from why
    except UnicodeDecodeError as why:
        line = raw[: why.start].count(b"\n") + 1
        raise MapError(f"{path}:{line}: not UTF-8 text: {why.reason}") from why
    where = "stdin" if str(path) == "-" else str(path)
    return MapFile(ts_us, read_map(text, where, kafka_settings().cluster, ts_us), len(raw))


def stamp(path: Path) -> Stamp | None:
    """What changes when the file is written or replaced; None: it is not there."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
