"""Pods, made up in the form of `kubectl get pods --output=json`."""

from typing import Any

START = "2026-01-02T10:00:00Z"
END = "2026-01-02T11:00:00Z"


def pod(name: str, *, gpus: int = 8, node: str = "gpu-1", phase: str = "Running", **more: Any) -> dict[str, Any]:
    """One pod; `labels`, `owner` (kind, name) and `code` (exit code) are told by name."""
    code = more.pop("code", 0)
    owner = more.pop("owner", None)
    limits = {"cpu": "8", "nvidia.com/gpu": str(gpus)} if gpus else {"cpu": "8"}
    meta: dict[str, Any] = {"name": name, "namespace": "ml", "uid": f"uid-{name}", "labels": more.pop("labels", {})}
    if owner:
        meta["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "controller": True}]
    status: dict[str, Any] = {"phase": phase, "startTime": START}
    if phase in ("Succeeded", "Failed"):
        terminated = {"exitCode": code, "reason": "Error" if code else "Completed", "finishedAt": END}
        status["containerStatuses"] = [{"name": "train", "state": {"terminated": terminated}}]
    containers = [{"name": "train", "resources": {"limits": limits}}, {"name": "log"}]
    return {"metadata": meta, "spec": {"nodeName": node, "containers": containers}, "status": status | more}
