"""What the worker says of itself, on loopback."""

from collections.abc import Callable
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from collectors.contract.fabric import PortScrape
from collectors.contract.gpu import GpuScrape
from collectors.contract.message import Message


@dataclass(slots=True)
class Metrics:
    """One registry a worker; nothing global."""

    registry: CollectorRegistry = field(default_factory=CollectorRegistry)
    messages: Counter = field(init=False)
    samples: Counter = field(init=False)
    sent: Counter = field(init=False)
    rejected: Counter = field(init=False)
    mishaps: Counter = field(init=False)
    lag: Gauge = field(init=False)
    delay: Histogram = field(init=False)
    states: Gauge = field(init=False)
    recovering: Gauge = field(init=False)
    away: Gauge = field(init=False)

    def __post_init__(self) -> None:
        r = self.registry
        self.messages = Counter("lockstep_stream_messages", "Messages judged", ["topic"], registry=r)
        self.samples = Counter("lockstep_stream_samples", "Values in these messages", ["topic"], registry=r)
        self.sent = Counter("lockstep_stream_sent", "Messages published", ["topic"], registry=r)
        self.rejected = Counter("lockstep_stream_rejected", "Messages not readable", ["topic"], registry=r)
        self.mishaps = Counter(
            "lockstep_stream_detector_errors", "Steps of a detector that raised", ["detector"], registry=r
        )
        self.lag = Gauge("lockstep_stream_lag_messages", "Messages not yet judged", ["topic"], registry=r)
        self.delay = Histogram(
            "lockstep_stream_finding_delay_seconds",
            "From the event to its published finding",
            buckets=(0.1, 0.25, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600),
            registry=r,
        )
        self.states = Gauge("lockstep_stream_states", "Detector states in memory", registry=r)
        self.away = Gauge(
            "lockstep_stream_receiver_away", "1 while a receiver of alerts takes none", ["receiver"], registry=r
        )
        self.recovering = Gauge("lockstep_stream_recovering", "1 while state is being rebuilt", registry=r)

    def judged(self, topic: str) -> Callable[[Message], None]:
        """Counts one message of a topic and the values in it."""
        messages, samples = self.messages.labels(topic), self.samples.labels(topic)

        def count(message: Message) -> None:
            messages.inc()
            if isinstance(message, GpuScrape):
                samples.inc(len(message.gpus) * len(message.columns))
            elif isinstance(message, PortScrape):
                samples.inc(len(message.ports) * len(message.columns))

        return count

    def serve(self, port: int) -> int:
        """Listen on loopback; the port, another free one when it is taken."""
        try:
            server, _ = start_http_server(port, addr="127.0.0.1", registry=self.registry)
        except OSError:
            server, _ = start_http_server(0, addr="127.0.0.1", registry=self.registry)
        return int(server.server_port)
