"""A job's folder of Inspector files, read as they grow."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from collectors.nccl.record import Record, RecordError, read_record
from collectors.source import SourceError
from collectors.tail import NumberedLine, Position, Tail

PATTERN = "*.log"
"""`<hostname>-pid<PID>.log`, one file a process."""


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no record; `why` begins with file:line."""

    raw: bytes
    why: str


class Folder:
    """Files come and go; what was read of each is in `positions`, which can be kept and given to the next start."""

    def __init__(self, path: Path, positions: dict[str, Position] | None = None) -> None:
        self.path = path
        self._tails = {name: Tail(path / name, at) for name, at in (positions or {}).items()}

    def positions(self) -> dict[str, Position]:
        """How far each file has been read."""
        return {name: tail.position for name, tail in self._tails.items()}

    def read(self, *, to_end: bool = False) -> Iterator[list[Record | BadLine]]:
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
                while lines := tail.read(to_end=to_end):
                    yield [found for line in lines if (found := _read(tail.path, line)) is not None]
            except OSError as why:
                yield [BadLine(b"", f"{tail.path}: {why.strerror}")]
            if name not in names:
                del self._tails[name]


def _read(path: Path, line: NumberedLine) -> Record | BadLine | None:
    if not line.raw.strip():
        return None
    try:
        return read_record(line.raw)
    except RecordError as why:
        return BadLine(line.raw, f"{path}:{line.number}: {why}")
