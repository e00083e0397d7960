"""Which folder a process spools to: one process, one folder, held by a lock; what a dead one left is taken over."""

import fcntl
from pathlib import Path
from typing import TextIO

LOCK = "lock"


class SpoolFolder:
    """`<base>/<name>`, or `<name>.1`, `<name>.2` ... where another process of that name runs already.

    The first process of a name also sends what stopped processes of that name left behind.
    """

    def __init__(self, base: Path, name: str) -> None:
        """Raises `OSError` when the folder cannot be made or locked."""
        self._locks: list[TextIO] = []
        number = 0
        while True:
            path = base / (name if number == 0 else f"{name}.{number}")
            if self._lock(path):
                break
            number += 1
        self.path = path
        self.left_behind = [
            other
            for other in _numbered(base, name)
            if other != path and any(other.rglob("*.seg")) and self._lock(other)
        ]
        """Folders of stopped processes, now held by this one."""

    def close(self) -> None:
        """Let go of the locks."""
        for lock in self._locks:
            lock.close()
        self._locks.clear()

    def _lock(self, path: Path) -> bool:
        path.mkdir(parents=True, exist_ok=True)
        lock = (path / LOCK).open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return False
        self._locks.append(lock)
        return True


def _numbered(base: Path, name: str) -> list[Path]:
    numbered = [p for p in base.glob(f"{name}.*") if p.name.removeprefix(name + ".").isdigit()]
    return [base / name, *sorted(numbered, key=lambda p: int(p.name.rpartition(".")[2]))]
