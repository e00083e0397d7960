"""Who runs where, by what jobs and their schedulers tell."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from collectors.contract.job import PLACEMENT_SOURCES, JobEvent, Placement, PlacementSource


class Named(NamedTuple):
    """A thing of one cluster: names repeat between clusters."""

    cluster: str
    name: str


@dataclass(slots=True)
class Job:
    """The last true placement of a job. `ended` jobs are hurt by nothing."""

    name: str
    ts_us: int
    ranks: dict[int, Placement]
    ended: bool = False
    source: PlacementSource = "job"


@dataclass(slots=True)
class Placements:
    """Learns from job events in any order; the newest placement of the surest source is true."""

    jobs: dict[Named, Job] = field(default_factory=dict)
    ended_us: dict[Named, int] = field(default_factory=dict)
    _began_us: dict[Named, int] = field(default_factory=dict)
    """The last start that a job told."""
    _aliases: dict[Named, str] = field(default_factory=dict)
    """A job's number at its scheduler, or one of its pods -> the name that it gives itself."""
    _given: dict[Named, str] = field(default_factory=dict)
    """Another name that a scheduler tells of a job, such as one of its pods -> its name at the scheduler."""
    _on_gpu: dict[Named, set[tuple[str, int]]] = field(default_factory=dict)
    _on_node: dict[Named, set[tuple[str, int]]] = field(default_factory=dict)

    def learn(self, message: JobEvent) -> bool:
        """Take in one event; whether anything changed."""
        changed = self._learn_names(message)
        key = Named(message.cluster, message.job)
        if message.kind == "ended":
            changed |= self._end(key, message.ts_us)
            own = self.own_name(*key)
            if own != key.name:
                # Its scheduler says so of a job that may not have had the time to.
                changed |= self._end(Named(key.cluster, own), message.ts_us)
        elif message.kind in ("started", "restarted"):
            ended = self.has_ended(*key)
            self._began_us[key] = max(message.ts_us, self._began_us.get(key, 0))
            known = self.jobs.get(key)
            if known is not None and known.ended and message.ts_us > self.ended_us.get(key, 0):
                known.ended = False
            changed |= ended != self.has_ended(*key)
        elif message.kind == "placed":
            changed |= self._place(key, message)
        return changed

    def own_name(self, cluster: str, job: str) -> str:
        """The name that a job gives itself, by any name it is known under."""
        own = self._aliases.get(Named(cluster, job))
        if own is not None:
            return own
        given = self._given.get(Named(cluster, job), job)
        return self._aliases.get(Named(cluster, given), given)

    def rank(self, cluster: str, job: str, rank: int) -> Placement | None:
        """Where a rank runs or last ran."""
        known = self.jobs.get(Named(cluster, job))
        return known.ranks.get(rank) if known else None

    def world_size(self, cluster: str, job: str) -> int | None:
        """Ranks of a job; None: its placement is not known."""
        known = self.jobs.get(Named(cluster, job))
        return len(known.ranks) if known else None

    def nodes_of(self, cluster: str, job: str) -> set[str]:
        """Where a job runs or last ran."""
        known = self.jobs.get(Named(cluster, job))
        return {p.node for p in known.ranks.values()} if known else set()

    def has_ended(self, cluster: str, job: str) -> bool:
        """A job that was never placed counts as running until its end is told."""
        key = Named(cluster, job)
        known = self.jobs.get(key)
        if known is not None:
            return known.ended
        return key in self.ended_us and self.ended_us[key] >= self._began_us.get(key, 0)

    def on_node(self, cluster: str, node: str) -> set[str]:
        """Running jobs with a rank on this node, by their own names."""
        return self._running(cluster, self._on_node.get(Named(cluster, node), set()))

    def on_gpu(self, cluster: str, uuid: str, node: str | None, index: int | None, holders: frozenset[str]) -> set[str]:
        """Running jobs with a rank on this GPU, by their own names.

        A rank that names no GPU counts where its number or pod does not say otherwise: `index` and `holders` are
        those of the GPU, as its node tells them.
        """
        found = set(self._on_gpu.get(Named(cluster, uuid), set()))
        for job, rank in self._on_node.get(Named(cluster, node), set()) if node is not None else set():
            if _may_hold(self.jobs[Named(cluster, job)].ranks[rank], index, holders):
                found.add((job, rank))
        return self._running(cluster, found)

    def _running(self, cluster: str, ranks: set[tuple[str, int]]) -> set[str]:
        return {self.own_name(cluster, job) for job, _ in ranks if not self.has_ended(cluster, job)}

    def _learn_names(self, message: JobEvent) -> bool:
        """A job and its scheduler need not know each other's name: one alias that both tell is enough."""
        changed = False
        for alias in message.aliases:
            other = Named(message.cluster, alias)
            if alias == message.job:
                continue
            if message.source in (None, "job"):
                names = [alias] + ([self._given[other]] if other in self._given else [])
                changed |= self._call(message.cluster, names, message.job, message.ts_us)
                continue
            if self._given.get(other) != message.job:
                self._given[other] = message.job
                changed = True
            own = self._aliases.get(other)
            if own is not None:
                changed |= self._call(message.cluster, [message.job], own, message.ts_us)
        return changed

    def _call(self, cluster: str, names: Sequence[str], own: str, ts_us: int) -> bool:
        """These are names of the job that calls itself `own`; an end that was told under one of them is its own end."""
        changed = False
        for name in names:
            other = Named(cluster, name)
            if name == own or self._aliases.get(other) == own:
                continue
            self._aliases[other] = own
            changed = True
            if self.ended_us.get(other, 0) >= ts_us:
                self._end(Named(cluster, own), self.ended_us[other])
        return changed

    def _end(self, key: Named, ts_us: int) -> bool:
        self.ended_us[key] = max(ts_us, self.ended_us.get(key, 0))
        known = self.jobs.get(key)
        if known is None or known.ts_us > ts_us or known.ended:
            return False
        known.ended = True
        return True

    def _is_news(self, key: Named, known: Job, told: Job) -> bool:
        """A surer source is believed until the job ends, whichever of two placements is the later."""
        surer = PLACEMENT_SOURCES.index(known.source) - PLACEMENT_SOURCES.index(told.source)
        ended_us = self.ended_us.get(key, 0)
        if surer > 0 and not told.ts_us <= ended_us < known.ts_us:
            return True
        if surer < 0 and not known.ts_us <= ended_us < told.ts_us:
            return False
        return told.ts_us > known.ts_us or (told.ts_us == known.ts_us and told.ranks != known.ranks)

    def _place(self, key: Named, message: JobEvent) -> bool:
        known = self.jobs.get(key)
        ended = self.ended_us.get(key, 0) >= message.ts_us
        ranks = {p.rank: p for p in message.placement}
        told = Job(key.name, message.ts_us, ranks, ended, message.source or "job")
        if known is not None:
            if not self._is_news(key, known, told):
                return False
            for rank, old in known.ranks.items():
                self._on_node[Named(key.cluster, old.node)].discard((key.name, rank))
                if old.gpu_uuid is not None:
                    self._on_gpu[Named(key.cluster, old.gpu_uuid)].discard((key.name, rank))
        self.jobs[key] = told
        for rank, new in ranks.items():
            self._on_node.setdefault(Named(key.cluster, new.node), set()).add((key.name, rank))
            if new.gpu_uuid is not None:
                self._on_gpu.setdefault(Named(key.cluster, new.gpu_uuid), set()).add((key.name, rank))
        return True


def _may_hold(rank: Placement, index: int | None, holders: frozenset[str]) -> bool:
    if rank.gpu_uuid is not None:
        return False
    if rank.gpu_index is not None and index is not None:
        return rank.gpu_index == index
    if rank.pod is not None and holders:
        return rank.pod in holders
    return True
