"""`lockstep stream`: one Faust worker that runs all detectors, the correlator, node health and the alerts."""

import asyncio
import logging
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import faust
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import KafkaError

from collectors.contract.errors import UserError
from streams.agents import add_detector_agents, add_incident_agents
from streams.alerts import AlertBook
from streams.bank import Bank
from streams.client import Clients
from streams.contract import FINDINGS, INCIDENTS
from streams.desk import Desk
from streams.detectors.all import detectors
from streams.faust_app import partitions_of
from streams.judge import SWEEP_S, Judge
from streams.limits import load
from streams.metrics import Metrics
from streams.outbox import Outbox
from streams.pager import Pager
from streams.receivers import http_session, receivers
from streams.settings import StreamSettings
from streams.tables import KeptTable
from streams.ticks import WorkerClock
from streams.world import World
from streams.world_reader import WorldReader

log = logging.getLogger("lockstep.stream")

PROBE_S = 3.0


@dataclass(slots=True)
class Parts:
    """One worker, wired."""

    app: faust.App
    clients: Clients
    judge: Judge
    desk: Desk
    pager: Pager
    reader: WorldReader
    outbox: Outbox
    metrics: Metrics
    settings: StreamSettings
    worker: int
    clock: WorkerClock = field(default_factory=WorkerClock)
    owned: set[tuple[str, int]] = field(default_factory=set)
    settled: bool = False
    told_ready: bool = False
    swept: float = 0.0

    async def assigned(self, _app: Any, assigned: Any, **_: Any) -> None:
        """Faust's signal, before its Tables are recovered."""
        self.settled = False
        self.owned = {(tp.topic, tp.partition) for tp in assigned}
        self.judge.assign({p for t, p in self.owned if t in self.judge.topics})
        if (FINDINGS.name, 0) not in self.owned:
            self.desk.close()
        if (INCIDENTS.name, 0) not in self.owned:
            self.pager.close()

    async def heart(self) -> None:
        """Once a second: take over what was assigned, ask Kafka how far it is, tell the time."""
        while True:
            try:
                async with self.clients.reader() as consumer:
                    await self._beat(consumer)
            except (KafkaError, OSError, TimeoutError) as why:
                self.clock.missed(_now_us())
                log.warning("Kafka does not answer: %s", why or type(why).__name__)
                await asyncio.sleep(1.0)

    async def _beat(self, consumer: AIOKafkaConsumer) -> None:
        while True:
            began = asyncio.get_running_loop().time()
            await self._settle()
            await self._tick(consumer)
            pause = 1.0 if self.settled else 0.2
            await asyncio.sleep(max(0.05, pause - (asyncio.get_running_loop().time() - began)))

    async def _settle(self) -> None:
        """After Faust recovered its Tables: rebuild the short-lived states, then let the agents go on."""
        recovery = cast(Any, self.app.tables).recovery
        if self.settled or self.app.rebalancing or not recovery.completed.is_set():
            return
        owned = set(self.owned)
        self.metrics.recovering.set(1)
        await asyncio.wait_for(self.reader.ready.wait(), 60.0)
        await self.judge.warm()
        if self.owned != owned:
            return
        if (FINDINGS.name, 0) in owned and not self.desk.ready.is_set():
            await self.desk.open(self.clients, self.settings.group)
        if (INCIDENTS.name, 0) in owned and not self.pager.ready.is_set():
            self.pager.open()
        self.settled = True
        self.metrics.recovering.set(0)
        if not self.told_ready:
            self.told_ready = True
            log.info("ready: worker %d, %d partitions", self.worker, len(owned))

    async def _tick(self, consumer: AIOKafkaConsumer) -> None:
        tps = [TopicPartition(t, p) for p in self.judge.groups for t in self.judge.topics if (t, p) in self.owned]
        if (FINDINGS.name, 0) in self.owned:
            tps.append(TopicPartition(FINDINGS.name, 0))
        if not tps or not self.settled:
            return
        asked_us = _now_us()
        ends = await asyncio.wait_for(consumer.end_offsets(tps), PROBE_S)
        self.clock.heard(asked_us)
        seen = [group.reached.seen_us.values() for group in self.judge.groups.values()]
        now_us = self.clock.now(asked_us, [max(of_group) for of_group in seen if of_group])
        if now_us is None:
            return
        times: list[int | None] = []
        for partition, group in list(self.judge.groups.items()):
            if not group.ready.is_set():
                continue
            of_group = {tp.topic: end for tp, end in ends.items() if tp.partition == partition}
            of_group.pop(FINDINGS.name, None)
            ts_us = group.reached.time(of_group, now_us)
            times.append(ts_us)
            if ts_us is not None:
                await self.judge.tick(partition, ts_us)
        known = [t for t in times if t is not None]
        caught_up = self.desk.next >= ends.get(TopicPartition(FINDINGS.name, 0), 0)
        if self.desk.ready.is_set() and len(known) == len(times) and caught_up:
            await self.desk.tick(min([*known, now_us]))
        self._measure(ends)
        if asyncio.get_running_loop().time() - self.swept > SWEEP_S:
            self.swept = asyncio.get_running_loop().time()
            await self.judge.keep_all()
            await self.judge.forget_idle(now_us)

    def _measure(self, ends: dict[TopicPartition, int]) -> None:
        lag: dict[str, int] = {}
        for tp, end in ends.items():
            group = self.judge.groups.get(tp.partition)
            reached = self.desk.next if tp.topic == FINDINGS.name else 0
            if group is not None and tp.topic in self.judge.topics:
                reached = group.reached.next.get(tp.topic, 0)
            lag[tp.topic] = lag.get(tp.topic, 0) + max(0, end - reached)
        for receiver in self.pager.receivers:
            self.metrics.away.labels(receiver.name).set(receiver.is_away)
        for topic, behind in lag.items():
            self.metrics.lag.labels(topic).set(behind)


async def wire(
    app: faust.App, clients: Clients, settings: StreamSettings, state: Path, worker: int, stack: AsyncExitStack
) -> Parts:
    """Everything that a worker consists of, connected. Raises `UserError`."""
    choices = load(Path(settings.detectors)) if settings.detectors else {}
    bank = Bank(detectors(choices))
    topics = [t for t in bank.topics() if not t.compacted]
    counts = await partitions_of(clients, [*bank.topics(), FINDINGS, INCIDENTS])
    sizes = {counts[t.name] for t in topics}
    if len(sizes) != 1:
        told = ", ".join(f"{t.name} {counts[t.name]}" for t in topics)
        raise UserError(
            f"topics that detectors read together need equally many partitions, for a key to meet itself: {told}"
        )
    for single in (FINDINGS, INCIDENTS):
        if counts[single.name] != 1:
            raise UserError(f"{single.name} has {counts[single.name]} partitions; it must have one")
    width = sizes.pop()
    tables = {"detectors": width, "incidents": 1, "alerts": 1}
    await clients.make_changelogs(
        {f"{settings.group}-{name}-changelog": n for name, n in tables.items()}, FINDINGS.name
    )
    metrics, world = Metrics(), World()
    producer = clients.producer()
    await producer.start()
    stack.push_async_callback(producer.stop)
    outbox = Outbox(producer, metrics)
    judge = Judge(
        bank,
        world,
        KeptTable(app, "detectors", width),
        outbox,
        clients,
        metrics,
        settings.group,
        {t.name: t for t in topics},
    )
    desk = Desk(world, KeptTable(app, "incidents", 1), outbox, choices)
    book = AlertBook()
    pager = Pager(KeptTable(app, "alerts", 1), book)
    pager.receivers = receivers(settings, book, state, await stack.enter_async_context(http_session()))
    reader = WorldReader(clients, world, judge.told, outbox.reject)
    parts = Parts(app, clients, judge, desk, pager, reader, outbox, metrics, settings, worker)
    add_detector_agents(app, judge, outbox)
    add_incident_agents(app, desk, pager, outbox)
    signal: Any = app.on_partitions_assigned
    signal.connect(parts.assigned, weak=False)
    return parts


def _now_us() -> int:
    return time.time_ns() // 1000
