"""Messages to Kafka, with idempotence and zstd; never waits for Kafka, loses nothing while it is away."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from confluent_kafka import KafkaError, KafkaException, Producer

from collectors.contract.beat import Beat, Rejected
from collectors.contract.message import Message
from collectors.contract.topic import Topic, encode
from collectors.contract.topics import COLLECTOR_BEATS, REJECTED
from collectors.outlet_confirm import Confirmer, HandedOver, Messages
from collectors.outlet_lane import Lane, LaneLimits, Outcome, Send
from collectors.outlet_log import limited_logger
from collectors.outlet_reject import Bad, RejectLimit
from collectors.outlet_troubles import Troubles
from collectors.reasons import Reasons
from collectors.settings import CollectorSettings
from collectors.spool import Record, Spool
from collectors.spool_folder import SpoolFolder
from collectors.sweeps import Sweeps

TICK_S = 0.1
SYNC_S = 1.0
CLOSE_S = 5.0
REFUSED = frozenset(
    {
        KafkaError.MSG_SIZE_TOO_LARGE,
        KafkaError.INVALID_MSG,
        KafkaError.INVALID_RECORD,
        KafkaError.RECORD_LIST_TOO_LARGE,
    }
)
"""What Kafka will not take however often it is tried. A missing topic or a missing right may be mended."""


class KafkaOutlet:
    """One producer and one lane a topic. `tick` must be called some ten times a second (`serve` does).

    A killed process loses what Kafka had not acknowledged within the last `LOCKSTEP_SPOOL_AFTER` seconds;
    everything older is with Kafka or on disk.
    """

    def __init__(
        self,
        make_producer: Callable[[], Producer],
        folder: SpoolFolder,
        settings: CollectorSettings,
        cluster: str,
        now_s: Callable[[], float] = time.monotonic,
        make_confirmed: Callable[[], Producer] | None = None,
    ) -> None:
        self._make_producer = make_producer
        self._confirmer = Confirmer(make_confirmed or make_producer, REFUSED)
        self._producer = make_producer()
        self._folder = folder
        self._limit_bytes = int(settings.spool_mb * 1e6)
        self._keep_s = settings.spool_hours * 3600.0
        self._limits = LaneLimits(after_s=settings.spool_after_s)
        self._cluster = cluster
        self._now_s = now_s
        self._rejects = RejectLimit(settings.reject_every_s)
        self._lock = threading.RLock()
        self._log = limited_logger("lockstep.collect")
        self._reported_lost = 0
        self._seen = (0, 0)
        """Lost and spooled at the last tick."""
        self._fatal = False
        self.reasons = Reasons()
        self.sweeps = Sweeps()
        # A logger without the limit of the others: targets differ by their digits.
        self._troubles = Troubles(logging.getLogger("lockstep.targets"))
        self.lanes: dict[str, Lane] = {}
        self._inherited = [
            (topic.name, self._lane(topic.name, topic)) for old in folder.left_behind for topic in _topics(old)
        ]
        for topic in _topics(folder.path):
            self.lanes[topic.name] = self._lane(topic.name, topic)

    @property
    def lost(self) -> int:
        """Messages that will never arrive, since the process started."""
        return sum(lane.lost for lane in self._all()) + self._confirmer.refused

    @property
    def spooled(self) -> int:
        """Messages on disk."""
        return sum(lane.spool.waiting for lane in self._all())

    def by_topic(self) -> dict[str, list[Lane]]:
        """Own lanes and those that a process before left behind."""
        with self._lock:
            out: dict[str, list[Lane]] = {}
            for topic, lane in [*self._inherited, *self.lanes.items()]:
                out.setdefault(topic, []).append(lane)
            return out

    def confirmed(self) -> dict[str, HandedOver]:
        """What became of messages whose sender waited for Kafka, by topic."""
        return self._confirmer.by_topic()

    def publish(self, topic: Topic[Any], message: Message) -> None:
        """Hand over one message; from any thread."""
        record = Record(topic.key(message).encode(), encode(message))
        with self._lock:
            lane = self.lanes.get(topic.name)
            if lane is None:
                lane = self.lanes[topic.name] = self._lane(topic.name, self._folder.path / topic.name)
            lane.offer(record)

    async def deliver(self, messages: Messages) -> bool:
        """As in `Outlet`: over a producer of its own, past the spool."""
        return await self._confirmer.deliver(messages)

    def beat(self, beat: Beat) -> None:
        """Report one sweep, with what was lost since the last beat and what waits on disk."""
        with self._lock:
            self.sweeps.count(beat)
            self._troubles.hear(beat)
            lost, spooled = self._seen
            if lost != self._reported_lost or spooled:
                beat = msgspec.structs.replace(beat, lost=lost - self._reported_lost, spooled=spooled)
                self._reported_lost = lost
            self.publish(COLLECTOR_BEATS, beat)

    def reject(self, source: str, raw: bytes, why: str) -> None:
        """Report bad bytes, or count them where that source was reported lately."""
        with self._lock:
            self.reasons.count(source, why)
            bad = self._rejects.offer(source, raw, why, self._now_s())
            if bad is not None:
                self._publish_bad(bad)

    def tick(self) -> None:
        """Hear what Kafka said, notice that it is away or back, catch up."""
        with self._lock:
            self._producer.poll(0)
            if self._fatal:
                self._renew()
            for bad in self._rejects.due(self._now_s()):
                self._publish_bad(bad)
            for lane in self._all():
                was_away = lane.away
                lane.tick()
                if lane.away and not was_away:
                    self._log.warning("Kafka does not acknowledge; messages go to disk under %s", self._folder.path)
            former, self._seen = self._seen, (self.lost, self.spooled)
            if self._seen[0] > former[0]:
                self._log.error("%d messages lost: see above, or the spool is full", self._seen[0] - former[0])
            if former[1] and not self._seen[1]:
                self._log.info("Kafka has everything that waited on disk")

    async def serve(self) -> None:
        """Tick and sync until cancelled."""
        synced_s = self._now_s()
        while True:
            self.tick()
            if self._now_s() - synced_s >= SYNC_S:
                synced_s = self._now_s()
                await asyncio.to_thread(self._sync)
            await asyncio.sleep(TICK_S)

    def close(self, within_s: float = CLOSE_S) -> None:
        """Wait for Kafka a little, put the rest on disk. What was on the wire just then may arrive twice."""
        self._confirmer.close()
        with self._lock:
            for bad in self._rejects.rest():
                self._publish_bad(bad)
            end_s = self._now_s() + within_s
            while any(lane.in_flight and not lane.away for lane in self._all()) and self._now_s() < end_s:
                self._producer.poll(TICK_S)
                self.tick()
            self._producer.purge()
            self._producer.poll(0)
            for lane in self._all():
                lane.spill()
                lane.spool.close()
            self._folder.close()

    def _all(self) -> list[Lane]:
        return [*(lane for _, lane in self._inherited), *self.lanes.values()]

    def _lane(self, topic: str, path: Path) -> Lane:
        return Lane(self._sender(topic), Spool(path, self._limit_bytes), self._limits, self._now_s)

    def _sender(self, topic: str) -> Send:
        def send(record: Record, report: Callable[[Outcome], None]) -> Outcome | None:
            try:
                self._producer.produce(
                    topic,
                    value=record.value,
                    key=record.key,
                    on_delivery=lambda error, _: report(self._outcome(topic, error)),
                )
            except BufferError:
                return Outcome.FAILED
            except KafkaException as why:
                return self._outcome(topic, why.args[0])
            return None

        return send

    def _outcome(self, topic: str, error: KafkaError | None) -> Outcome:
        if error is None:
            return Outcome.DELIVERED
        if error.code() in REFUSED:
            self._log.error("%s: Kafka refuses a message: %s", topic, error.str())
            return Outcome.REFUSED
        self._fatal = self._fatal or error.fatal() or error.code() == KafkaError._FATAL
        hint = "; `lockstep topics` makes it" if error.code() in _NO_TOPIC else ""
        self._log.log(
            logging.DEBUG if error.code() == KafkaError._PURGE_QUEUE else logging.WARNING,
            "%s: not delivered, will be tried again: %s%s",
            topic,
            error.str(),
            hint,
        )
        return Outcome.FAILED

    def _renew(self) -> None:
        """A producer that lost its idempotence cannot go on: its messages fail and go through a new one."""
        old, self._fatal = self._producer, False
        self._producer = self._make_producer()
        old.purge()
        old.flush(1.0)
        self._fatal = False

    def _sync(self) -> None:
        try:
            with self._lock:
                for lane in self._all():
                    lane.spool.expire(time.time() - self._keep_s)
                flushes = [lane.spool.sync() for lane in self._all()]
            for flush in flushes:
                if flush is not None:
                    flush()
        except OSError as why:
            self._log.error("%s: %s", self._folder.path, why.strerror)

    def _publish_bad(self, bad: Bad) -> None:
        self.publish(
            REJECTED,
            Rejected(
                cluster=self._cluster,
                ts_us=time.time_ns() // 1000,
                source=bad.source,
                why=bad.why,
                raw=bad.raw,
                by="collector",
                unreported=bad.unreported,
            ),
        )


_NO_TOPIC = frozenset({KafkaError._UNKNOWN_TOPIC, KafkaError.UNKNOWN_TOPIC_OR_PART})


def _topics(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir())
