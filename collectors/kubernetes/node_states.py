"""Nodes as the API lists them -> a word on each: cordoned, tainted, not ready, and the rack by a label.

Kubernetes closes a node that died by taints of its own; `spec.unschedulable` is somebody's purpose, unless a health
system says by its label that it found a fault. Taints that keep a node for some work (`nvidia.com/gpu`) close nothing.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from collectors.contract.node import NodeState
from collectors.kubernetes_api import PAGE, KubernetesApi, inner, objects, text
from collectors.nodes.listing import MOST_NODES, NodeListing
from collectors.source import SourceError

RACK_LABELS = ("topology.kubernetes.io/rack", "topology.rook.io/rack")
DEAD_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
MEANT_TAINTS = (
    "node.kubernetes.io/out-of-service",
    "ToBeDeletedByClusterAutoscaler",
    "karpenter.sh/disrupted",
)
FAULT_TAINTS = ("lockstep.dev/faulty",)
"""Set by scripts that follow node health: closed for a fault."""
FAULT_LABELS = ("dgxc.nvidia.com/nvsentinel-state",)
"""A health system's mark on a node that it closed for a fault."""
RIGHTS = "list of nodes"


def read_nodes(
    rows: Sequence[dict[str, Any]], ts_us: int, cluster: str, rack_labels: Sequence[str] = RACK_LABELS
) -> NodeListing:
    """`rows`: the items of a list of nodes."""
    states: dict[str, NodeState] = {}
    unread: list[str] = []
    for row in rows:
        name = text(inner(row, "metadata").get("name"))
        if name is None:
            unread.append("a node without a name")
        else:
            states[name] = _state(name, row, ts_us, cluster, rack_labels)
    return NodeListing(states, not unread, tuple(unread))


def looks_like(document: Any) -> bool:
    """Is this JSON a list of nodes, or one node?"""
    return isinstance(document, dict) and (isinstance(document.get("items"), list) or document.get("kind") == "Node")


def items(document: dict[str, Any]) -> list[dict[str, Any]]:
    """Nodes of what `kubectl get nodes --output=json` wrote, of all or of one."""
    found = [document] if document.get("kind") == "Node" else objects(document, "items")
    return [row for row in found if row.get("kind") in (None, "Node")]


def nodes_of(
    kubeconfig: Path | None, cluster: str, now_us: Callable[[], int], rack_labels: Sequence[str]
) -> Callable[[], NodeListing]:
    """Asks for all nodes, a page after another, each time it is called. Raises `SourceError`."""
    api = KubernetesApi(kubeconfig)

    def ask() -> NodeListing:
        import kubernetes.client

        core = kubernetes.client.CoreV1Api(api.client)
        rows: list[dict[str, Any]] = []
        more: str | None = None
        before, at = api.bytes, now_us()
        while True:
            options: dict[str, Any] = {"limit": PAGE} | ({"_continue": more} if more else {})
            answer = api.ask("list nodes", RIGHTS, core.list_node, **options)
            if answer is None:
                raise SourceError(f"{api.host}: it knows no nodes; is it the API server of a cluster?")
            rows += objects(answer, "items")
            more = text(inner(answer, "metadata").get("continue"))
            if not more:
                return replace(read_nodes(rows, at, cluster, rack_labels), size=api.bytes - before)
            if len(rows) > MOST_NODES:
                raise SourceError(f"{api.host}: more than {MOST_NODES} nodes")

    return ask


def _state(name: str, row: dict[str, Any], ts_us: int, cluster: str, rack_labels: Sequence[str]) -> NodeState:
    meta, spec, status = inner(row, "metadata"), inner(row, "spec"), inner(row, "status")
    labels = inner(meta, "labels")
    ready = {one.get("type"): one.get("status") for one in objects(status, "conditions")}.get("Ready")
    taints = [
        str(one.get("key")) for one in objects(spec, "taints") if one.get("effect") in ("NoSchedule", "NoExecute")
    ]
    cordoned = spec.get("unschedulable") is True
    dead = ready in ("False", "Unknown") or any(key in DEAD_TAINTS for key in taints)
    meant = [key for key in taints if key in MEANT_TAINTS or "maintenance" in key.lower()]
    tainted = [key for key in taints if key in FAULT_TAINTS]
    faulty = [*tainted, *(f"{key}={labels[key]}" for key in FAULT_LABELS if text(labels.get(key)))]
    closed = cordoned or dead or bool(meant) or bool(tainted)
    states = [] if ready is None else ["Ready" if ready == "True" else "NotReady"]
    states += ["SchedulingDisabled"] if cordoned else []
    why = [*meant, *faulty, *(key for key in taints if key in DEAD_TAINTS)]
    return NodeState(
        cluster=cluster,
        node=name,
        ts_us=ts_us,
        source="kubernetes",
        schedulable=None if ready is None and not closed else not closed,
        planned=bool(meant) or (cordoned and not faulty) if closed or ready is not None else None,
        states=states,
        reason=", ".join(why) or None,
        rack=next((found for label in rack_labels if (found := text(labels.get(label)))), None),
    )


def read_list(raw: bytes, ts_us: int, cluster: str, rack_labels: Sequence[str] = RACK_LABELS) -> NodeListing:
    """What kubectl wrote. Raises `ValueError`."""
    try:
        document = json.loads(raw)
    except RecursionError as why:
        raise ValueError("nested too deep") from why
    if not looks_like(document):
        raise ValueError("no list of nodes in it")
    return replace(read_nodes(items(document), ts_us, cluster, rack_labels), size=len(raw))
