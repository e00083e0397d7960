"""Datagrams in, reports, events and beats out."""

import time
from collections.abc import Callable

from collectors.contract.beat import Beat
from collectors.contract.job import JobEvent
from collectors.contract.topics import JOB_EVENTS, JOB_PLACEMENTS, JOB_STEPS
from collectors.defect import defect
from collectors.settings import collector_name
from collectors.source import Outlet
from collectors.steps.batch import StepBatch
from collectors.steps.datagram import DatagramError, EventDatagram, HelloDatagram, StepDatagram, read_datagram
from collectors.steps.life import JobLife


class Intake:
    """What one node's ranks sent. Steps of a flush go into one report a job; events keep their place among them."""

    def __init__(
        self,
        cluster: str,
        node: str,
        target: str,
        outlet: Outlet,
        now_us: Callable[[], int],
        instance: str | None = None,
    ) -> None:
        self._collector = collector_name("steps", instance)
        self._cluster = cluster
        self._node = node
        self._target = target
        self._outlet = outlet
        self._now_us = now_us
        self._batch = StepBatch(cluster, node)
        self._life = JobLife(cluster, node)
        self._messages = self._steps = self._dropped = self._overflown = self._bytes = 0
        self._busy_s = 0.0
        self._defect: str | None = None
        """Of a datagram since the last beat."""

    def take(self, datagrams: list[bytes], too_long: list[bytes], overflown: int) -> None:
        """Everything that came since the last flush, and publish it."""
        began_s = time.perf_counter()
        self._bytes += sum(map(len, datagrams)) + sum(map(len, too_long))
        for raw in too_long:
            self._outlet.reject(f"steps:{self._target}", raw, "longer than any datagram of the training client")
        self._overflown += overflown
        now_us = self._now_us()
        for raw in datagrams:
            try:
                self._one(raw, now_us)
            except DatagramError as why:
                self._outlet.reject(f"steps:{self._target}", raw, str(why))
            except Exception as why:  # noqa: BLE001 (the datagrams after this one are read)
                self._defect = defect(f"steps:{self._target}", why)
                self._outlet.reject(f"steps:{self._target}", raw, self._defect)
        self._publish_steps(now_us)
        self._busy_s += time.perf_counter() - began_s

    def beat(self, interval_s: float) -> None:
        """Report what came since the last beat, and what the ranks had to drop."""
        lost, broken = [], self._defect
        self._defect = None
        if self._dropped:
            lost.append(f"{self._dropped} datagrams were dropped by clients")
        if self._overflown:
            lost.append(f"{self._overflown} datagrams came faster than they could be read")
        self._outlet.beat(
            Beat(
                cluster=self._cluster,
                ts_us=self._now_us(),
                collector=self._collector,
                source="steps",
                target=self._target,
                subject=self._node,
                ok=broken is None,
                seconds=round(self._busy_s, 6),
                messages=self._messages,
                samples=self._steps,
                bytes=self._bytes,
                interval_s=interval_s,
                error="; ".join(filter(None, (broken, *lost))) or None,
            )
        )
        self._messages = self._steps = self._dropped = self._overflown = self._bytes = 0
        self._busy_s = 0.0

    def _one(self, raw: bytes, now_us: int) -> None:
        said = read_datagram(raw, now_us)
        self._dropped += said.dropped
        if isinstance(said, StepDatagram):
            self._batch.add(said)
            return
        if isinstance(said, EventDatagram):
            events = [self._life.event(said)]
        elif isinstance(said, HelloDatagram):
            events = self._life.hello(said)
        else:
            events = self._life.placed(said)
        for event in events:
            if event.kind != "heartbeat":
                self._publish_steps(now_us)
            self._publish(event)

    def _publish_steps(self, now_us: int) -> None:
        for report in self._batch.take(now_us):
            self._outlet.publish(JOB_STEPS, report)
            self._messages += 1
            self._steps += len(report.rank)

    def _publish(self, event: JobEvent) -> None:
        self._outlet.publish(JOB_EVENTS, event)
        self._messages += 1
        if event.kind == "placed":
            self._outlet.publish(JOB_PLACEMENTS, event)
            self._messages += 1
