"""Which rank of the job, on which node and GPU, a process is: RAS and NCCL know communicators, not jobs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from collectors.contract.job import CommMember, JobEvent, Placement

NAMED = 16
"""Ranks named in a summary, in the evidence or among the candidates."""
_MOST_PIDS = 1 << 17


class Who(NamedTuple):
    """One process. What is not known is None; `label` tells processes apart and is never empty."""

    label: str
    rank: int | None = None
    node: str | None = None
    gpu_index: int | None = None
    gpu_uuid: str | None = None
    pid: int | None = None

    def words(self) -> str:
        """`rank 5 (node-01 GPU 3)`."""
        name = f"rank {self.rank}" if self.rank is not None else self.label
        place = []
        if self.node is not None and self.node not in name:
            place.append(self.node)
        if self.gpu_index is not None and "GPU" not in name:
            place.append(f"GPU {self.gpu_index}")
        elif self.gpu_uuid is not None:
            place.append(self.gpu_uuid)
        return f"{name} ({' '.join(place)})" if place else name


@dataclass(slots=True)
class Roll:
    """What a job's events tell of its processes."""

    placement: dict[int, Placement] = field(default_factory=dict)
    placed_us: int = -1
    pids: dict[tuple[str, int], int] = field(default_factory=dict)
    """(Node, process id) -> rank."""
    nodes: dict[int, str] = field(default_factory=dict)
    """Rank -> the node that last reported it."""
    gpus: dict[tuple[str, int], int] = field(default_factory=dict)
    """(Node, process id) -> index of its GPU on the node."""
    _spots: dict[tuple[str, int], int] = field(default_factory=dict)
    """(Node, index of the GPU on it) -> rank."""

    def learn(self, event: JobEvent) -> None:
        """A placement, or where one rank runs. A scheduler's rows are no ranks."""
        rows = [place for place in event.placement if place.rank >= 0]
        if event.kind == "placed" and rows and event.ts_us > self.placed_us:
            self.placed_us = event.ts_us
            self.placement = {place.rank: place for place in rows}
            self._spots = {(place.node, place.gpu_index): place.rank for place in rows if place.gpu_index is not None}
        if event.rank is not None and event.node is not None:
            self.nodes[event.rank] = event.node
            if event.pid is not None and len(self.pids) < _MOST_PIDS:
                self.pids[(event.node, event.pid)] = event.rank

    def learn_members(self, comm_size: int | None, members: Sequence[CommMember]) -> None:
        """Which GPU a process holds; in a communicator as large as the job also which rank it is."""
        whole = comm_size is not None and comm_size > 1 and comm_size == self.world()
        for member in members:
            if member.host is None or member.pid is None or len(self.gpus) >= _MOST_PIDS:
                continue
            if member.nvml is not None:
                self.gpus[(member.host, member.pid)] = member.nvml
            if whole:
                self.pids.setdefault((member.host, member.pid), member.rank)

    def world(self) -> int | None:
        """Ranks of the job; None: not known."""
        known = len(self.placement) if self.placement else len(self.nodes)
        return known if known > 0 else None

    def by_node(self) -> dict[str, set[int]]:
        """Node -> ranks that run there, as far as known."""
        nodes = {rank: place.node for rank, place in self.placement.items()} if self.placement else self.nodes
        out: dict[str, set[int]] = {}
        for rank, node in nodes.items():
            out.setdefault(node, set()).add(rank)
        return out

    def on_node(self, node: str) -> set[int]:
        """Ranks that run on a node, as far as known."""
        return self.by_node().get(node, set())

    def of_rank(self, rank: int, node: str | None = None, pid: int | None = None) -> Who:
        """A rank of the job."""
        place = self.placement.get(rank)
        if place is None:
            return Who(f"rank {rank}", rank, node or self.nodes.get(rank), pid=pid)
        return Who(f"rank {rank}", rank, place.node, place.gpu_index, place.gpu_uuid, pid)

    def of_process(self, node: str | None, pid: int | None, gpu_index: int | None, label: str) -> Who:
        """A process by where it runs. `label` names it where its rank is not known."""
        rank = None
        if node is not None and pid is not None:
            rank = self.pids.get((node, pid))
            gpu_index = gpu_index if gpu_index is not None else self.gpus.get((node, pid))
        if rank is None and node is not None and gpu_index is not None:
            rank = self._spots.get((node, gpu_index))
        if rank is None:
            return Who(label, None, node, gpu_index, None, pid)
        who = self.of_rank(rank, node, pid)
        return who if who.gpu_index is not None else who._replace(gpu_index=gpu_index)

    def of_member(self, comm: str, size: int | None, rank: int, members: Mapping[int, CommMember]) -> Who:
        """A rank of a communicator. In one as large as the job its numbers are the job's."""
        member = members.get(rank)
        host, pid = (member.host, member.pid) if member is not None else (None, None)
        gpu = member.nvml if member is not None else None
        label = f"process {pid} on {host}" if host is not None and pid is not None else f"rank {rank} of {comm}"
        if gpu is not None and host is not None:
            label = f"{host} GPU {gpu}" if pid is None else f"{label} GPU {gpu}"
        found = self.of_process(host, pid, gpu, label)
        if found.rank is None and size is not None and size > 1 and size == self.world():
            whole = self.of_rank(rank, host, pid)
            return whole if whole.gpu_index is not None else whole._replace(gpu_index=gpu)
        return found


def listed(some: list[Who]) -> str:
    """The first of them in words."""
    return ", ".join(who.words() for who in some[:NAMED]) + (" ..." if len(some) > NAMED else "")


def listed_numbers(ranks: list[int]) -> str:
    """The first of these ranks, by number."""
    return ", ".join(str(rank) for rank in ranks[:NAMED]) + (" ..." if len(ranks) > NAMED else "")


def in_order(some: set[Who]) -> list[Who]:
    """By rank, those without one last."""
    return sorted(some, key=lambda who: (who.rank is None, who.rank or 0, who.label))
