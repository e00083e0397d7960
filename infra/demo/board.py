"""What the live view shows, as a pure value fed by messages."""

from collections import deque
from dataclasses import dataclass, field

from collectors.contract.beat import Beat, Rejected
from collectors.contract.message import Message
from streams.contract import Finding, Incident, NodeHealth

RATE_WINDOW_US = 15_000_000
"""Longer than the slowest beat of a collector, 10 s."""


@dataclass
class Rate:
    """Samples a second of one source over the last 15 seconds of event time."""

    total: int = 0
    recent: deque[tuple[int, int]] = field(default_factory=deque)

    def add(self, ts_us: int, samples: int) -> None:
        """Count `samples` at `ts_us`."""
        self.total += samples
        self.recent.append((ts_us, samples))

    def per_second(self, now_us: int) -> float:
        """Mean over the window that ends now."""
        while self.recent and self.recent[0][0] <= now_us - RATE_WINDOW_US:
            self.recent.popleft()
        return sum(samples for _, samples in self.recent) / (RATE_WINDOW_US / 1e6)


@dataclass
class Board:
    """Rates by source, incidents, findings and node health, as of the last message."""

    rates: dict[str, Rate] = field(default_factory=dict)
    incidents: dict[str, Incident] = field(default_factory=dict)
    edges: list[Incident] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    health: dict[str, NodeHealth] = field(default_factory=dict)
    rejected: int = 0
    first_us: int | None = None

    def take(self, message: Message) -> None:
        """Account for one message; kinds that the view does not show are ignored."""
        if self.first_us is None:
            self.first_us = message.ts_us
        if isinstance(message, Beat):
            if message.source == "load":
                return  # counts once more what collectors counted
            if message.source not in self.rates:
                self.rates[message.source] = Rate()
            self.rates[message.source].add(message.ts_us, message.samples)
        elif isinstance(message, Incident):
            self.incidents[message.id] = message
            self.edges.append(message)
        elif isinstance(message, Finding):
            self.findings.append(message)
        elif isinstance(message, NodeHealth):
            self.health[message.node] = message
        elif isinstance(message, Rejected):
            self.rejected += 1 + message.unreported

    def open_incidents(self) -> list[Incident]:
        """Gravest first, then oldest."""
        order = {"critical": 0, "warning": 1, "info": 2}
        still = [i for i in self.incidents.values() if i.state != "cleared"]
        return sorted(still, key=lambda i: (order[i.severity], i.opened_us))
