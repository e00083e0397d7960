"""Calls that may never return, each in a thread of its own."""

import asyncio
import contextlib
from collections.abc import Callable
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


def apart(name: str, work: Callable[[], T]) -> "asyncio.Future[T]":
    """What `work` returns or raises, some time. Its thread is a daemon: a driver that hangs must not keep the
    process alive, as the loop's own pool of threads would."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(set_it: Callable[[Any], None], value: Any) -> None:
        if not future.done():
            set_it(value)

    def run() -> None:
        try:
            done: tuple[Callable[[Any], None], Any] = (future.set_result, work())
        except Exception as why:  # noqa: BLE001 (whoever waits gets it)
            done = (future.set_exception, why)
        with contextlib.suppress(RuntimeError):  # the loop has gone, and with it whoever waited
            loop.call_soon_threadsafe(settle, *done)

    Thread(target=run, name=name, daemon=True).start()
    return future
