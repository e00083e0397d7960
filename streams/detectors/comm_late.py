"""Ranks that come last in their collectives: they have the *shortest* times, and the others wait for them."""

import math
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from streams.detectors.comm_limits import CommLimits
from streams.detectors.comm_state import Comm, CommState, End
from streams.detectors.straggler_statistic import median

_NODES = 3
"""Of two nodes one comes last by half of chance."""
_ROUNDS = 2
"""Times `collectives` that are looked back on at most."""


class Look(NamedTuple):
    """What the last windows of one communicator say."""

    since_us: int
    collectives: int
    last: tuple[int, ...]
    """The rank that came last most often; where no single one stands out, those of the node that did."""
    share: float
    """In this share of the collectives."""
    waits: float
    """The others' median waits, as a share of the time."""
    wait_s: float
    sure: bool
    """Enough collectives, and no chance."""


@dataclass(slots=True)
class Late:
    """One process that others wait for, and what says so."""

    end: End
    rank_in: dict[str, int] = field(default_factory=dict)
    """Communicator -> its rank there."""
    looks: dict[str, Look] = field(default_factory=dict)
    replica: bool = False
    """It stands for its pipeline: which stage it is cannot be told."""
    staged: bool = False
    """The pipeline's sends and receives named it."""


def look(limits: CommLimits, comm: Comm) -> Look | None:
    """The newest windows that hold enough collectives, and further ones while it may be chance.

    None: there are not enough.
    """
    count, rounds, seconds, wait_s = 0, 0, 0.0, 0.0
    last: dict[int, int] = {}
    waits = []
    found: Look | None = None
    for window in reversed(comm.series.windows):
        count += window.count
        rounds += window.rounds
        seconds += window.seconds
        wait_s += window.wait_s
        waits.append(window.waits)
        for rank, times in window.last.items():
            last[rank] = last.get(rank, 0) + times
        if count < limits.collectives or seconds * 1e6 < limits.late_least_us:
            continue
        most, of, share = _most(limits, comm, last, count)
        sure = _sure(limits, of / comm.size, rounds, share)
        since_us = window.ts_us - int(window.seconds * 1e6)
        now = Look(since_us, count, most, share, wait_s / seconds, median(waits), sure)
        found = now if sure or found is None else found
        if sure or rounds >= _ROUNDS * limits.collectives:
            break
    return found


def _most(limits: CommLimits, comm: Comm, last: dict[int, int], count: int) -> tuple[tuple[int, ...], int, float]:
    """Who came last most often, of how many ranks, in which share of the collectives.

    All ranks of a slow host are late, and each in a part of the collectives only: together they stand out.
    """
    rank = max(last, key=lambda one: last[one], default=None)
    if rank is None:
        return (), 1, 0.0
    if last[rank] >= limits.share * count:
        return (rank,), 1, last[rank] / count
    nodes: dict[str, list[int]] = {}
    for one, end in comm.ends.items():
        nodes.setdefault(end.node, []).append(one)
    times = {node: sum(last.get(one, 0) for one in ranks) for node, ranks in nodes.items()}
    node = max(times, key=lambda name: (times[name], name), default=None)
    if node is None or len(nodes) < _NODES or times[node] < limits.share * count:
        return (rank,), 1, last[rank] / count
    late = tuple(sorted(one for one in nodes[node] if last.get(one, 0) > 0))
    return late, len(nodes[node]), times[node] / count


def _sure(limits: CommLimits, even: float, rounds: int, share: float) -> bool:
    """Chernoff: a draw by chance has such a share with a probability of at most exp(-rounds x D(share || even))."""
    if share < limits.share or share <= even:
        return False
    far = share * math.log(share / even)
    if share < 1:
        far += (1 - share) * math.log((1 - share) / (1 - even))
    return rounds * far >= limits.chance


def is_late(limits: CommLimits, seen: Look) -> bool:
    """Does one rank hold the communicator up?"""
    return seen.sure and seen.waits > limits.waits


def is_calm(limits: CommLimits, seen: Look, rank: int) -> bool:
    """Is it clear that this rank holds nobody up?"""
    return seen.waits < limits.settled_waits or rank not in seen.last or seen.share < limits.settled_share


def late_ranks(limits: CommLimits, state: CommState, now_us: int) -> list[Late]:
    """Processes that others wait for and that wait for nobody themselves; all, where each waits for another."""
    pipes = {name: comm for name, comm in state.comms.items() if comm.pairs.cells and comm.pairs.is_pipeline()}
    pipe_of: dict[End, str] = {end: name for name, comm in pipes.items() for end in comm.ends.values()}
    late: dict[End, Late] = {}
    waiting: set[End] = set()
    for name, comm in state.comms.items():
        seen = fresh_look(limits, comm, now_us)
        if seen is None or not seen.last or seen.share < limits.share or seen.waits <= limits.waits:
            continue
        ends = [(rank, comm.ends[rank]) for rank in seen.last if rank in comm.ends]
        if not ends or _crosses(state, comm, pipe_of):
            continue
        # To excuse those that wait takes less than to blame the one that they wait for.
        waiting |= {other for rank, other in comm.ends.items() if rank not in seen.last}
        if not seen.sure:
            continue
        for rank, end in ends:
            found = late.setdefault(end, Late(end))
            found.rank_in[name], found.looks[name] = rank, seen
    # A node that stands for its processes may hold both: those that are late and those that wait.
    waiting = {end for end in waiting if end.pid is not None}
    staged = _stages(limits, pipes, pipe_of, late)
    return [found for end, found in staged.items() if end not in waiting] or list(staged.values())


def fresh_look(limits: CommLimits, comm: Comm, now_us: int) -> Look | None:
    """None where its newest window is old."""
    windows = comm.series.windows
    if not windows or windows[-1].ts_us + limits.fresh_us < now_us:
        return None
    return look(limits, comm)


def _crosses(state: CommState, comm: Comm, pipe_of: dict[End, str]) -> bool:
    """Does it join stages of a pipeline? Their loads differ by design, so the last to come is no fault."""
    stages = set()
    for rank in islice(comm.ends, 64):
        end = comm.ends[rank]
        who = state.roll.of_process(end.node, end.pid, None, "")
        place = state.roll.placement.get(who.rank) if who.rank is not None else None
        if place is not None:
            stages.add(place.coords.pp)
    if len(stages) > 1:
        return True
    pipes = [pipe_of[end] for end in comm.ends.values() if end.pid is not None and end in pipe_of]
    return len(set(pipes)) < len(pipes)


def _stages(
    limits: CommLimits, pipes: dict[str, Comm], pipe_of: dict[End, str], late: dict[End, Late]
) -> dict[End, Late]:
    """A late rank holds up its whole replica: of a pipeline's late ranks only the stage that keeps others waiting."""
    out: dict[End, Late] = {}
    for end, found in late.items():
        name = pipe_of.get(end) if end.pid is not None else None
        if name is None:
            out[end] = found
            continue
        stage = pipes[name].pairs.stage(limits, min(seen.since_us for seen in found.looks.values()))
        at = pipes[name].ends.get(stage) if stage is not None else None
        if at is None:
            found.replica = True
            out[end] = found
            continue
        same = out.setdefault(at, late.get(at, Late(at)))
        same.staged = True
        same.rank_in = {**found.rank_in, **same.rank_in}
        same.looks = {**found.looks, **same.looks}
    return out
