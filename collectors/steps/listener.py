"""The Unix socket that the ranks of this node send to."""

import contextlib
import fcntl
import os
import socket
import stat
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path

from collectors.source import SourceError
from collectors.steps.datagram import MAX_BYTES

WAITING = 100_000
"""Datagrams that may wait for the next flush: 8 ranks of 1000 steps a second fill it in twelve seconds."""
WAITING_BYTES = 128 << 20
"""Of them all: a rank that sends the largest datagrams there are would fill the memory with as many."""
WAKE_AT = 2000


class Listener:
    """Owns the socket, its lock and the file that tells clients this node's name.

    A thread of its own takes datagrams off the socket: the kernel holds few (net.unix.max_dgram_qlen, 10 in a
    fresh network namespace), and eight ranks end their step together. Raises `SourceError`.
    """

    def __init__(self, path: Path, mode: int, node: str, enough: Callable[[], None]) -> None:
        self.path = path
        self._enough = enough
        self._lock = _locked(path)
        self._socket = _bound(path, mode)
        _beside(path, ".node").write_text(node + "\n")
        _beside(path, ".node").chmod(0o644)
        self._queue: deque[bytes] = deque()
        self._closing = False
        self._overflown = 0
        self._came_bytes = self._taken_bytes = 0
        """Each is changed by one thread only."""
        self._too_long: deque[bytes] = deque(maxlen=10)
        self._thread = threading.Thread(target=self._receive, name="steps-socket", daemon=True)
        self._thread.start()

    def take(self) -> tuple[list[bytes], list[bytes], int]:
        """Since the last call: the datagrams, the beginnings of too long ones, how many found the queue full."""
        queue, long = self._queue, self._too_long
        overflown, self._overflown = self._overflown, 0
        taken = [queue.popleft() for _ in range(len(queue))]
        self._taken_bytes += sum(map(len, taken))
        return (
            taken,
            [long.popleft() for _ in range(len(long))],
            overflown,
        )

    def close(self) -> None:
        """Stop listening and remove the socket; what has come can still be taken."""
        self._closing = True
        self._socket.shutdown(socket.SHUT_RD)
        self._thread.join()
        self._socket.close()
        for path in (self.path, _beside(self.path, ".node")):
            path.unlink(missing_ok=True)
        os.close(self._lock)  # its file stays: one that waits for the lock may have it open

    def _receive(self) -> None:
        buffer = bytearray(MAX_BYTES)
        view = memoryview(buffer)
        while True:
            try:
                size, _, flags, _ = self._socket.recvmsg_into([buffer], 0, socket.MSG_DONTWAIT if self._closing else 0)
            except BlockingIOError:
                return
            if size == 0 and self._closing:  # what `shutdown` wakes with; the rest of the queue follows
                continue
            if flags & socket.MSG_TRUNC:
                self._too_long.append(bytes(view[:1000]))
            elif len(self._queue) >= WAITING or self._came_bytes - self._taken_bytes >= WAITING_BYTES:
                self._overflown += 1
            else:
                self._came_bytes += size
                self._queue.append(bytes(view[:size]))
                if len(self._queue) == WAKE_AT:
                    self._enough()


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _locked(path: Path) -> int:
    """A lock that goes with the process, so a socket found under it is a dead collector's."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(_beside(path, ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as why:
        raise SourceError(
            f"--socket {path}: {why.strerror}; run with rights on {path.parent}, or name another path "
            "(the training client reads it from LOCKSTEP_STEPS_SOCKET)"
        ) from why
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as why:
        os.close(lock)
        raise SourceError(f"--socket {path}: another collector listens there; stop it or name another path") from why
    return lock


def _bound(path: Path, mode: int) -> socket.socket:
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise SourceError(f"--socket {path}: a file that is no socket stands there; name another path")
        path.unlink()
    here = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        here.bind(str(path))
        path.chmod(mode)
    except OSError as why:  # also a path longer than the 107 bytes that an address holds
        here.close()
        raise SourceError(f"--socket {path}: {why.strerror or why}") from why
    return here
