"""The log as it stands now, from a file, standard input, /dev/kmsg or the journal."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from collectors.kernel.intake import Intake
from collectors.kernel.kmsg import KmsgReader
from collectors.source import SourceError
from collectors.whole_file import bounded_lines, opened

JOURNAL = ("journalctl", "--dmesg", "--no-pager", "--output=short-iso-precise")
RECORD_BYTES = 8192
"""More than the kernel's CONSOLE_EXT_LOG_MAX: a shorter buffer makes the read fail."""


def stdin_lines() -> Iterator[bytes]:
    """Lines of standard input, as they come."""
    return bounded_lines(sys.stdin.buffer)


def read_stream(lines: Iterable[bytes], intake: Intake) -> None:
    """Every line of a stream."""
    for number, raw in enumerate(lines, start=1):
        intake.bytes += len(raw)
        intake.line(raw, number)


def read_file(path: Path, intake: Intake) -> None:
    """Every line of a file or pipe. Raises `SourceError`."""
    try:
        with opened(path) as file:
            read_stream(bounded_lines(file), intake)
    except OSError as why:
        raise SourceError(f"{path}: {why.strerror}") from why


def read_journal(intake: Intake) -> None:
    """The kernel's lines of this boot. Raises `SourceError`."""
    done = subprocess.run(JOURNAL, capture_output=True, check=False)
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise SourceError(f"journalctl: {said[-1] if said else f'exit status {done.returncode}'}")
    read_stream(done.stdout.splitlines(keepends=True), intake)


def read_kmsg(path: Path, intake: Intake, booted_us: int) -> None:
    """Every record that the ring buffer holds. Raises `SourceError`."""
    with Kmsg(path) as device:
        reader = KmsgReader(device.read)
        while records := list(reader.available()):
            for record in records:
                intake.record(record, booted_us)


class Kmsg:
    """The open device. Raises `SourceError`."""

    def __init__(self, path: Path) -> None:
        try:
            self.fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        except OSError as why:
            raise SourceError(f"{path}: {why.strerror}") from why
        self.read: Callable[[], bytes] = lambda: os.read(self.fd, RECORD_BYTES)

    def __enter__(self) -> "Kmsg":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)
