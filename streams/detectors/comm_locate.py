"""Where a slow link is: communicators slow down as a whole, so one alone says only that it is among them.

(a) Each slow communicator accuses the ends that it has, each fast one of the same time clears them. (b) A send has two
ends only: one hot cell is a path, a hot row the sender's NIC, a hot column the receiver's.
"""

from collections import Counter
from dataclasses import dataclass, field

from streams.contract import Candidate
from streams.detectors.comm_limits import CommLimits
from streams.detectors.comm_state import Comm, CommState, End

NAMED = 8


@dataclass(slots=True)
class Place:
    """What is known of the place. `node` None: no single node is left."""

    node: str | None = None
    end: End | None = None
    """The one process whose network is slow, where the others of its node are not."""
    words: str = ""
    candidates: list[Candidate] = field(default_factory=list)
    comms: list[str] = field(default_factory=list)
    """The slow communicators."""
    judged: int = 0
    """Communicators that were compared with their past."""


def locate(limits: CommLimits, state: CommState, now_us: int) -> Place:
    """Put together what all communicators say now."""
    judged = {name: comm for name, comm in state.comms.items() if _is_judged(limits, comm, now_us)}
    slow = {name: comm for name, comm in judged.items() if comm.slow_us is not None}
    place = Place(comms=sorted(slow), judged=len(judged))
    inside = {next(iter({end.node for end in comm.ends.values()})) for comm in slow.values() if not comm.spans_nodes()}
    if slow and not any(comm.spans_nodes() for comm in slow.values()) and len(inside) == 1:
        place.node = next(iter(inside))
        place.words = f"only communicators inside {place.node} are slow: NVLink or PCIe, not the network"
        place.candidates = [Candidate(kind="node", id=place.node, score=1.0, why=place.words)]
        return place
    pairs = _by_pairs(limits, state, now_us)
    _by_groups(limits, judged, place)
    if pairs is None:
        return place
    pairs.comms, pairs.judged = place.comms, place.judged
    if pairs.node is None:
        # A path has two ends: one of them may be in the slow communicators, where the other is only in fast ones.
        score = {one.id: one.score for one in place.candidates}
        both = [one.id for one in pairs.candidates if score.get(one.id, 0.0) >= limits.clear_score]
        if len(both) == 1 and len(pairs.candidates) <= 2:
            pairs.node = both[0]
            pairs.words += f"; of the two only {both[0]} is in slow communicators as well"
            pairs.candidates.sort(key=lambda one: one.id != both[0])
    return pairs


def _is_judged(limits: CommLimits, comm: Comm, now_us: int) -> bool:
    return comm.series.judged_us > 0 and comm.series.judged_us + limits.fresh_us >= now_us


def _by_groups(limits: CommLimits, judged: dict[str, Comm], place: Place) -> None:
    """Rank ends by (slow groups that contain it) / (groups that contain it); a node by its worst end."""
    of: Counter[End] = Counter()
    bad: Counter[End] = Counter()
    for comm in judged.values():
        if not comm.spans_nodes():
            continue
        for end in set(comm.ends.values()):
            of[end] += 1
            bad[end] += comm.slow_us is not None
    nodes: dict[str, tuple[float, int, End]] = {}
    for end, count in bad.items():
        if count:
            now = (count / of[end], count, end)
            if end.node not in nodes or now[:2] > nodes[end.node][:2]:
                nodes[end.node] = now
    order = sorted(nodes.items(), key=lambda one: (-one[1][0], -one[1][1], one[0]))
    place.candidates = [
        Candidate(
            kind="node",
            id=node,
            score=round(score, 3),
            why=f"in {count} slow of {of[end]} communicators between nodes",
        )
        for node, (score, count, end) in order[:NAMED]
    ]
    if not order:
        return
    node, (score, count, end) = order[0]
    alone = len(order) == 1 or order[1][1][:2] < (score, count)
    if score < limits.clear_score or count < limits.clear_groups or not alone:
        place.words = f"the slow communicators have {len(order)} nodes in common that cannot be told apart"
        return
    place.node = node
    place.words = f"{count} of {of[end]} communicators with {node} are slow, those without it are not"
    worst = [one for one in bad if one.node == node and bad[one] and bad[one] / of[one] >= limits.clear_score]
    if end.pid is not None and len(worst) == 1 and sum(one.node == node for one in of) > 1:
        place.end = end


def _by_pairs(limits: CommLimits, state: CommState, now_us: int) -> Place | None:
    """The matrix of sends: None where none of it is slow."""
    hot: list[tuple[str, str]] = []
    sent: Counter[str] = Counter()
    received: Counter[str] = Counter()
    for comm in state.comms.values():
        if comm.heard_us + limits.fresh_us < now_us:
            continue
        for source, destination in comm.pairs.cells:
            a, b = comm.ends.get(source), comm.ends.get(destination)
            if a is not None and b is not None and a.node != b.node:
                sent[a.node] += 1
                received[b.node] += 1
        for source, destination in comm.pairs.hot(limits):
            a, b = comm.ends.get(source), comm.ends.get(destination)
            if a is not None and b is not None and a.node != b.node:
                hot.append((a.node, b.node))
    if not hot:
        return None
    out, into = Counter(a for a, _ in hot), Counter(b for _, b in hot)
    share = {
        node: max(out[node] / sent[node] if sent[node] else 0.0, into[node] / received[node] if received[node] else 0.0)
        for node in {*out, *into}
    }
    touch = {node: sum(node in ends for ends in hot) for node in share}
    order = sorted(share, key=lambda node: (-touch[node], -share[node], node))
    first = order[0]
    place = Place(
        candidates=[
            Candidate(
                kind="node",
                id=node,
                score=round(touch[node] / len(hot), 3),
                why=f"{out[node]} of {sent[node]} of its sends and {into[node]} of {received[node]} of its receives "
                "are slow",
            )
            for node in order[:NAMED]
        ]
    )
    paths = sorted(set(hot))
    alone = len(order) < 2 or touch[order[1]] < touch[first]
    if touch[first] == len(hot) and alone and len(paths) > 1:
        place.node = first
        side = "sender" if not into[first] else "receiver" if not out[first] else "both ways"
        place.words = f"all {len(paths)} slow paths between nodes have {first} at one end ({side})"
    else:
        shown = ", ".join(f"{a} to {b}" for a, b in paths[:NAMED])
        place.words = f"slow between nodes: {shown}"
    return place
