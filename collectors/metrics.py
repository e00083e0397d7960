"""A collector's own /metrics, in Prometheus' text form."""

from collections.abc import Iterator
from threading import Thread
from wsgiref.simple_server import WSGIServer

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from collectors.outlet_kafka import KafkaOutlet
from collectors.settings import CollectorSettings
from collectors.source import SourceError


class OutletMetrics:
    """Reads the outlet's own counts when it is asked; the hot path does nothing for it."""

    def __init__(self, outlet: KafkaOutlet) -> None:
        self._outlet = outlet

    def collect(self) -> Iterator[Metric]:
        """All families."""
        outlet = self._outlet
        sweeps = CounterMetricFamily("lockstep_collect_sweeps", "Sweeps over a target.", labels=["source", "result"])
        seconds = CounterMetricFamily("lockstep_collect_sweep_seconds", "Seconds spent in sweeps.", labels=["source"])
        samples = CounterMetricFamily("lockstep_collect_samples", "Samples read.", labels=["source"])
        for source, sums in sorted(outlet.sweeps.sources.items()):
            sweeps.add_metric([source, "ok"], sums.good)
            sweeps.add_metric([source, "failed"], sums.failed)
            seconds.add_metric([source], sums.seconds)
            samples.add_metric([source], sums.samples)
        offered = CounterMetricFamily("lockstep_collect_messages", "Messages handed over by sources.", labels=["topic"])
        delivered = CounterMetricFamily(
            "lockstep_collect_delivered", "Messages that Kafka acknowledged.", labels=["topic"]
        )
        refused = CounterMetricFamily(
            "lockstep_collect_refused", "Messages that Kafka will not take.", labels=["topic"]
        )
        for topic, lane in sorted(outlet.lanes.items()):
            offered.add_metric([topic], lane.offered)
            delivered.add_metric([topic], lane.delivered)
            refused.add_metric([topic], lane.refused)
        yield from (sweeps, seconds, samples, offered, delivered, refused)
        yield CounterMetricFamily("lockstep_collect_lost", "Messages that will never arrive.", outlet.lost)
        yield CounterMetricFamily("lockstep_collect_rejected", "Pieces of bad input.", outlet.rejected)
        yield GaugeMetricFamily("lockstep_collect_spooled", "Messages waiting on disk.", outlet.spooled)


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
    if not port.isdigit() or int(port) > 65535:
        raise SourceError(f"--metrics-listen {text}: write [HOST:]PORT or off")
    host = host.strip("[]") or "127.0.0.1"
    try:
        return MetricsServer(outlet, host, int(port))
    except OSError as why:
        if asked is not None:
            raise SourceError(f"--metrics-listen {text}: {why.strerror}") from why
        return MetricsServer(outlet, host, 0)
