"""Faust's consumer without four tasks a message, and without a hole at the end of a recovery.

Faust hands each message to its streams in a race against the end of the flow, the consumer's stop and its crash. Nearly
always the streams have room and take the message at once: then nothing has to race.

When its Tables are recovered, Faust lets the topics be read, then goes back to what was committed, one partition after
the other, and then empties the streams' queues. What was fetched from a partition before its turn and has no committed
offset to go back to, or after its turn, was in those queues: it was lost, and nothing behind it was ever committed.
"""

from collections.abc import Coroutine, Generator, Iterable, Mapping
from types import coroutine
from typing import Any

from faust.transport.drivers import aiokafka
from faust.types import TP
from mode.services import WaitResults


class Consumer(aiokafka.Consumer):
    """Runs a message's hand-over up to its first wait; only one that waits has to race.

    Between the end of a recovery and the flow's resumption it hands over nothing.
    """

    def resume_partitions(self, tps: Iterable[TP]) -> None:
        """As Faust's, which lets the flow go on after what it does next."""
        self.stop_flow()
        super().resume_partitions(tps)

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """As Faust's, and to the beginning where nothing was committed yet; changelogs have places of their own."""
        committed = await super().seek_to_committed()
        changelogs = self.app.tables.changelog_topics
        unread = [tp for tp, offset in committed.items() if not offset and tp.topic not in changelogs]
        if unread:
            await self.seek_wait(await self.earliest_offsets(*unread))
        return committed

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
