"""A bare socket in the collector's place: what the training client sends."""

import json
import socket
from pathlib import Path
from typing import Any


class Ear:
    """A socket that hears datagrams."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(str(path))
        self.socket.settimeout(10)

    def next(self, kind: str) -> dict[str, Any]:
        """The next datagram of one type; heartbeats and greetings in between are passed over."""
        while True:
            found = self.any()
            if found.get("kind", found["type"]) == kind:
                return found

    def any(self) -> dict[str, Any]:
        """The next datagram."""
        found: dict[str, Any] = json.loads(self.socket.recv(1 << 18))
        return found

    def close(self) -> None:
        self.socket.close()
        self.path.unlink(missing_ok=True)
