"""Messages on disk, first in, first out, while Kafka is away: segment files, bounded, the oldest dropped last."""

import os
import struct
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple

_HEADER = struct.Struct("<III")
"""Length of the key, length of the value, CRC-32 of both."""

CURSOR = "cursor"
SUFFIX = ".seg"


class Record(NamedTuple):
    """One message as Kafka gets it."""

    key: bytes
    value: bytes


@dataclass(slots=True)
class Segment:
    """One file: records `first` to `first + count`, in `size` bytes."""

    path: Path
    first: int
    count: int = 0
    size: int = 0


class Spool:
    """A queue in one folder, of one process. Every record has a number that never comes again.

    `first` is the oldest not yet released, `unread` the next to be taken, `end` the next to be written.
    A write is in the operating system's hands when `append` returns: a killed process loses none of it,
    a power cut what was written since the last `sync`. Files are never appended to by another process.
    """

    def __init__(self, folder: Path, limit_bytes: int, segment_bytes: int = 4 << 20) -> None:
        """Raises `OSError` when the folder cannot be made or read."""
        self.folder = folder
        self.limit_bytes = limit_bytes
        self.lost = 0
        self.damaged = 0
        self._segment_bytes = max(1, min(segment_bytes, limit_bytes // 4))
        folder.mkdir(parents=True, exist_ok=True)
        self._segments = deque(_scan(path) for path in sorted(folder.glob("*" + SUFFIX)))
        self._size = sum(s.size for s in self._segments)
        self._writing: BinaryIO | None = None
        self._loaded: tuple[Segment, bytes] | None = None
        self._offset = 0
        cursor = _read_cursor(folder)
        self.end = max([cursor, *(s.first + s.count for s in self._segments)])
        self.first = self.unread = min(self.end, max(cursor, self._segments[0].first if self._segments else 0))
        self._saved = cursor
        self._dirty = False
        self._forget_released()

    @property
    def waiting(self) -> int:
        """Records on disk that were not released."""
        return self.end - self.first

    @property
    def size_bytes(self) -> int:
        """Bytes of all segments."""
        return self._size

    def append(self, record: Record) -> int | None:
        """Write one record; its number, or None when it cannot be kept: the limit is reached, or the disk is full.

        What is on disk stays: the oldest are dropped last, since the start of a fault is in them.
        """
        data = _HEADER.pack(len(record.key), len(record.value), zlib.crc32(record.value, zlib.crc32(record.key)))
        data += record.key + record.value
        if self._size + len(data) > self.limit_bytes or not self._write(data):
            return None
        self.end += 1
        self._dirty = True
        return self.end - 1

    def take(self, limit_bytes: int) -> Iterator[tuple[int, Record]]:
        """The next unread records, at least one if there is one, numbered. A damaged one is counted as lost."""
        taken = 0
        while self._find_unread() and taken < limit_bytes:
            number = self.unread
            try:
                record = self._read_one()
            except OSError:
                self._give_up_unread()
                continue
            self.unread += 1
            if record is None:
                self.damaged += 1
                self.lost += 1
                continue
            taken += len(record.value)
            yield number, record

    def skip_unread(self) -> None:
        """Count everything written so far as taken: the caller holds it in memory."""
        self.unread = self.end

    def release(self, before: int) -> None:
        """Records below this number are safe elsewhere."""
        if before > self.first:
            self.first = before
            self._forget_released()

    def expire(self, before_s: float) -> None:
        """Give up files whose last record was written before this time of day, Unix seconds; counted as lost.

        What was taken from them is in the caller's hands and not lost. Raises `OSError`.
        """
        while self._segments:
            segment = self._segments[0]
            try:
                written_s = segment.path.stat().st_mtime
            except FileNotFoundError:
                return
            if written_s >= before_s or segment.count == 0:
                return
            after = segment.first + segment.count
            self.lost += max(0, after - max(self.unread, segment.first))
            self.unread, self.first = max(self.unread, after), max(self.first, after)
            self._remove(segment)

    def sync(self) -> Callable[[], None] | None:
        """Note how far records were released; what comes back makes the written ones survive a power cut.

        That part may take long and belongs in a thread; None when nothing was written. Raises `OSError`.
        """
        if self.first != self._saved:
            fresh = self.folder / (CURSOR + ".new")
            fresh.write_text(f"{self.first}\n")
            fresh.replace(self.folder / CURSOR)
            self._saved = self.first
        if not self._dirty or self._writing is None:
            return None
        self._dirty = False
        copy = os.dup(self._writing.fileno())

        def flush() -> None:
            try:
                os.fsync(copy)
            finally:
                os.close(copy)

        return flush

    def close(self) -> None:
        """Sync and let go of the files. Raises `OSError`."""
        flush = self.sync()
        if flush is not None:
            flush()
        if self._writing is not None:
            self._writing.close()
            self._writing = None

    def _write(self, data: bytes) -> bool:
        if self._writing is None or (self._segments[-1].size >= self._segment_bytes):
            self._rotate()
        if self._writing is None:
            return False
        segment = self._segments[-1]
        try:
            done = self._writing.write(data)
        except OSError:
            done = 0
        if done != len(data):
            os.ftruncate(self._writing.fileno(), segment.size)
            return False
        segment.count += 1
        segment.size += done
        self._size += done
        return True

    def _rotate(self) -> None:
        if self._writing is not None:
            self._writing.close()
            self._writing = None
        path = self.folder / f"{self.end:020d}{SUFFIX}"
        try:
            self._writing = path.open("wb", buffering=0)
        except OSError:
            return
        self._segments.append(Segment(path, self.end))

    def _forget_released(self) -> None:
        while self._segments and self._segments[0].first + self._segments[0].count <= self.first:
            if self._segments[0].count == 0 and self._writing is not None:
                return
            self._remove(self._segments[0])

    def _remove(self, segment: Segment) -> None:
        if self._segments[-1] is segment and self._writing is not None:
            self._writing.close()
            self._writing = None
        self._segments.popleft()
        self._size -= segment.size
        segment.path.unlink(missing_ok=True)

    def _find_unread(self) -> bool:
        """Step over numbers that no file holds any more (a damaged file), counting them; False at the end."""
        for segment in self._segments:
            if self.unread < segment.first + segment.count:
                gap = max(0, segment.first - self.unread)
                self.lost += gap
                self.damaged += gap
                self.unread += gap
                return True
        self.lost += self.end - self.unread
        self.damaged += self.end - self.unread
        self.unread = self.end
        return False

    def _give_up_unread(self) -> None:
        """A file that cannot be read any more: what is unread in it is lost."""
        segment = next(s for s in self._segments if self.unread < s.first + s.count)
        after = segment.first + segment.count
        self.lost += after - self.unread
        self.damaged += after - self.unread
        self.unread = after

    def _read_one(self) -> Record | None:
        _, data = self._load()
        key_len, value_len, crc = _HEADER.unpack_from(data, self._offset)
        start = self._offset + _HEADER.size
        middle, self._offset = start + key_len, start + key_len + value_len
        record = Record(data[start:middle], data[middle : self._offset])
        return record if zlib.crc32(record.value, zlib.crc32(record.key)) == crc else None

    def _load(self) -> tuple[Segment, bytes]:
        """The bytes of the segment that holds `unread`, with the offset set to it."""
        if self._loaded is not None:
            segment, data = self._loaded
            if segment.first <= self.unread < segment.first + segment.count and self._offset < len(data):
                return self._loaded
        segment = next(s for s in self._segments if s.first <= self.unread < s.first + s.count)
        data = segment.path.read_bytes()
        self._offset = 0
        for _ in range(self.unread - segment.first):
            key_len, value_len, _crc = _HEADER.unpack_from(data, self._offset)
            self._offset += _HEADER.size + key_len + value_len
        self._loaded = segment, data
        return self._loaded


def _scan(path: Path) -> Segment:
    """Count the whole records of a file; what a torn write left behind is not one."""
    data = path.read_bytes()
    segment = Segment(path, int(path.stem))
    while segment.size + _HEADER.size <= len(data):
        key_len, value_len, _ = _HEADER.unpack_from(data, segment.size)
        after = segment.size + _HEADER.size + key_len + value_len
        if after > len(data):
            break
        segment.size = after
        segment.count += 1
    return segment


def _read_cursor(folder: Path) -> int:
    try:
        return int((folder / CURSOR).read_text())
    except (FileNotFoundError, ValueError):
        return 0
