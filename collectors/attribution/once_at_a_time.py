"""A call that may never return, made again and again."""

import asyncio
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from collectors.gpu.apart import apart

T = TypeVar("T")


class OnceAtATime(Generic[T]):
    """While a call hangs, as on a dead file server, no second one is made beside it."""

    def __init__(self, name: str, call: Callable[[], T], clock_s: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._call = call
        self._clock_s = clock_s
        self._running: asyncio.Future[T] | None = None
        self._since_s = 0.0

    @property
    def waited_s(self) -> float:
        """How long the call that runs has been waited for."""
        return self._clock_s() - self._since_s

    async def within(self, timeout_s: float) -> T:
        """What the call returns or raises; `TimeoutError`: it still runs."""
        if self._running is None:
            self._running, self._since_s = apart(self._name, self._call), self._clock_s()
        running = self._running
        await asyncio.wait({running}, timeout=timeout_s)
        if not running.done():
            raise TimeoutError
        self._running = None
        return running.result()
