"""Whole nodes against each other: ranks of one host that are all a little slow are sure before any single one is."""

import math
from collections import defaultdict

from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_state import StragglerState
from streams.detectors.straggler_statistic import median, slow_window
from streams.detectors.straggler_track import Track
from streams.detectors.straggler_words import Candidate

_SAMPLED_NODES = 64
"""Nodes that stand for the noise of all."""


def remember_nodes(limits: StragglerLimits, state: StragglerState) -> None:
    """Add one judged step: of each node the median ratio of its ranks to their peers elsewhere.

    The median, because one rank that is very slow is a slow GPU and no slow host. Nodes that hold a whole peer group
    have no peers elsewhere and show nothing here.
    """
    by_node: dict[str, list[float]] = defaultdict(list)
    for group in state.groups:
        for rank, x in group.compute.last.items():
            node = state.node_of(rank)
            if node is not None:
                by_node[node].append(x)
    names = sorted(node for node, ratios in by_node.items() if len(ratios) >= limits.host_ranks)
    if len(names) < limits.host_nodes:
        return
    if state.nodes_track is None or state.nodes_named != names:
        state.nodes_named = names
        size = len(names)
        state.nodes_track = Track(size, range(size)[:: -(-size // _SAMPLED_NODES)])
    state.nodes_track.remember(limits, {i: math.exp(median(by_node[node])) for i, node in enumerate(names)})


def look_at_nodes(limits: StragglerLimits, state: StragglerState) -> list[Candidate]:
    """The ranks of nodes that are newly slow as a whole, after a judged step."""
    track = state.nodes_track
    if track is None:
        return []
    suspected = {suspect.node for suspect in state.kept.suspects.values()}
    out: list[Candidate] = []
    for i, x in track.last.items():
        node = state.nodes_named[i]
        if x <= math.log(limits.effect) / 2 or node in suspected:
            continue
        slow = slow_window(
            limits,
            track.ratios[i],
            lambda n, i=i: track.noise(limits, i, n),  # type: ignore[misc]
            len(track.last),
        )
        if slow is not None:
            out += _ranks_of(state, node, slow.window, slow.sigma, math.log(limits.effect) / 2)
    return out


def _ranks_of(state: StragglerState, node: str, window: int, sigma: float, least: float) -> list[Candidate]:
    """Those of its ranks that were slower than their peers over the window, typically, by half the effect at least.

    Of two ranks the median is the mean: one that is very slow makes the node look slow, and the other is as ever.
    """
    out = []
    for group in state.groups:
        for rank in group.ranks:
            ratios = group.compute.ratios.get(rank)
            if ratios and state.node_of(rank) == node and (x := median(list(ratios[-window:]))) > least:
                out.append(Candidate(rank, math.exp(x), window, sigma, group))
    return out
