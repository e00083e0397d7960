"""Messages whose sender waits, with a client by hand in Kafka's place."""

import asyncio
import queue
from collections.abc import Callable
from typing import Any

from confluent_kafka import KafkaError

from collectors.contract.kernel import KernelEvent
from collectors.contract.topics import KERNEL_EVENTS
from collectors.outlet_confirm import Confirmer, Messages

REFUSED = frozenset({KafkaError.MSG_SIZE_TOO_LARGE})


class Client:
    """Stands for confluent_kafka's Producer: answers with `error` when it is polled."""

    def __init__(self, error: KafkaError | None = None, room: int = 1000) -> None:
        self.error = error
        self.room = room
        self.purged = False
        self.arrived: list[bytes] = []
        self._waiting: queue.Queue[tuple[bytes, Callable[[KafkaError | None, Any], None]]] = queue.Queue()

    def produce(self, topic: str, *, value: bytes, key: bytes, on_delivery: Callable[..., None]) -> None:
        del topic, key
        if self._waiting.qsize() >= self.room:
            raise BufferError
        self._waiting.put((value, on_delivery))

    def poll(self, timeout: float) -> int:
        try:
            value, report = self._waiting.get(timeout=timeout) if timeout else self._waiting.get_nowait()
        except queue.Empty:
            return 0
        if self.error is None:
            self.arrived.append(value)
        report(self.error, None)
        return 1

    def flush(self, timeout: float) -> int:
        del timeout
        return self.poll(0)

    def purge(self) -> None:
        self.purged = True
        self.error = KafkaError(KafkaError._PURGE_QUEUE)


def events(*codes: int) -> Messages:
    return [(KERNEL_EVENTS, KernelEvent(ts_us=1, node="n", kind="xid", code=code)) for code in codes]


def outcomes(clients: list[Client], *handed: Messages) -> tuple[list[bool], Confirmer]:
    made = iter(clients)
    confirmer = Confirmer(lambda: next(made), REFUSED)  # type: ignore[arg-type, return-value]

    async def run() -> list[bool]:
        return [await confirmer.deliver(messages) for messages in handed]

    try:
        return asyncio.run(run()), confirmer
    finally:
        confirmer.close()


def test_all_that_arrived_is_confirmed() -> None:
    client = Client()
    assert outcomes([client], events(1, 2, 3))[0] == [True]
    assert len(client.arrived) == 3


def test_one_that_did_not_arrive_leaves_all_unconfirmed() -> None:
    assert outcomes([Client(KafkaError(KafkaError._MSG_TIMED_OUT))], events(1, 2))[0] == [False]


def test_a_full_queue_is_told_at_once() -> None:
    assert outcomes([Client(room=0)], events(1))[0] == [False]


def test_what_kafka_never_takes_is_counted_and_holds_nobody_up() -> None:
    told, confirmer = outcomes([Client(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))], events(1))
    assert (told, confirmer.refused) == ([True], 1)


def test_a_client_that_cannot_go_on_is_replaced() -> None:
    broken = Client(KafkaError(KafkaError._FATAL, "out of order", fatal=True))
    sound = Client()
    assert outcomes([broken, sound], events(1), events(1))[0] == [False, True]
    assert broken.purged and len(sound.arrived) == 1


def test_nothing_to_hand_over_needs_no_kafka() -> None:
    assert outcomes([], [])[0] == [True]
