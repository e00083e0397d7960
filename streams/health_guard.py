"""No fault that looks the same everywhere may empty the fleet: how many nodes may be advised out."""

from typing import Literal

from streams.contract import Evidence, Finding, Subject
from streams.health_book import HealthBook, NodeMarks
from streams.health_limits import HOUR_US, HealthLimits
from streams.placements import Named

CAUSE = "fleet_guard"
MOST_NAMED = 16
"""Nodes that a finding names."""


def may_cordon(book: HealthBook, cluster: str, ts_us: int, limits: HealthLimits) -> bool:
    """Is one more within the share of the pool, and within the pace?"""
    pool = book.of_cluster(cluster)
    out = [node.cordoned_us for node in pool if node.cordon and node.cordoned_us is not None]
    most = max(limits.guard_few, int(limits.guard_share * len(pool)))
    return len(out) < most and sum(ts_us - us < HOUR_US for us in out) < limits.guard_per_hour


def again_us(book: HealthBook, cluster: str, ts_us: int, limits: HealthLimits) -> int | None:
    """When the pace lets one more out; None: the share forbids it, until a node comes back."""
    pool = book.of_cluster(cluster)
    out = sorted(node.cordoned_us for node in pool if node.cordon and node.cordoned_us is not None)
    if len(out) >= max(limits.guard_few, int(limits.guard_share * len(pool))) or limits.guard_per_hour <= 0:
        return None
    return max(ts_us, out[-limits.guard_per_hour] + HOUR_US) if len(out) >= limits.guard_per_hour else ts_us


def held(book: HealthBook, cluster: str) -> list[Named]:
    """Nodes that should be out and are not."""
    return [name for name, node in book.nodes.items() if name.cluster == cluster and node.held_us is not None]


def wake(book: HealthBook, cluster: str, ts_us: int) -> None:
    """There may be room again: nodes that are held are to be looked at now."""
    for name in held(book, cluster):
        due_us = book.nodes[name].due_us
        book.nodes[name].due_us = ts_us if due_us is None else min(due_us, ts_us)
        book.changed.add(name)


def hold(book: HealthBook, cluster: str, node: NodeMarks, ts_us: int, limits: HealthLimits) -> list[Finding]:
    """One more that should be out and is not; told at the first, and as their number doubles."""
    others = [n.held_us for n in book.of_cluster(cluster) if n.held_us is not None]
    node.held_us = others[0] if others else ts_us
    count = len(others) + 1
    if count & (count - 1):
        return []
    return [_finding(book, cluster, node.held_us, ts_us, count, "updated" if others else "opened", limits)]


def release(book: HealthBook, cluster: str, node: NodeMarks, ts_us: int, limits: HealthLimits) -> list[Finding]:
    """It is out by now, or well again; the last one ends the episode."""
    since, node.held_us = node.held_us, None
    if since is None or any(n.held_us is not None for n in book.of_cluster(cluster)):
        return []
    return [_finding(book, cluster, since, ts_us, 0, "cleared", limits)]


def _finding(
    book: HealthBook,
    cluster: str,
    since_us: int,
    ts_us: int,
    waiting: int,
    state: Literal["opened", "updated", "cleared"],
    limits: HealthLimits,
) -> Finding:
    pool = book.of_cluster(cluster)
    out = sum(node.cordon for node in pool)
    bad: dict[str, int] = {}
    for node in pool:
        if node.held_us is not None or node.cordon:
            for word in {m.cause for m in node.marks.values() if m.cleared_us is None}:
                bad[word] = bad.get(word, 0) + 1
    common = sorted(bad.items(), key=lambda kv: (-kv[1], kv[0]))[:3]
    most = max(limits.guard_few, int(limits.guard_share * len(pool)))
    said = (
        f"{waiting} more of {len(pool)} nodes should be out of service, beside {out} that are advised out"
        if waiting
        else f"no more nodes wait for the guard; {out} of {len(pool)} are advised out"
    )
    return Finding(
        cluster=cluster,
        ts_us=ts_us,
        detector="health",
        state=state,
        subject=Subject(kind="pool", id=cluster),
        episode_us=since_us,
        severity="critical",
        cause=CAUSE,
        value=waiting,
        limit=most,
        unit="nodes",
        summary=said,
        evidence=[
            *(Evidence(what=f"nodes with {word}", value=count, unit="nodes") for word, count in common),
            *(Evidence(what=f"{name.name} waits for the guard") for name in held(book, cluster)[:MOST_NAMED]),
        ],
        action="look for what these nodes share (driver or image or power or a limit set wrong) before draining any",
    )
