"""Files that are read again and again: kept open, read by one system call each."""

import errno
import os
import resource
from pathlib import Path

FILE_BYTES = 4096
"""An attribute of sysfs is at most a page."""
GONE = frozenset({errno.ENODEV, errno.ENOENT, errno.ENXIO, errno.ESTALE})


class Kept:
    """Descriptors by path. Half of what the process may open at most; the rest is opened for each read."""

    def __init__(self, most: int | None = None) -> None:
        self._fds: dict[str, int] = {}
        self._most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2 if most is None else most
        self.bytes = 0
        """Read so far."""
        self.gone = False
        """A file has vanished since this was last set to false: what was listed is no longer true."""

    def __len__(self) -> int:
        return len(self._fds)

    def read(self, path: str) -> bytes | None:
        """The content without blanks at its ends; None: it cannot be read."""
        try:
            fd = self._fds.get(path)
            if fd is not None:
                return self._content(fd)
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
            if len(self._fds) < self._most:
                self._fds[path] = fd
                return self._content(fd)
            try:
                return self._content(fd)
            finally:
                os.close(fd)
        except OSError as why:
            if why.errno in GONE:
                self.gone = True
            return None

    def _content(self, fd: int) -> bytes:
        raw = os.pread(fd, FILE_BYTES, 0)
        self.bytes += len(raw)
        return raw.strip()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Forget every descriptor."""
        for fd in self._fds.values():
            os.close(fd)
        self._fds.clear()


def text_of(path: Path) -> str | None:
    """A small file that is read once; None: it is not there or cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(FILE_BYTES).decode("utf-8", "replace").strip()
    except OSError:
        return None


def names_in(folder: Path) -> list[str]:
    """What a folder holds, sorted; nothing where it is not there."""
    try:
        return sorted(path.name for path in folder.iterdir())
    except OSError:
        return []
