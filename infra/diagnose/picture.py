"""Own compute of each rank over its peers, over time: a line a rank, or a node where there are many."""

import math
from collections.abc import Mapping, Sequence

from collectors.contract.job import Placement
from infra.diagnose.series import Step, beside_peers

MOST_ROWS = 64
MOST_PARTS = 60
Row = tuple[str, list[float | None]]


def heat(steps: Sequence[Step], placement: Mapping[int, Placement]) -> list[Row]:
    """(name, ratio to the peers in each part of the time); the worst of a node stands for it."""
    if not steps:
        return []
    size = max(1, math.ceil(len(steps) / MOST_PARTS))
    parts = [beside_peers(steps[at : at + size], placement) for at in range(0, len(steps), size)]
    ranks = sorted({rank for part in parts for rank in part})
    if len(ranks) <= MOST_ROWS:
        return [(f"rank {rank}", [part.get(rank) for part in parts]) for rank in ranks]
    nodes: dict[str, list[int]] = {}
    for rank in ranks:
        place = placement.get(rank)
        nodes.setdefault(place.node if place is not None else "?", []).append(rank)
    rows: list[Row] = []
    for node, mine in nodes.items():
        rows.append((node, [max((part[r] for r in mine if r in part), default=None) for part in parts]))
    if len(rows) > MOST_ROWS:
        worst = sorted(rows, key=lambda row: -_worst(row))[:MOST_ROWS]
        rows = [row for row in rows if row in worst]
    return rows


def _worst(row: Row) -> float:
    return max((value for value in row[1] if value is not None), default=0.0)
