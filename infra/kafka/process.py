"""Processes and ports of this machine."""

import contextlib
import os
import socket
import threading
import time
from pathlib import Path


def send(pid: int, number: int) -> None:
    """Send a signal; a process that is gone already is no error."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def gone_within(pid: int, seconds: float) -> bool:
    """Whether a process ends, with all its threads, within `seconds`."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while time.monotonic() < deadline:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
        try:
            # A leader that is a zombie may still have threads that hold the port.
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0]
            if state in "ZX" and len(list(Path(f"/proc/{pid}/task").iterdir())) <= 1:
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        pause.wait(0.05)
    return False


def in_use(port: int) -> bool:
    """Whether somebody listens on a port of loopback."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """A port of loopback that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
