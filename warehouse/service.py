"""`lockstep load` as a service: signals, progress, beats, maintenance."""

import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from confluent_kafka import KafkaException

from collectors.contract.beat import Beat
from collectors.contract.errors import UserError
from collectors.contract.kafka import kafka_client, kafka_settings
from collectors.contract.topic import encode
from collectors.contract.topics import COLLECTOR_BEATS
from warehouse import maintenance
from warehouse.feed import Feed, quiet_logger
from warehouse.loading import Loading
from warehouse.offsets import read_offsets
from warehouse.opening import connect
from warehouse.place import place_of
from warehouse.progress import Progress, told
from warehouse.rejects import Rejects, Reporter
from warehouse.rows.topics import LOADED
from warehouse.settings import warehouse_settings

BEAT_S = 10.0


def serve(*, once: bool, commit_s: float, progress_s: float, tidy: bool) -> int:
    """Load until SIGTERM or SIGINT (or the end of the topics); then commit and return 0."""
    progress = Progress(sys.stderr, progress_s, sys.stderr.isatty(), time.monotonic())
    client, cluster = kafka_client(), kafka_settings().cluster
    place = place_of(warehouse_settings())
    logger = quiet_logger(progress.tell)
    with _stopping() as stop:
        connection = connect(read_only=False)
        committed = read_offsets(connection)
        feed = Feed(client, LOADED, committed, progress.tell, logger)
        reporter = Reporter(client, logger)
        loading = Loading(
            place=place,
            open_lake=lambda: connect(read_only=False),
            connection=connection,
            feed=feed,
            reporter=reporter,
            rejects=Rejects(cluster),
            committed=committed,
            tell=progress.tell,
            stop=stop,
            commit_s=commit_s,
            until_end=once,
            each_turn=Turn(progress, cluster, beats=not once, tidy=tidy and not once),
        )
        try:
            if _reach(feed, once, progress.tell, stop):
                loading.run()
        finally:
            feed.close()
            reporter.close()
            loading.connection.close()
    progress.tell(f"{told(loading.counts)}; ended")
    return 0


def maintain() -> int:
    """One round of maintenance now."""
    with connect(read_only=False) as connection:
        report = maintenance.run(connection)
    sys.stderr.write(f"load: {report}\n")
    return 0


def _reach(feed: Feed, once: bool, tell: Callable[[str], None], stop: threading.Event) -> bool:
    """Wait for Kafka; False when asked to end before it answered."""
    told = False
    while not stop.is_set():
        try:
            feed.refresh()
            return True
        except KafkaException as why:
            text = why.args[0].str()
            if once:
                raise UserError(f"Kafka does not answer: {text}") from why
            if not told:
                tell(f"Kafka does not answer yet: {text}; waiting for it")
            told = True
            stop.wait(2.0)
    return False


@dataclass(slots=True)
class Turn:
    """What is done between two reads: progress, a beat, maintenance when an hour has closed."""

    progress: Progress
    cluster: str
    beats: bool
    tidy: bool
    due: maintenance.Due = field(default_factory=maintenance.Due)
    _beat_s: float = 0.0
    _beaten: tuple[int, int] = (0, 0)

    def __call__(self, loading: Loading) -> None:
        now_s = time.monotonic()
        if self.progress.show(loading.counts, loading.feed.behind(), now_s) and self.beats:
            self._beat(loading)
        if self.tidy and self.due.now(loading.newest_us, now_s):
            self.progress.tell(str(maintenance.run(loading.connection, place=loading.place)))

    def _beat(self, loading: Loading) -> None:
        now_s = time.monotonic()
        if now_s - self._beat_s < BEAT_S:
            return
        messages, samples = loading.counts.messages, loading.counts.samples
        beat = Beat(
            cluster=self.cluster,
            ts_us=time.time_ns() // 1000,
            collector=f"load@{socket.gethostname()}",
            source="load",
            seconds=now_s - self._beat_s if self._beat_s else 0.0,
            messages=messages - self._beaten[0],
            samples=samples - self._beaten[1],
            interval_s=max(BEAT_S, self.progress.every_s),
        )
        loading.reporter.send(COLLECTOR_BEATS.name, COLLECTOR_BEATS.key(beat), encode(beat))
        self._beat_s, self._beaten = now_s, (messages, samples)


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """An event that SIGTERM and SIGINT set."""
    stop = threading.Event()
    former = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield stop
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
