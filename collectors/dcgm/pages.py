"""Where a target's pages come from: HTTP or a file."""

import asyncio
from pathlib import Path
from typing import Protocol

from collectors.dcgm.client import Client, Done
from collectors.dcgm.response import MAX_BYTES
from collectors.dcgm.shared import Shared
from collectors.dcgm.targets import Target
from collectors.defect import defect
from collectors.whole_file import opened


class Pages(Protocol):
    """Where a target's pages come from."""

    def fetch(self, done: Done) -> None:
        """Ask for one."""

    def give_up(self, why: OSError) -> None:
        """End the request that runs with this error."""

    def close(self) -> None:
        """Drop everything."""


class FilePages:
    """A file, read in a thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._reading: asyncio.Task[None] | None = None
        self._done: Done | None = None

    def fetch(self, done: Done) -> None:
        """As in `Pages`."""
        self._done = done
        self._reading = asyncio.get_running_loop().create_task(self._read())

    def give_up(self, why: OSError) -> None:
        """As in `Pages`."""
        done = self._done
        self.close()
        if done is not None:
            done(why)

    def close(self) -> None:
        """As in `Pages`."""
        self._done = None
        if self._reading is not None:
            self._reading.cancel()

    async def _read(self) -> None:
        result: bytes | OSError
        try:
            result = await asyncio.to_thread(_read_file, self._path)
        except OSError as why:
            result = why
        except Exception as why:  # noqa: BLE001 (nobody waits for this task)
            result = OSError(defect(f"dcgm:{self._path}", why))
        done, self._done = self._done, None
        if done is not None:
            done(result)


def pages_of(target: Target, shared: Shared) -> Pages:
    """By HTTP, or a file."""
    if target.path is not None:
        return FilePages(target.path)
    assert target.url is not None
    return Client(target.url, shared.access, shared.buffers, shared.names)


def _read_file(path: Path) -> bytes:
    with opened(path, 0.0) as file:
        page = file.read(MAX_BYTES + 1)
    if len(page) > MAX_BYTES:
        raise OSError(f"more than {MAX_BYTES >> 20} MiB")
    return page
