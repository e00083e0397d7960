"""Faust's consumer without four tasks a message.

Faust hands each message to its streams in a race against the end of the flow, the consumer's stop and its crash. Nearly
always the streams have room and take the message at once: then nothing has to race.
"""

from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any

from faust.transport.drivers import aiokafka
from mode.services import WaitResults


class Consumer(aiokafka.Consumer):
    """Runs a message's hand-over up to its first wait; only one that waits has to race."""

    async def wait_first(self, *coros: Any, timeout: Any = None) -> WaitResults:
        """As Faust's: `coros` are the hand-over and the wait for the flow's end where there are two."""
        if len(coros) != 2 or timeout is not None or not isinstance(coros[0], Coroutine):
            return await super().wait_first(*coros, timeout=timeout)
        handing, flow_ends = coros
        try:
            waits_for = handing.send(None)
        except StopIteration as done:
            flow_ends.close()
            return WaitResults([handing], [done.value], False)
        return await super().wait_first(rest(handing, waits_for), flow_ends)


class Transport(aiokafka.Transport):
    """Faust's, with that consumer."""

    Consumer = Consumer


async def rest(begun: Coroutine[Any, Any, Any], waits_for: Any) -> Any:
    """What is left of a coroutine that was begun by hand and waits for something."""
    return await _go_on(begun, waits_for)


@coroutine
def _go_on(begun: Coroutine[Any, Any, Any], waits_for: Any) -> Generator[Any, Any, Any]:
    """The rest of a coroutine that somebody began: what it waits for is waited for here."""
    error: BaseException | None = None
    value: Any = None
    while True:
        try:
            value, error = (yield waits_for), None
        except BaseException as raised:  # noqa: BLE001 - it is the coroutine's to handle
            error = raised
        try:
            waits_for = begun.send(value) if error is None else begun.throw(error)
        except StopIteration as done:
            return done.value
