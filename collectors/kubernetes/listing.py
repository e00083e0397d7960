"""Pods from an API server, or from what kubectl wrote."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from collectors.contract.errors import UserError
from collectors.kubernetes.pods import read_pods
from collectors.kubernetes_api import PAGE, KubernetesApi, inner, objects
from collectors.placement.listing import Listing
from collectors.source import SourceError
from collectors.whole_file import read_whole

MOST_PODS = 200_000
MOST_BYTES = 1 << 30
"""Of a saved list: kubectl writes some 10 KB a pod."""
RIGHTS = "list of pods in all namespaces"


class PodsError(UserError):
    """Not a list of pods."""


def read_list(raw: bytes) -> Listing:
    """What `kubectl get pods --all-namespaces --output=json` writes. Raises `PodsError`."""
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as why:
        raise PodsError(f"not JSON: {why}") from why
    if not isinstance(document, dict) or not isinstance(document.get("items"), list):
        raise PodsError("no `items` in it; it is not what `kubectl get pods --all-namespaces --output=json` writes")
    return read_pods(objects(document, "items"))


def read_file(path: Path) -> Listing:
    """Raises `SourceError`."""
    raw, _ = read_whole(path, MOST_BYTES)
    try:
        return read_list(raw)
    except PodsError as why:
        raise SourceError(f"{path}: {why}") from why


def pods_of(kubeconfig: Path | None, selector: str | None) -> Callable[[], Listing]:
    """Asks for all pods, a page after another, each time it is called. Raises `SourceError`."""
    api = KubernetesApi(kubeconfig)

    def ask() -> Listing:
        import kubernetes.client

        core = kubernetes.client.CoreV1Api(api.client)
        pods: list[dict[str, Any]] = []
        more: str | None = None
        before = api.bytes
        while True:
            options: dict[str, Any] = {"limit": PAGE}
            if more:
                options["_continue"] = more
            if selector:
                options["label_selector"] = selector
            answer = api.ask("list pods", RIGHTS, core.list_pod_for_all_namespaces, **options)
            if answer is None:
                raise SourceError(f"{api.host}: it knows no pods; is it the API server of a cluster?")
            pods += objects(answer, "items")
            more = inner(answer, "metadata").get("continue")
            if not more:
                return replace(read_pods(pods), size=api.bytes - before)
            if len(pods) > MOST_PODS:
                raise SourceError(f"{api.host}: more than {MOST_PODS} pods; narrow them with --selector")

    return ask
