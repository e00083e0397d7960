"""Calls that may block for long, in threads that keep nobody from ending."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


def aside(call: Callable[[], T], name: str) -> asyncio.Future[T]:
    """What `call` returns or raises, from a thread of its own: a pool would fill up with calls that hang."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def tell(settle: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(lambda: None if future.done() else settle())

    def run() -> None:
        try:
            found = call()
        except Exception as why:  # noqa: BLE001 (it is raised again where it is waited for)
            error = why
            tell(lambda: future.set_exception(error))
        else:
            tell(lambda: future.set_result(found))

    threading.Thread(target=run, name=name, daemon=True).start()
    return future
