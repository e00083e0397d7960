"""Incidents and orders as they stand in Kafka, read by commands, and orders written there."""

import asyncio
import difflib
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

import msgspec
from aiokafka import TopicPartition
from aiokafka.errors import KafkaError

from collectors.contract.errors import UserError
from collectors.contract.kafka import kafka_client
from collectors.contract.topic import Topic
from streams.client import Clients, read_range
from streams.contract import INCIDENTS, NODE_HEALTH, ORDERS, Incident, NodeHealth, Order
from streams.security import security

WAIT_S = 30.0
T = TypeVar("T")


def incidents() -> list[Incident]:
    """The last word on every incident that Kafka still has, by the time they opened. Raises `UserError`."""
    last: dict[tuple[str, str], Incident] = {}
    for message in _ask(lambda clients: _read(clients, INCIDENTS)):
        last[(message.cluster, message.id)] = message
    return sorted(last.values(), key=lambda i: (i.opened_us, i.id))


def orders() -> list[Order]:
    """The last order of each id. Raises `UserError`."""
    last: dict[tuple[str, str], Order] = {}
    for message in _ask(lambda clients: _read(clients, ORDERS)):
        last[(message.cluster, message.id)] = message
    return sorted(last.values(), key=lambda o: (o.ts_us, o.id))


def nodes(cluster: str) -> set[str]:
    """Nodes that were ever judged. Raises `UserError`."""
    return {message.node for message in _ask(lambda c: _read(c, NODE_HEALTH)) if message.cluster == cluster}


def healths() -> list[NodeHealth]:
    """The last word on every node, by cluster and name. Raises `UserError`."""
    last = {(m.cluster, m.node): m for m in _ask(lambda clients: _read(clients, NODE_HEALTH))}
    return [last[key] for key in sorted(last)]


def publish(order: Order) -> None:
    """Write one order; returns when Kafka has it. Raises `UserError`."""

    async def write(clients: Clients) -> None:
        producer = clients.producer()
        await producer.start()
        try:
            await producer.send_and_wait(ORDERS.name, ORDERS.encode(order), key=ORDERS.key(order).encode())
        finally:
            await producer.stop()

    _ask(write)


def find(said: str, known: Iterable[Incident]) -> Incident:
    """The incident of this id, or of the only id that begins so. Raises `UserError` that lists near ones."""
    found = list(known)
    name = said if said.startswith("inc-") else f"inc-{said}"
    alike = [i for i in found if i.id == name] or [i for i in found if i.id.startswith(name)]
    if len(alike) == 1:
        return alike[0]
    if alike:
        raise UserError(f"{said}: several incidents begin so: {', '.join(i.id for i in alike[:5])}")
    near = difflib.get_close_matches(name, [i.id for i in found], n=3)
    left = [i for i in found if i.state != "cleared" and i.id not in near]
    near += [i.id for i in reversed(left)][: 5 - len(near)]
    by_id = {i.id: i for i in found}
    hint = "; there is " + ", ".join(f"{n} ({by_id[n].cause_word})" for n in near) if near else "; there is none at all"
    raise UserError(f"{said}: no such incident{hint}")


def _ask(what: Callable[[Clients], Awaitable[T]]) -> T:
    client = kafka_client()
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # what it says, the error says again

    async def asked() -> T:
        return await asyncio.wait_for(what(Clients(client, security(client.properties))), WAIT_S)

    try:
        return asyncio.run(asked())
    except (KafkaError, OSError, TimeoutError) as why:
        raise UserError(
            f"Kafka at {client.bootstrap} does not answer: {str(why) or type(why).__name__}; is LOCKSTEP_KAFKA right?"
        ) from why


async def _read(clients: Clients, topic: Topic[Any]) -> list[Any]:
    """Every message of a topic; bytes that nobody can read are passed over: the stream rejects them."""
    there = await clients.partitions([topic.name])
    if topic.name not in there:
        raise UserError(f"no topic {topic.name}: run `lockstep topics` first")
    out: list[Any] = []
    async with clients.reader() as consumer:
        parts = [TopicPartition(topic.name, p) for p in range(there[topic.name])]
        begins, ends = await consumer.beginning_offsets(parts), await consumer.end_offsets(parts)
        async for record in read_range(consumer, {tp: (begins[tp], ends[tp]) for tp in parts}):
            try:
                if record.value is not None:
                    out.append(topic.decode(record.value))
            except msgspec.MsgspecError:
                continue
    return out
