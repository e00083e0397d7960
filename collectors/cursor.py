"""How far a source has been read, kept on disk over a restart."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from collectors.outlet_log import limited_logger
from collectors.source import SourceError

T = TypeVar("T")


class CursorFile(Generic[T]):
    """One value in one file, replaced whole.

    What is staged is written only once it has `settle_s` behind it: by then the outlet has its messages in
    Kafka or on disk, so a killed process repeats a few messages and loses none. A clean stop writes the last.
    """

    def __init__(self, path: Path, kind: type[T], settle_s: float, now_s: Callable[[], float] = time.monotonic) -> None:
        self.path = path
        self._kind = kind
        self._settle_s = settle_s
        self._now_s = now_s
        self._staged: list[tuple[float, T]] = []

    def load(self) -> T | None:
        """The value of the last run; None at the first. Raises `SourceError` where the file is broken."""
        try:
            return msgspec.json.decode(self.path.read_bytes(), type=self._kind)
        except FileNotFoundError:
            return None
        except OSError as why:
            raise SourceError(f"{self.path}: {why.strerror}") from why
        except msgspec.MsgspecError as why:
            raise SourceError(f"{self.path}: not a cursor ({why}); delete it to read from the start") from why

    def stage(self, value: T) -> None:
        """All messages up to `value` have been handed to the outlet. Writes what has settled."""
        self._staged.append((self._now_s(), value))
        self.settle()

    def settle(self) -> None:
        """Write what has been staged long enough; call it now and then while nothing new comes."""
        now_s = self._now_s()
        settled = [i for i, (at, _) in enumerate(self._staged) if now_s - at >= self._settle_s]
        if settled and self._written(self._staged[settled[-1]][1]):
            del self._staged[: settled[-1] + 1]
        elif settled:
            del self._staged[: settled[-1]]

    def close(self) -> None:
        """Write the last value: the outlet is closed after this and gives its messages to Kafka or to the disk."""
        if self._staged:
            self._written(self._staged[-1][1])
            self._staged.clear()

    def _written(self, value: T) -> bool:
        """False: the disk does not take it, which must not end what is read; it is tried again."""
        fresh = self.path.with_name(self.path.name + ".new")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            fresh.write_bytes(msgspec.json.encode(value))
            fresh.replace(self.path)
        except OSError as why:
            limited_logger("lockstep.collect").error(
                "%s: %s; a restart would read again what has come since it was last written", self.path, why.strerror
            )
            return False
        return True
