"""A text file read as it grows: rotation, truncation and the unfinished last line."""

import os
import stat as modes
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from msgspec import Struct

HEAD_BYTES = 256
CHUNK_BYTES = 1 << 20


class Position(Struct, frozen=True):
    """How far a file was read. The head's checksum tells a new file from the one that was read."""

    inode: int = 0
    offset: int = 0
    line: int = 0
    head_len: int = 0
    head_crc: int = 0


@dataclass(frozen=True, slots=True)
class NumberedLine:
    """One line without its newline; `number` counts from 1."""

    number: int
    raw: bytes


class Tail:
    """Reads what is new in one file. `position` can be kept and given to another `Tail` after a restart.

    `bars`: a carriage return ends a piece too, as a progress bar never ends its line; a piece may hold several.
    """

    def __init__(self, path: Path, position: Position | None = None, *, bars: bool = False) -> None:
        self.path = path
        self._bars = bars
        self.position = position or Position()
        self.bytes = 0
        """What came out as lines, with their newlines."""
        self._known = False

    def read(self, *, to_end: bool = False) -> list[NumberedLine]:
        """The next lines, at most about 1 MiB; empty when there is nothing new or no such file.

        The last line is kept back until its newline is there; with `to_end` the end of the file ends it.
        A line of more than 1 MiB comes out in pieces. Raises `OSError` where the file cannot be read.
        """
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            stat = None
        if stat is not None and not modes.S_ISREG(stat.st_mode):
            # To open a pipe that nobody writes to would take for ever.
            raise OSError(0, "not a plain file, so it cannot be followed", str(self.path))
        at = self.position
        if self._known and stat is not None and (stat.st_ino, stat.st_size) == (at.inode, at.offset):
            return []
        self._known = True  # a kept position may be of another file with this one's number and length
        if self.position.inode and (stat is None or stat.st_ino != self.position.inode):
            lines = self._rest_of_rotated(finished=stat is not None and stat.st_size > 0)
            if lines or stat is None or stat.st_size == 0:
                return lines
            self.position = Position()
        if stat is None:
            return []
        with self.path.open("rb") as file:
            return self._next(file, to_end)

    def _rest_of_rotated(self, *, finished: bool) -> list[NumberedLine]:
        for other in self.path.parent.iterdir():
            try:
                if other.stat(follow_symlinks=False).st_ino != self.position.inode:
                    continue
                with other.open("rb") as file:
                    return self._next(file, finished) if self._same(file) else []
            except FileNotFoundError:  # a neighbour that was removed meanwhile
                continue
        return []

    def _next(self, file: BinaryIO, to_end: bool) -> list[NumberedLine]:
        if not self._same(file):
            self.position = Position()
        at = self.position
        file.seek(at.offset)
        data = file.read(CHUNK_BYTES)
        if not (to_end and len(data) < CHUNK_BYTES):
            cut = max(data.rfind(b"\n"), data.rfind(b"\r") if self._bars else -1) + 1
            data = data[: cut if cut or len(data) < CHUNK_BYTES else None]
        lines = data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        self.bytes += len(data)
        self.position = self._after(file, at.offset + len(data), at.line + len(lines))
        return [NumberedLine(at.line + 1 + i, raw) for i, raw in enumerate(lines)]

    def _same(self, file: BinaryIO) -> bool:
        """Whether `file` begins as what was read before did, and is no shorter."""
        at = self.position
        if file.seek(0, 2) < at.offset:
            return False
        file.seek(0)
        return zlib.crc32(file.read(at.head_len)) == at.head_crc

    def _after(self, file: BinaryIO, offset: int, line: int) -> Position:
        file.seek(0)
        head = file.read(min(HEAD_BYTES, offset))
        return Position(os.fstat(file.fileno()).st_ino, offset, line, len(head), zlib.crc32(head))
