"""What the detectors say of a job and of everything under it, from the messages at hand."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from collectors.contract.fabric import PortScrape
from collectors.contract.gpu import GpuScrape
from collectors.contract.job import JobEvent, Placement, StepReport
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from collectors.contract.node import NodeState
from collectors.contract.topic import Topic
from streams.contract import Finding, Incident, finding_key
from streams.correlator_parts import finding_gpu, finding_node
from streams.pipeline import Pipeline
from streams.ticks import EventClock

Pair = tuple[Topic[Any], Message]


@dataclass(slots=True)
class Episode:
    """One fault as the detectors told it last, and from when to when."""

    finding: Finding
    opened_us: int
    cleared_us: int | None = None

    def during(self, start_us: int, end_us: int) -> bool:
        """Did it last at some time between?"""
        return self.opened_us <= end_us and (self.cleared_us is None or self.cleared_us >= start_us)


@dataclass(slots=True)
class Judged:
    """Everything known of one job."""

    cluster: str
    job: str
    pipeline: Pipeline
    reports: list[StepReport] = field(default_factory=list)
    events: list[JobEvent] = field(default_factory=list)
    kernel: list[KernelEvent] = field(default_factory=list)
    states: list[NodeState] = field(default_factory=list)
    scrapes: dict[str, list[GpuScrape]] = field(default_factory=lambda: defaultdict(list))
    """Node -> scrapes, in order."""
    ports: dict[str, list[PortScrape]] = field(default_factory=lambda: defaultdict(list))
    episodes: dict[str, Episode] = field(default_factory=dict)
    """Finding key -> episode: what was told then, else what is judged now."""
    incidents: dict[str, Incident] = field(default_factory=dict)
    end_us: int = 0
    day_before: tuple[float, int] | None = None
    """The pace over the day before all this: seconds a step and how many steps, by the warehouse."""

    @property
    def placement(self) -> dict[int, Placement]:
        """Rank -> where it runs, by the last placement that knows ranks."""
        placed = [event for event in self.events if event.placement and event.placement[0].rank >= 0]
        if placed:
            return {place.rank: place for place in placed[-1].placement}
        seen = {rank: report.node for report in self.reports for rank in report.rank}
        return {rank: Placement(rank=rank, node=node) for rank, node in seen.items()}

    def on_gpu(self, uuid: str) -> list[Episode]:
        """Faults of one GPU."""
        world = self.pipeline.world
        return [e for e in self.episodes.values() if finding_gpu(e.finding, world) == uuid]

    def on_node(self, node: str) -> list[Episode]:
        """Faults of a node and of what is in it."""
        world = self.pipeline.world
        return [e for e in self.episodes.values() if finding_node(e.finding, world) == node]

    def _hear(self, message: Message) -> None:
        if isinstance(message, Finding):
            key = finding_key(message)
            episode = self.episodes.setdefault(key, Episode(message, message.episode_us))
            if message.ts_us >= episode.finding.ts_us:
                episode.finding = message
            if message.state == "cleared":
                episode.cleared_us = message.ts_us
        elif isinstance(message, Incident):
            self.incidents[message.id] = message

    def _keep(self, message: Message) -> None:
        if isinstance(message, StepReport) and message.job == self.job:
            self.reports.append(message)
        elif isinstance(message, JobEvent) and message.job == self.job:
            if message.kind != "heartbeat":
                self.events.append(message)
        elif isinstance(message, KernelEvent):
            self.kernel.append(message)
        elif isinstance(message, NodeState):
            self.states.append(message)
        elif isinstance(message, GpuScrape):
            self.scrapes[message.node].append(message)
        elif isinstance(message, PortScrape):
            self.ports[message.device].append(message)


def judge(messages: Iterable[Pair], cluster: str, job: str, pipeline: Pipeline) -> Judged:
    """Run the detectors over the messages, in order of time; findings and incidents among them count as told."""
    out = Judged(cluster, job, pipeline)
    clock = EventClock()
    for topic, message in messages:
        if message.cluster != cluster:
            continue
        for now_us in clock.advance(message.ts_us):
            for _, told in pipeline.tick(now_us):
                out._hear(told)
        for _, told in pipeline.feed(topic, message):
            out._hear(told)
        out._hear(message)
        out._keep(message)
        out.end_us = max(out.end_us, message.ts_us)
    return out
