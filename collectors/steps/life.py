"""A job's life as its ranks tell it: starts, ends, checkpoints, and where every rank runs."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from collectors.contract.job import JobEvent, Placement
from collectors.steps.datagram import EventDatagram, HelloDatagram, PlacedDatagram, PlacedRank

V = TypeVar("V")

JOBS = 256
"""Jobs of one node whose ranks or placement parts are remembered; the oldest is forgotten."""
MOST_ALIASES = 4096
"""Names of a job, most of them its pods: some 200 KB."""


@dataclass(slots=True)
class Ranks:
    """Who of one attempt has said hello on this node."""

    world_size: int
    placement: dict[int, Placement] = field(default_factory=dict)
    aliases: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True)
class Parts:
    """A placement that is still coming in."""

    ts_us: int
    count: int
    have: dict[int, list[Placement]] = field(default_factory=dict)


class JobLife:
    """Datagrams in, `JobEvent`s out.

    A `placed` event always carries the whole job: the one that rank 0 gathered, or, for a job whose ranks are
    all on this node, what the ranks said of themselves. Of a job on several nodes that never gathered it,
    nothing partial is told: on the compacted topic a part would stand for the whole.
    """

    def __init__(self, cluster: str, node: str) -> None:
        self._cluster = cluster
        self._node = node
        self._ranks: dict[tuple[str, int], Ranks] = {}
        self._parts: dict[tuple[str, int], Parts] = {}
        self._gathered: dict[tuple[str, int], int] = {}

    def hello(self, said: HelloDatagram) -> list[JobEvent]:
        """Rank 0 starts the attempt; the last rank of a job that fits on this node completes its placement."""
        events = []
        pod = pod_on(self._node, said.pod)
        if said.rank == 0:
            events.append(
                JobEvent(
                    cluster=self._cluster,
                    ts_us=said.ts_us,
                    job=said.job,
                    attempt=said.attempt,
                    kind="started" if said.attempt == 0 else "restarted",
                    model=said.model,
                    flops_per_token=said.flops_per_token,
                    config_hash=said.config_hash,
                    rank=0,
                    node=self._node,
                    pid=said.pid,
                    aliases=_names(said.job, said.aliases, [pod]),
                )
            )
        key = (said.job, said.attempt)
        ranks = self._ranks.get(key)
        if ranks is None or ranks.world_size != said.world_size:
            ranks = _bounded(self._ranks, key, Ranks(said.world_size))
        own = Placement(
            rank=said.rank,
            node=self._node,
            gpu_uuid=said.gpu_uuid,
            gpu_model=said.gpu_model,
            coords=said.coords,
            pod=pod,
        )
        if len(ranks.aliases) < MOST_ALIASES:
            ranks.aliases.update(dict.fromkeys(said.aliases))
        if ranks.placement.get(said.rank) == own:
            return events
        ranks.placement[said.rank] = own
        if len(ranks.placement) == said.world_size and key not in self._gathered:
            whole = [ranks.placement[rank] for rank in sorted(ranks.placement)]
            events.append(self._placed(said.job, said.attempt, said.ts_us, whole, ranks.aliases))
        return events

    def placed(self, said: PlacedDatagram) -> list[JobEvent]:
        """One part of a gathered placement; the event comes with the last."""
        key = (said.job, said.attempt)
        parts = self._parts.get(key)
        if parts is None or parts.ts_us < said.ts_us or parts.count != said.parts:
            parts = _bounded(self._parts, key, Parts(said.ts_us, said.parts))
        if said.ts_us < parts.ts_us:
            return []
        parts.have[said.part] = [_placement(row) for row in said.ranks]
        if len(parts.have) < parts.count:
            return []
        del self._parts[key]
        _bounded(self._gathered, key, said.ts_us)
        whole = {row.rank: row for part in parts.have.values() for row in part}
        ranks = [whole[rank] for rank in sorted(whole)]
        return [self._placed(said.job, said.attempt, said.ts_us, ranks, said.aliases)]

    def event(self, said: EventDatagram) -> JobEvent:
        """A checkpoint, a heartbeat or the end, as it was told."""
        return JobEvent(
            cluster=self._cluster,
            ts_us=said.ts_us,
            job=said.job,
            attempt=said.attempt,
            kind=said.kind,
            state=said.state,
            reason=said.reason,
            step=said.step,
            bytes=said.bytes,
            seconds=said.seconds,
            config_hash=said.config_hash,
            rank=said.rank,
            node=self._node,
            pid=said.pid,
        )

    def _placed(self, job: str, attempt: int, ts_us: int, whole: list[Placement], aliases: Iterable[str]) -> JobEvent:
        return JobEvent(
            cluster=self._cluster,
            ts_us=ts_us,
            job=job,
            attempt=attempt,
            kind="placed",
            placement=whole,
            node=self._node,
            aliases=_names(job, aliases, (row.pod for row in whole)),
        )


def pod_on(node: str, pod: str | None) -> str | None:
    """A rank's pod. With the host's network a pod's host name, from which its name was told, is the node's."""
    if pod is None or pod.rpartition("/")[2].partition(".")[0] == node.partition(".")[0]:
        return None
    return pod


def _placement(row: PlacedRank) -> Placement:
    return Placement(
        rank=row.rank,
        node=row.node,
        gpu_uuid=row.gpu_uuid,
        gpu_model=row.gpu_model,
        coords=row.coords,
        pod=pod_on(row.node, row.pod),
    )


def _names(job: str, aliases: Iterable[str], pods: Iterable[str | None]) -> list[str]:
    """Those that are not the job's own, once each."""
    names = dict.fromkeys(name for name in (*aliases, *pods) if name is not None and name != job)
    return list(names)[:MOST_ALIASES]


def _bounded(memory: dict[tuple[str, int], V], key: tuple[str, int], value: V) -> V:
    memory.pop(key, None)
    memory[key] = value
    if len(memory) > JOBS:
        del memory[next(iter(memory))]
    return value
