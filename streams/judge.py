"""The detectors of one worker: states by partition, what is kept of them, and the time they are told."""

import logging
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from aiokafka import TopicPartition

from collectors.contract.message import Message
from collectors.contract.topic import Topic
from streams.bank import Bank, Slot
from streams.client import Clients
from streams.contract import FINDINGS, Finding
from streams.detector import Tick
from streams.group import Group, row_of
from streams.metrics import Metrics
from streams.mishaps import Mender
from streams.outbox import Outbox
from streams.tables import KeptTable
from streams.warmup import last_minutes, published
from streams.world import World

log = logging.getLogger("lockstep.stream")

SWEEP_S = 30.0
"""How often what has no finding (baselines) is compared with what was kept."""
IDLE_US = 6 * 3_600_000_000
"""A state that keeps nothing and heard nothing for so long is dropped."""
FORGOTTEN_US = 30 * 24 * 3_600_000_000
"""One that keeps something is dropped with it after so long: a job that never said its end, a node that was sold."""


@dataclass(slots=True)
class Judge:
    """Feeds the bank from Kafka. One detector, one key, one partition: so says the common partitioner."""

    bank: Bank
    world: World
    table: KeptTable
    outbox: Outbox
    clients: Clients
    metrics: Metrics
    group_id: str
    topics: Mapping[str, Topic[Any]]
    groups: dict[int, Group] = field(default_factory=dict)
    mender: Mender = field(init=False)

    def __post_init__(self) -> None:
        self.mender = Mender(self._kept, self.bank.standing, lambda name: self.metrics.mishaps.labels(name).inc())
        self.bank.mend = self.mender.mend

    def assign(self, partitions: set[int]) -> None:
        """The worker now owns these partition numbers; what it held of others is dropped."""
        for gone in set(self.groups) - partitions:
            group = self.groups.pop(gone)
            group.ready.set()
            for name in group.slots:
                self.bank.slots.pop(name, None)
        for new in partitions - set(self.groups):
            self.groups[new] = Group()

    async def ready(self, partition: int) -> bool:
        """Wait until a partition's states are rebuilt; False: it went to another worker."""
        while (group := self.groups.get(partition)) is not None:
            if group.ready.is_set():
                return True
            await group.ready.wait()
        return False

    def take(self, topic: Topic[Any], partition: int, offset: int, message: Message) -> list[Finding]:
        """Judge one message of a warm partition."""
        group = self.groups[partition]
        found = self.bank.feed(topic, message)
        group.own(self.bank, topic, topic.key(message))
        group.reached.next[topic.name] = offset + 1
        group.reached.seen_us[topic.name] = message.ts_us
        self._learn(topic, message)
        return found

    def skip(self, topic: Topic[Any], partition: int, offset: int) -> None:
        """A message that says nothing was read."""
        self.groups[partition].reached.next[topic.name] = offset + 1

    async def report(self, topic: str, partition: int | None = None, offset: int | None = None) -> None:
        """What detectors could not judge, to `rejected.v1`. A tick comes from no topic."""
        for mishap in self.mender.take():
            message = mishap.message
            raw = b"" if isinstance(message, Tick) else msgspec.json.encode(message)
            await self.outbox.reject(topic, partition, offset, raw, mishap.why, by=mishap.detector)

    def listeners(self, topic: Topic[Any], message: Message) -> list[Slot]:
        """The states that a message was judged by."""
        key = topic.key(message)
        names = [(detector.name, key) for detector in self.bank.readers(topic)]
        return [self.bank.slots[name] for name in names if name in self.bank.slots]

    async def publish(self, partition: int, findings: list[Finding], spoke: Iterable[Slot]) -> None:
        """Findings first, acknowledged; then what the detectors that spoke must remember of them."""
        await self.outbox.send([(FINDINGS, f) for f in findings])
        now = time.time()
        for finding in findings:
            self.metrics.delay.observe(max(0.0, now - finding.ts_us / 1e6))
        if partition in self.groups:
            await self.keep(partition, spoke)

    async def keep(self, partition: int, slots: Iterable[Slot] | None = None) -> None:
        """Write what changed of the states of a partition, or of some of them."""
        group = self.groups[partition]
        rows: dict[str, bytes | None] = {}
        for slot in list(group.slots.values() if slots is None else slots):
            name = row_of(slot)
            kept = self._to_keep(slot)
            if group.kept.get(name) != kept:
                rows[name] = kept
        if self.mender.waiting:
            await self.report("detectors", partition)
        if rows:
            group.kept.update(rows)
            await self.table.write(partition, rows)

    async def keep_all(self) -> None:
        """For the sweep and the orderly end."""
        for partition in list(self.groups):
            if partition in self.groups and self.groups[partition].ready.is_set():
                await self.keep(partition)

    async def tick(self, partition: int, ts_us: int) -> None:
        """Tell the time to the states of a warm partition."""
        group = self.groups[partition]
        spoke: list[Slot] = []
        findings = self.bank.tick(ts_us, group.slots.values(), spoke)
        if self.mender.waiting:
            await self.report("ticks", partition)
        if findings:
            await self.publish(partition, findings, spoke)

    async def told(self, topic: Topic[Any], message: Message) -> None:
        """A placement or cable, read by every worker."""
        findings = self.bank.feed(topic, message)
        if self.mender.waiting:
            await self.report(topic.name)
        if findings:
            await self.outbox.send([(FINDINGS, f) for f in findings])

    async def forget_idle(self, now_us: int) -> None:
        """Drop states of what left the fleet."""
        for partition, group in list(self.groups.items()):
            gone, rows = set[str](), dict[str, bytes | None]()
            for name, slot in list(group.slots.items()):
                if slot.latest_us == 0 and slot.looked_us == 0:
                    slot.looked_us = now_us
                idle_us = now_us - max(slot.latest_us, slot.looked_us)
                if idle_us > FORGOTTEN_US or (idle_us > IDLE_US and self._to_keep(slot) is None):
                    del group.slots[name]
                    self.bank.slots.pop(name, None)
                    gone.add(slot.key)
                    row = row_of(slot)
                    if group.kept.pop(row, None) is not None:
                        rows[row] = None
            if gone:
                group.seen = {(topic, key) for topic, key in group.seen if key not in gone}
            if rows:
                await self.table.write(partition, rows)
        self.metrics.states.set(len(self.bank.slots))

    async def warm(self) -> None:
        """Rebuild the states of new partitions: what was kept, then the last minutes, findings off."""
        cold = {p: g for p, g in self.groups.items() if not g.ready.is_set()}
        if not cold:
            return
        began = time.monotonic()
        for partition, group in cold.items():
            group.restore(self.bank, self.table.rows(partition))
        committed = await self.clients.committed(self.group_id)
        ends = {
            TopicPartition(topic, partition): committed[(topic, partition)]
            for topic in self.topics
            for partition in cold
            if (topic, partition) in committed
        }
        messages, since_ms = await last_minutes(self.clients, self.topics, ends)
        whole = len(ends) < len(cold) * len(self.topics)
        self.outbox.remember(await published(self.clients, 0 if whole or since_ms is None else since_ms))
        for partition, topic, message in messages:
            self.bank.feed(topic, message)
            cold[partition].own(self.bank, topic, topic.key(message))
            self._learn(topic, message)
            cold[partition].reached.seen_us[topic.name] = message.ts_us
        for tp, end in ends.items():
            cold[tp.partition].reached.next[tp.topic] = end
        self.mender.take()  # reported when first met
        for group in cold.values():
            group.ready.set()
        log.info("%d partitions warm: %d messages, %.1f s", len(cold), len(messages), time.monotonic() - began)

    def _learn(self, topic: Topic[Any], message: Message) -> None:
        try:
            self.world.learn(message)
        except Exception as error:  # noqa: BLE001 - what the fleet looks like stays as it was known
            self.mender.note("world", topic.key(message), message, error)

    def _kept(self, slot: Slot) -> bytes | None:
        """What was last written of a state."""
        name, row = (slot.detector.name, slot.key), row_of(slot)
        return next((g.kept.get(row) for g in self.groups.values() if name in g.slots), None)

    def _to_keep(self, slot: Slot) -> bytes | None:
        """What to write of a state; one that cannot even be kept is set back."""
        try:
            return slot.detector.keep(slot.state)
        except Exception as error:  # noqa: BLE001 - one detector's fault must not stop the others
            self.mender.mend(slot, Tick(slot.latest_us), error)
            return self._kept(slot)
