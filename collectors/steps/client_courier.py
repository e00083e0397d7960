"""The way from a rank to its node's collector. Part of the training client.

One JSON object a datagram, over a Unix socket; the fields are in `collectors/steps/datagram.py`.
"""

import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable

RETRY_S = 1.0
KEPT = 512
"""Datagrams that wait for a collector: events always, steps only while its queue is full."""
SENT, BUSY, NOBODY = range(3)


class Courier:
    """Sends without ever waiting. `identity` opens every datagram; `greeting` is sent to each new collector.

    `dropped` counts what was lost; what has not been reported yet goes out with the next datagram.
    """

    def __init__(
        self,
        path: str,
        identity: str,
        greeting: Callable[[], str],
        heartbeat: Callable[[], str],
        heartbeat_s: float,
    ) -> None:
        self.path = path
        self.dropped = 0
        self._unsaid = 0
        self._identity = identity
        self._greeting = greeting
        self._heartbeat = heartbeat
        self._heartbeat_s = heartbeat_s
        self._start()

    def _start(self) -> None:
        """What a process has of its own: after a fork the child makes it anew and leaves the parent's alone."""
        self.pid = os.getpid()
        self._socket: socket.socket | None = None
        self._retry_at = 0.0
        self._ended = False
        self._waiting: deque[tuple[str, str]] = deque()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="lockstep-steps", daemon=True)
        if self.path:
            self._connect()
            try:
                self._thread.start()
            except RuntimeError:  # no more threads, or the interpreter is ending: steps go out all the same
                self._ended = True

    def say(self, kind: str, body: str) -> None:
        """Send now. A full queue is tried again a little later; without a collector the datagram is dropped."""
        if os.getpid() != self.pid:
            self._start()
        result = self._send(kind, body)
        if result == BUSY:
            self._keep(kind, body)
        elif result == NOBODY:
            self.lose()

    def keep(self, kind: str, body: str) -> None:
        """Send as soon as there is a collector."""
        if os.getpid() != self.pid:
            self._start()
        if self.path:
            self._keep(kind, body)

    def lose(self) -> None:
        """Count one datagram that will not arrive."""
        self.dropped += 1
        self._unsaid += 1

    def close(self) -> None:
        """Wait up to a second for what is still to be sent, where a collector listens."""
        self._ended = True
        self._wake.set()
        if self._socket is not None and self._thread.is_alive():
            self._thread.join(1.0)

    def _keep(self, kind: str, body: str) -> None:
        if len(self._waiting) >= KEPT:
            self.lose()
            return
        self._waiting.append((kind, body))
        self._wake.set()

    def _send(self, kind: str, body: str) -> int:
        here = self._socket or self._connect()
        if here is None:
            return NOBODY
        said = self._unsaid
        data = f'{{"type":"{kind}",{self._identity},"dropped":{said},{body}}}'.encode()
        try:
            here.send(data)
        except BlockingIOError:
            return BUSY
        except OSError:  # the collector has gone; a new one, if it is there, has a new socket
            self._socket = None
            return NOBODY if self._connect() is None else BUSY
        self._unsaid -= said
        return SENT

    def _connect(self) -> socket.socket | None:
        if not self.path or time.monotonic() < self._retry_at:
            return None
        here = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            here.setblocking(False)
            here.connect(self.path)
        except (OSError, ValueError):
            here.close()
            self._retry_at = time.monotonic() + RETRY_S
            return None
        self._socket = here
        self._waiting.appendleft(("hello", self._greeting()))
        self._wake.set()
        return here

    def _serve(self) -> None:
        """Heartbeats, and whatever waits. Needs nothing of the main loop."""
        wake, beat_at = self._wake, time.monotonic()
        while True:
            ended, result = self._ended, self._deliver()
            if ended and result != BUSY:
                return
            if not ended and time.monotonic() >= beat_at:
                beat_at = time.monotonic() + self._heartbeat_s
                self._send("event", self._heartbeat())
            wait_s = {SENT: self._heartbeat_s, BUSY: 0.01, NOBODY: RETRY_S}[result]
            wake.wait(max(0.0, min(wait_s, beat_at - time.monotonic())))
            wake.clear()

    def _deliver(self) -> int:
        while self._waiting:
            kind, body = self._waiting.popleft()
            result = self._send(kind, body)
            if result != SENT:
                self._waiting.appendleft((kind, body))
                return result
        return SENT
