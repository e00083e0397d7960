"""JSON of `scontrol show nodes`, `sinfo` and `scontrol show reservations` -> a word on each node.

A state is one word with `state_flags` beside it, or since data_parser/v0.0.39 a list of both. Who closed a node is
`reason_set_by_user`: Slurm itself and health checks that slurmd runs are `slurm` and `root`.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from collectors.contract.node import NodeState
from collectors.discovery.hostlist import HostlistError, expand
from collectors.nodes.listing import MOST_NODES, NodeListing
from collectors.slurm.reply import ReplyError
from collectors.slurm.values import complaint, moment, words

COMMANDS = (("scontrol", "show", "nodes", "--json"), ("scontrol", "show", "reservations", "--json"))
MACHINES = frozenset({"root", "slurm"})
"""Users whose closing of a node says nothing of a purpose."""
DRAIN = frozenset({"DRAIN", "DRAINING", "DRAINED"})
DEAD = frozenset({"DOWN", "FAIL", "FAILING", "ERROR", "NOT_RESPONDING", "NO_RESPOND", "INVALID_REG"})
PLANNED = frozenset({"MAINTENANCE", "MAINT", "REBOOT_ISSUED"})
REBOOT = frozenset({"REBOOT_REQUESTED", "REBOOT", "REBOOT_ISSUED"})
ASLEEP = frozenset({"POWERED_DOWN", "POWERING_DOWN", "POWER_DOWN"})
"""Switched off to save power: takes work, and answers nobody."""
KNOWN_BASES = frozenset({"IDLE", "ALLOCATED", "MIXED", "DOWN", "ERROR", "FUTURE", "UNKNOWN", "ALLOC", "MIX"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """A reservation for maintenance."""

    name: str
    nodes: frozenset[str]
    from_us: int
    until_us: int


def read_nodes(raws: Sequence[bytes], ts_us: int, cluster: str, rack: re.Pattern[str] | None = None) -> NodeListing:
    """Answers that were given at about one time, in any order. `rack`: its first group in a node's features, comment
    or name is its rack. Raises `ReplyError`; a single bad node is said in `unread`."""
    documents = [_document(raw) for raw in raws]
    unread: list[str] = []
    work = [one for document in documents for one in _works(document, unread)]
    states: dict[str, NodeState] = {}
    for row in (row for document in documents for row in _rows(document)):
        try:
            for state in _states(row, ts_us, cluster, rack):
                states[state.node] = _with_work(state, work)
        except (HostlistError, ValueError) as why:
            unread.append(str(why)[:200])
    complete = not unread and any("nodes" in document or "sinfo" in document for document in documents)
    return NodeListing(states, complete, tuple(unread), sum(map(len, raws)))


def looks_like(document: Any) -> bool:
    """Is this JSON an answer of Slurm on nodes or reservations?"""
    return isinstance(document, dict) and any(isinstance(document.get(k), list) for k in _KEYS)


_KEYS = ("nodes", "sinfo", "reservations")


def _document(raw: bytes) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as why:
        raise ReplyError(f"not JSON: {why}") from why
    if not looks_like(document):
        raise ReplyError("no list of nodes in it; it is not what scontrol show nodes or sinfo write with --json")
    if errors := [complaint(one) for one in document.get("errors") or ()]:
        raise ReplyError("; ".join(errors[:3]))
    return dict(document)


def _rows(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for row in document.get("nodes") or ():
        if isinstance(row, dict):
            yield row
    # sinfo groups nodes that are alike.
    for group in document.get("sinfo") or ():
        if not isinstance(group, dict):
            continue
        reason, node, nodes, features = (_inner(group, key) for key in ("reason", "node", "nodes", "features"))
        for name in words(nodes.get("nodes")):
            yield {
                "name": name,
                "state": node.get("state"),
                "reason": reason.get("description"),
                "reason_set_by_user": reason.get("user"),
                "features": features.get("total"),
            }


def _states(row: dict[str, Any], ts_us: int, cluster: str, rack: re.Pattern[str] | None) -> Iterator[NodeState]:
    name = row.get("name") or row.get("hostname")
    if not isinstance(name, str):
        raise ValueError("a node without a name")
    flags = [word.upper().rstrip("*~#!%$@^-+") for word in (*words(row.get("state")), *words(row.get("state_flags")))]
    held = set(flags)
    reason = row.get("reason") if isinstance(row.get("reason"), str) and row.get("reason") not in ("", "none") else None
    user = row.get("reason_set_by_user")
    person = user if isinstance(user, str) and user and user not in MACHINES and reason else None
    closed = bool(held & (DRAIN | DEAD | PLANNED))
    known = bool(held & KNOWN_BASES) or closed or bool(held & ASLEEP)
    planned: bool | None = False if known and not (held & DRAIN) else None
    if held & (PLANNED | ASLEEP) or (held & DRAIN and held & REBOOT) or (closed and person is not None):
        planned = True
    for node in expand(name, MOST_NODES):
        yield NodeState(
            cluster=cluster,
            node=node,
            ts_us=ts_us,
            source="slurm",
            schedulable=None if not known or held & {"FUTURE", "UNKNOWN"} else not closed,
            planned=planned if known else None,
            states=flags,
            reason=reason,
            by=person if closed else None,
            rack=_rack(row, node, rack),
        )


def _rack(row: dict[str, Any], node: str, rack: re.Pattern[str] | None) -> str | None:
    if rack is None:
        return None
    for text in (*words(row.get("features")), *words(row.get("comment")), *words(row.get("extra")), node):
        if (found := rack.search(text)) is not None:
            return found[1] or None
    return None


def _works(document: dict[str, Any], unread: list[str]) -> Iterator[Work]:
    for row in document.get("reservations") or ():
        if not isinstance(row, dict) or not {"MAINT", "MAINTENANCE"} & set(words(row.get("flags"))):
            continue
        start, end = moment(row.get("start_time")), moment(row.get("end_time"))
        name, nodes = str(row.get("name") or "?"), row.get("node_list")
        try:
            named = frozenset(expand(nodes, MOST_NODES)) if isinstance(nodes, str) else frozenset()
        except HostlistError as why:
            unread.append(f"reservation {name}: {why}"[:200])
            continue
        if start is not None and end is not None:
            yield Work(name=name, nodes=named, from_us=start * 1_000_000, until_us=end * 1_000_000)


def _with_work(state: NodeState, work: Sequence[Work]) -> NodeState:
    at = state.ts_us
    mine = [w for w in work if state.node in w.nodes and w.from_us <= at < w.until_us]
    if not mine:
        return state
    last = max(mine, key=lambda w: w.until_us)
    said = state.reason or f"reservation {last.name}"
    return msgspec.structs.replace(state, planned=True, schedulable=False, until_us=last.until_us, reason=said)


def _inner(row: dict[str, Any], key: str) -> dict[str, Any]:
    found = row.get(key)
    return found if isinstance(found, dict) else {}
