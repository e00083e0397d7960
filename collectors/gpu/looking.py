"""A check of a library that may hang."""

import time
from collections.abc import Callable, Iterable
from queue import Empty, Queue
from threading import Thread

from collectors.source import Sight


def seen_within(limit_s: float, look: Callable[[], Iterable[Sight]], hung: Callable[[], Sight]) -> list[Sight]:
    """What `look` sees; where it does not end in time, what it saw before, and `hung`."""
    found: Queue[Sight | None] = Queue()

    def run() -> None:
        for sight in look():
            found.put(sight)
        found.put(None)

    # A daemon: a driver that hangs must not keep the process alive.
    Thread(target=run, name="gpu-check", daemon=True).start()
    out: list[Sight] = []
    end_s = time.monotonic() + limit_s
    while True:
        try:
            sight = found.get(timeout=max(0.0, end_s - time.monotonic()))
        except Empty:
            return [*out, hung()]
        if sight is None:
            return out
        out.append(sight)
