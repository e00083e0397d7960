"""What the live view shows, as a pure value fed by messages."""

import re
from collections import deque
from dataclasses import dataclass, field

from collectors.contract.beat import Beat, Rejected
from collectors.contract.message import Message
from collectors.contract.node import NodeState
from streams.contract import Finding, Incident, NodeHealth, finding_key

RATE_WINDOW_US = 15_000_000
"""Longer than the slowest beat of a collector, 10 s."""
SILENT_INTERVALS = 3.0
"""A collector is silent after so many of its own intervals, as the detector has it, ..."""
SILENT_US = 30_000_000
"""... and no sooner."""
FORGOTTEN_US = 3_600_000_000
MOST_ENDED = 200
"""Incidents that ended are shown no more, but the last so many are kept to be looked at."""


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
    racks: dict[str, str] = field(default_factory=dict)
    """Node -> rack, where a source tells it."""
    heard: dict[str, Beat] = field(default_factory=dict)
    """Collector -> its last beat."""
    open_findings: dict[str, Finding] = field(default_factory=dict)
    rejected: int = 0
    first_us: int | None = None

    def take(self, message: Message) -> None:
        """Account for one message; kinds that the view does not show are ignored."""
        if self.first_us is None:
            self.first_us = message.ts_us
        if isinstance(message, Beat):
            self._beat(message)
        elif isinstance(message, Incident):
            self.incidents[message.id] = message
            self.edges.append(message)
            self._forget()
        elif isinstance(message, Finding):
            self.findings.append(message)
            if message.state == "cleared":
                self.open_findings.pop(finding_key(message), None)
            else:
                self.open_findings[finding_key(message)] = message
        elif isinstance(message, NodeHealth):
            self.health[message.node] = message
        elif isinstance(message, NodeState):
            if message.rack is not None:
                self.racks[message.node] = message.rack
        elif isinstance(message, Rejected):
            self.rejected += 1 + message.unreported

    def open_incidents(self) -> list[Incident]:
        """Gravest first, then oldest."""
        order = {"critical": 0, "warning": 1, "info": 2}
        still = [i for i in self.incidents.values() if i.state != "cleared"]
        return sorted(still, key=lambda i: (order[i.severity], i.opened_us))

    def nodes(self) -> list[str]:
        """Every node that anything was said of, by rack and name, numbers in their order."""
        return sorted({*self.health, *self.racks}, key=lambda n: (_natural(self.racks.get(n, "")), _natural(n)))

    def silent(self, now_us: int) -> list[str]:
        """Collectors that were heard within the hour and are not any more."""
        return sorted(
            name
            for name, beat in self.heard.items()
            if max(SILENT_US, SILENT_INTERVALS * 1e6 * (beat.interval_s or 0)) < now_us - beat.ts_us < FORGOTTEN_US
        )

    def _beat(self, beat: Beat) -> None:
        self.heard[beat.collector] = beat
        if beat.source == "load":
            return  # counts once more what collectors counted
        if beat.source not in self.rates:
            self.rates[beat.source] = Rate()
        self.rates[beat.source].add(beat.ts_us, beat.samples)

    def _forget(self) -> None:
        ended = [i for i in self.incidents.values() if i.state == "cleared"]
        for incident in sorted(ended, key=lambda i: i.ts_us)[:-MOST_ENDED]:
            del self.incidents[incident.id]


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name) if part]
