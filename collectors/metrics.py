"""A collector's own /metrics, in Prometheus' text form."""

from collections.abc import Iterator
from threading import Thread
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from collectors.outlet_confirm import HandedOver
from collectors.outlet_kafka import KafkaOutlet
from collectors.settings import CollectorSettings
from collectors.source import SourceError

_NONE = HandedOver()


class OutletMetrics:
    """Reads the outlet's own counts when it is asked; the hot path does nothing for it."""

    def __init__(self, outlet: KafkaOutlet) -> None:
        self._outlet = outlet

    def collect(self) -> Iterator[Metric]:
        """All families."""
        yield from self._sources()
        yield from self._topics()
        rejected = CounterMetricFamily("lockstep_collect_rejected", "Pieces of bad input.", labels=["source", "reason"])
        for (source, reason), count in sorted(self._outlet.reasons.counts.items()):
            rejected.add_metric([source, reason], count)
        yield rejected

    def _sources(self) -> Iterator[Metric]:
        sweeps = CounterMetricFamily("lockstep_collect_sweeps", "Sweeps over a target.", labels=["source", "result"])
        seconds = CounterMetricFamily("lockstep_collect_sweep_seconds", "Seconds spent in sweeps.", labels=["source"])
        samples = CounterMetricFamily("lockstep_collect_samples", "Samples read.", labels=["source"])
        size = CounterMetricFamily("lockstep_collect_bytes", "Bytes read, where counted.", labels=["source"])
        targets = GaugeMetricFamily(
            "lockstep_collect_targets", "Targets by how their last sweep went.", labels=["source", "state"]
        )
        for source, sums in sorted(self._outlet.sweeps.sources.items()):
            sweeps.add_metric([source, "ok"], sums.good)
            sweeps.add_metric([source, "failed"], sums.failed)
            seconds.add_metric([source], sums.seconds)
            samples.add_metric([source], sums.samples)
            size.add_metric([source], sums.bytes)
            for state, count in zip(("up", "down"), self._outlet.sweeps.targets(source), strict=True):
                targets.add_metric([source, state], count)
        yield from (sweeps, seconds, samples, size, targets)

    def _topics(self) -> Iterator[Metric]:
        offered = CounterMetricFamily("lockstep_collect_messages", "Messages handed over by sources.", labels=["topic"])
        delivered = CounterMetricFamily(
            "lockstep_collect_delivered", "Messages that Kafka acknowledged.", labels=["topic"]
        )
        refused = CounterMetricFamily(
            "lockstep_collect_refused", "Messages that Kafka will not take.", labels=["topic"]
        )
        failed = CounterMetricFamily(
            "lockstep_collect_failed",
            "Messages that Kafka has not, and that their sender sends again.",
            labels=["topic"],
        )
        lost = CounterMetricFamily("lockstep_collect_lost", "Messages that will never arrive.", labels=["topic"])
        waiting = GaugeMetricFamily("lockstep_collect_spooled", "Messages waiting on disk.", labels=["topic"])
        size = GaugeMetricFamily("lockstep_collect_spooled_bytes", "Bytes waiting on disk.", labels=["topic"])
        own, confirmed, lanes_of = dict(self._outlet.lanes), self._outlet.confirmed(), self._outlet.by_topic()
        for topic in sorted(own.keys() | confirmed.keys()):
            ways = [way for way in (own.get(topic), confirmed.get(topic)) if way is not None]
            offered.add_metric([topic], sum(way.offered for way in ways))
            delivered.add_metric([topic], sum(way.delivered for way in ways))
            refused.add_metric([topic], sum(way.refused for way in ways))
            failed.add_metric([topic], confirmed.get(topic, _NONE).failed)
        for topic in sorted(lanes_of.keys() | confirmed.keys()):
            lanes = lanes_of.get(topic, [])
            lost.add_metric([topic], sum(lane.lost for lane in lanes) + confirmed.get(topic, _NONE).refused)
            waiting.add_metric([topic], sum(lane.spool.waiting for lane in lanes))
            size.add_metric([topic], sum(lane.spool.size_bytes for lane in lanes))
        yield from (offered, delivered, refused, failed, lost, waiting, size)


class MetricsServer:
    """Serves one outlet's metrics from a thread until closed."""

    def __init__(self, outlet: KafkaOutlet, host: str, port: int) -> None:
        """Raises `OSError` when the address cannot be listened on."""
        registry = CollectorRegistry()
        registry.register(OutletMetrics(outlet))
        served: tuple[WSGIServer, Thread] = start_http_server(port, addr=host, registry=registry)
        self._server, self._thread = served
        self.address: tuple[str, int] = (host, int(self._server.server_address[1]))

    def close(self) -> None:
        """Stop serving."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def listen(outlet: KafkaOutlet, asked: str | None, settings: CollectorSettings) -> MetricsServer | None:
    """`[HOST:]PORT` or `off`. A taken default port gives way to a free one; a taken port that was asked for does not.

    Raises `SourceError`.
    """
    text = asked if asked is not None else settings.metrics_listen
    if text == "off":
        return None
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or int(port) > 65535:
        raise SourceError(f"--metrics-listen {text}: write [HOST:]PORT or off")
    host = host.strip("[]") or "127.0.0.1"
    try:
        return MetricsServer(outlet, host, int(port))
    except OSError as why:
        if asked is not None:
            raise SourceError(f"--metrics-listen {text}: {why.strerror}") from why
        return MetricsServer(outlet, host, 0)
