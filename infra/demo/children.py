"""The demo's processes: each with its log file, none left behind."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Child:
    """One running part."""

    name: str
    process: "subprocess.Popen[bytes]"
    log: Path


class Children:
    """Starts parts with one environment, tells which died, ends them last first."""

    def __init__(self, logs: Path, env: dict[str, str]) -> None:
        self._logs = logs
        self._env = env
        self._children: list[Child] = []
        logs.mkdir(parents=True, exist_ok=True)

    def start(self, name: str, argv: Sequence[str], *, nice: int = 0) -> Child:
        """Start a part whose output goes to its log file."""
        log = self._logs / f"{name}.log"
        with log.open("ab") as out:
            process = subprocess.Popen(
                ["nice", "-n", str(nice), *argv] if nice else list(argv),
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=self._env,
                start_new_session=True,
            )
        child = Child(name, process, log)
        self._children.append(child)
        return child

    def lockstep(self, name: str, *arguments: str, nice: int = 0) -> Child:
        """Start `lockstep ARGUMENTS`."""
        return self.start(name, [sys.executable, "-m", "infra.command.main", *arguments], nice=nice)

    def run(self, name: str, argv: Sequence[str], *, nice: int = 0) -> int:
        """Run a part to its end; returns its exit status."""
        child = self.start(name, argv, nice=nice)
        code = child.process.wait()
        self._children.remove(child)
        return code

    def dead(self) -> list[tuple[str, int, str]]:
        """(name, exit status, end of its log) of parts that ended by themselves; each is told once."""
        out = []
        for child in list(self._children):
            code = child.process.poll()
            if code is not None:
                self._children.remove(child)
                out.append((child.name, code, tail(child.log)))
        return out

    def stop(self, grace_s: float = 15.0) -> None:
        """Ask all to end, the last started first, and kill what has not gone after `grace_s`."""
        for child in reversed(self._children):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.process.pid, signal.SIGTERM)
        deadline = time.monotonic() + grace_s
        for child in reversed(self._children):
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.process.wait(max(0.1, deadline - time.monotonic()))
            # What a part started itself is in its session too.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.process.pid, signal.SIGKILL)
            child.process.wait()
        self._children.clear()


def tail(log: Path, lines: int = 3) -> str:
    """The last lines of a log file."""
    try:
        return "\n".join(log.read_text(errors="replace").strip().splitlines()[-lines:])
    except FileNotFoundError:
        return ""
