"""A folder into which ranks write their dumps, all at once, when a collective hangs."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from collectors.flight_recorder.bounds import CutError, DumpError
from collectors.flight_recorder.dump import read_dump
from collectors.flight_recorder.recorded import Dump
from collectors.flight_recorder.unpickle import BOUNDS
from collectors.source import SourceError

_RANK = re.compile(r"([0-9]{1,7})(?:\.(?:json|pkl|pickle|bin))?")


class Stamp(Struct, frozen=True):
    """What changes when a file is written again."""

    inode: int
    size: int
    mtime_us: int


@dataclass(frozen=True, slots=True)
class Found:
    """One rank's file."""

    path: Path
    rank: int
    stamp: Stamp


@dataclass(frozen=True, slots=True)
class Bad:
    """A file that is no dump; `cut`: its end may still come."""

    raw: bytes
    why: str
    cut: bool = False


def list_dumps(folder: Path, prefix: str) -> Iterator[Found]:
    """The files of the folder that are named as dumps, by rank. Raises `SourceError` where it cannot be read."""
    try:
        entries = sorted(folder.iterdir())
    except OSError as why:
        raise SourceError(f"--dir {folder}: {why.strerror}") from why
    found = []
    for path in entries:
        rank = _RANK.fullmatch(path.name.removeprefix(prefix)) if path.name.startswith(prefix) else None
        stamp = _stamp(path) if rank is not None else None
        if rank is not None and stamp is not None:
            found.append(Found(path, int(rank[1]), stamp))
    yield from sorted(found, key=lambda one: one.rank)


def read_file(path: Path) -> Dump | Bad:
    """One file, whole. A special file or one that is too long is not read."""
    try:
        if not path.is_file():
            return Bad(b"", f"{path}: not a plain file")
        with path.open("rb") as file:
            raw = file.read(BOUNDS.bytes + 1)
    except OSError as why:
        return Bad(b"", f"{path}: {why.strerror}")
    try:
        dump = read_dump(raw)
    except DumpError as why:
        return Bad(raw, f"{path}: {why}", cut=isinstance(why, CutError))
    dump.size = len(raw)
    return dump


def _stamp(path: Path) -> Stamp | None:
    try:
        told = path.stat()
    except OSError:  # removed since the folder was listed
        return None
    return Stamp(told.st_ino, told.st_size, told.st_mtime_ns // 1000)
