"""Words on nodes as lines for a terminal, worst first."""

from collections.abc import Sequence
from datetime import UTC, datetime

from streams.contract import NodeHealth

MOST_REASONS = 3
WORDS = {
    "hard_fault": "hard fault",
    "two_kinds": "two kinds of fault within a day",
    "score": "score below the limit",
    "fleet_guard": "should be out, but too many are",
    "drained": "taken out of service",
    "planned_work": "planned work",
    "empty": "no job is on it any more",
    "undrained": "put back before it was empty",
    "returned": "put back into service",
    "clean": "no fault for long enough",
    "clear": "score good for long enough",
    "faded": "its faults are past",
    "silent": "nothing is heard of it",
}
"""Reason codes in words."""


def table(nodes: Sequence[NodeHealth]) -> list[str]:
    """A line a node: name, score, state, advice, why."""
    if not nodes:
        return ["no node was judged yet; is `lockstep stream` running?"]
    rows = [("NODE", "SCORE", "STATE", "WORK", "WHY")]
    for node in sorted(nodes, key=lambda n: (not n.cordon, n.schedulable, n.score, n.cluster, n.node)):
        work = "take out" if node.cordon else "yes" if node.schedulable else "no"
        rows.append((node.node, f"{node.score:g}", node.state, work, why(node)))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    return ["  ".join(cell.ljust(w) for cell, w in zip(row, [*widths, 0], strict=True)).rstrip() for row in rows]


def detail(node: NodeHealth) -> list[str]:
    """All that was said of one node."""
    lines = [
        f"{node.node} (cluster {node.cluster}): {node.state}, {node.score:g} of 100, weights version {node.version}"
    ]
    lines.append("take it out of service" if node.cordon else "may get work" if node.schedulable else "gets no work")
    if node.why:
        came = f"{time(node.since_us)}  {node.before or 'new'} -> {node.state}: {WORDS.get(node.why, node.why)}"
        lines.append(f"{came} (by {'the scheduler' if node.actor == 'scheduler' else node.actor})")
        lines += [f"  evidence: {key}" for key in node.evidence]
    lines += [f"-{r.points:g}  {r.cause} on {r.part} since {time(r.since_us)}" for r in node.reasons]
    return lines


def why(node: NodeHealth) -> str:
    """The last move, and the heaviest reasons."""
    parts = [f"{WORDS.get(node.why, node.why)} since {time(node.since_us)}"] if node.why else []
    parts += [f"{r.cause} on {r.part} -{r.points:g}" for r in node.reasons[:MOST_REASONS]]
    return "; ".join(parts)


def time(ts_us: int) -> str:
    """UTC, to the minute."""
    return datetime.fromtimestamp(ts_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M")
