"""Files that a prolog writes and an epilog removes: one a GPU, a job a line.

The form is dcgm-exporter's (`--hpc-job-mapping-dir`): `0` for GPU 0, `2.1` for instance 1 of GPU 2; several jobs on a
GPU are all told; a job that stands twice is told once.
"""

import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from collectors.source import SourceError

LARGEST = 64 << 10
MOST_FILES = 4096
MOST_JOBS = 64
_NAME = re.compile(r"\d{1,4}(?:\.\d{1,4})?")
_JOB = re.compile(r"[^\x00-\x1f\x7f,]{1,256}")


class JobFileError(Exception):
    """Bytes that name no jobs; the text says why."""


@dataclass(frozen=True, slots=True)
class JobFile:
    """One file as it was read."""

    name: str
    raw: bytes
    written_us: int


def is_name(name: str) -> bool:
    """Is it the name of a GPU, or of an instance of one?"""
    return _NAME.fullmatch(name) is not None


def jobs_of(raw: bytes) -> tuple[str, ...]:
    """The jobs of a file, in its order; none in an empty one: the GPU is idle. Raises `JobFileError`.

    A last line without its end counts: prologs write the number by `printf` too.
    """
    if len(raw) > LARGEST:
        raise JobFileError(f"more than {LARGEST >> 10} KB: no file of a prolog's")
    try:
        lines = [line.strip() for line in raw.decode().split("\n")]
    except UnicodeDecodeError as why:
        raise JobFileError("no text") from why
    jobs = tuple(dict.fromkeys(line for line in lines if line))
    for job in jobs:
        if _JOB.fullmatch(job) is None:
            raise JobFileError("a line that is no job's name")
    if len(jobs) > MOST_JOBS:
        raise JobFileError(f"{len(jobs)} jobs on one GPU")
    return jobs


@dataclass(frozen=True, slots=True)
class Folder:
    """All files of GPUs, and what could not be read of single ones."""

    files: tuple[JobFile, ...]
    unread: tuple[str, ...] = ()


def read_folder(folder: Path) -> Folder:
    """What stands beside the files of GPUs is passed over.

    Raises `SourceError` where the folder cannot be read; whoever tells it names the folder.
    """
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if is_name(entry.name))
    except OSError as why:
        raise SourceError(f"{why.strerror}; does the prolog write there?") from why
    files: list[JobFile] = []
    unread: list[str] = []
    for name in names[:MOST_FILES]:
        try:
            found = _read(folder / name)
        except FileNotFoundError:  # the epilog has removed it
            continue
        except OSError as why:
            unread.append(f"{folder / name}: {why.strerror}")
            continue
        if found is not None:
            files.append(found)
    return Folder(tuple(files), tuple(unread))


def _read(path: Path) -> JobFile | None:
    """None: no file at all. A pipe of that name is not waited for."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        about = os.fstat(file)
        if not stat.S_ISREG(about.st_mode):
            return None
        return JobFile(path.name, os.read(file, LARGEST + 1), about.st_mtime_ns // 1000)
    finally:
        os.close(file)
