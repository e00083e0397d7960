"""The endpoints of a service in Kubernetes, one for each pod of an exporter, with the node it runs on.

Polled, not watched: a list of some hundred slices a minute costs an API server less than a watch held open and begun
anew after each of its time-outs, and pods of an exporter move with their nodes, a few times a day.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from collectors.discovery.discovery import MOST, Found
from collectors.source import SourceError

WAIT_S = 5.0
PAGE = 500
"""Slices asked for at a time."""
MAX_BYTES = 64 << 20
PORT_NAMES = ("metrics", "gpu-metrics")
"""What the exporter's chart and the GPU operator call its port."""


class KubernetesService:
    """Pods behind a service, ready or not: a pod that is not ready is one to hear about."""

    def __init__(self, text: str, kubeconfig: Path | None = None) -> None:
        """`NAMESPACE/SERVICE[:PORT]`, the port by name or number. Raises `SourceError`."""
        service, _, self._port = text.partition(":")
        self._namespace, _, self._service = service.partition("/")
        if not self._namespace or not self._service or "/" in self._service:
            raise SourceError(
                f"--kubernetes {text}: write NAMESPACE/SERVICE, such as gpu-operator/nvidia-dcgm-exporter"
            )
        self.name = f"kubernetes:{text}"
        self._client = _client(kubeconfig)

    def find(self) -> list[Found]:
        """As in `Discovery`. EndpointSlices; Endpoints on an API server that has none."""
        found = self._from_slices()
        if found is None:
            found = self._from_endpoints()
        if not found:
            raise SourceError(
                f"no endpoints of the service {self._namespace}/{self._service}; is it there, and do its pods run?"
            )
        return list(dict.fromkeys(found))

    def _from_slices(self) -> list[Found] | None:
        import kubernetes.client

        api = kubernetes.client.DiscoveryV1Api(self._client)
        slices: list[dict[str, Any]] = []
        more: str | None = None
        while True:
            answer = self._ask(
                "list endpointslices",
                api.list_namespaced_endpoint_slice,
                self._namespace,
                label_selector=f"kubernetes.io/service-name={self._service}",
                limit=PAGE,
                **({"_continue": more} if more else {}),
            )
            if answer is None:
                return None
            slices += _list(answer, "items")
            more = _dict(answer, "metadata").get("continue")
            if not more or len(slices) > MOST:
                return list(_of_slices(slices, self._port))

    def _from_endpoints(self) -> list[Found]:
        import kubernetes.client

        api = kubernetes.client.CoreV1Api(self._client)
        answer = self._ask("get endpoints", api.read_namespaced_endpoints, self._service, self._namespace)
        return [] if answer is None else list(_of_subsets(_list(answer, "subsets"), self._port))

    def _ask(self, verb: str, call: Any, *words: str, **options: Any) -> dict[str, Any] | None:
        """JSON of one answer; None: there is no such thing. The client's own types refuse `endpoints: null`."""
        import kubernetes.client
        import urllib3.exceptions

        host = self._client.configuration.host
        try:
            answer = call(*words, **options, _preload_content=False, _request_timeout=WAIT_S)
            raw = answer.read(MAX_BYTES + 1)
            answer.release_conn()
        except kubernetes.client.ApiException as why:
            if why.status == 404:
                return None
            if why.status in (401, 403):
                raise SourceError(
                    f"{host} does not let us {verb} in {self._namespace} (HTTP status {why.status});"
                    " give the service account a role with get and list of endpointslices and endpoints"
                ) from why
            raise SourceError(f"{host}: HTTP status {why.status} {why.reason}") from why
        except (urllib3.exceptions.HTTPError, OSError) as why:
            raise SourceError(f"{host}: {_said(why)}") from why
        try:
            document = json.loads(raw) if len(raw) <= MAX_BYTES else None
        except ValueError as why:
            raise SourceError(f"{host}: its answer is no JSON") from why
        if not isinstance(document, dict):
            raise SourceError(f"{host}: its answer is no list of endpoints")
        return document


def in_pod() -> bool:
    """The API is where a pod finds it, and no kubeconfig says otherwise."""
    return "KUBERNETES_SERVICE_HOST" in os.environ and "KUBECONFIG" not in os.environ


def _client(kubeconfig: Path | None) -> Any:
    try:
        import kubernetes.client
        import kubernetes.config
    except ImportError as why:
        raise SourceError("--kubernetes: pip install 'lockstep-telemetry[kubernetes]'") from why
    config: Any = kubernetes.config
    configuration = kubernetes.client.Configuration()
    # One try; the next look is a minute away.
    configuration.retries = False
    try:
        if kubeconfig is None and in_pod():
            config.load_incluster_config(client_configuration=configuration)
        else:
            config.load_kube_config(None if kubeconfig is None else str(kubeconfig), client_configuration=configuration)
    except (config.ConfigException, OSError, ValueError) as why:
        said = str(why).partition("\n")[0]
        raise SourceError(f"--kubernetes: {said}; run in a pod of the cluster, or give --kubeconfig FILE") from why
    return kubernetes.client.ApiClient(configuration)


def _of_slices(slices: list[dict[str, Any]], port: str) -> Iterator[Found]:
    """One place a pod: of a pod with addresses of both families the IPv4 one."""
    seen: set[tuple[str, str]] = set()
    for part in sorted(slices, key=lambda part: str(part.get("addressType"))):
        number = _port(_list(part, "ports"), port)
        for endpoint in _list(part, "endpoints"):
            conditions = _dict(endpoint, "conditions")
            addresses = [str(address) for address in endpoint.get("addresses") or []]
            if not addresses or (conditions.get("terminating") and not conditions.get("serving")):
                continue
            reference = _dict(endpoint, "targetRef")
            pod = (str(reference.get("namespace")), str(reference.get("name") or addresses[0]))
            if pod not in seen:
                seen.add(pod)
                yield Found(addresses[0], number, _text(endpoint.get("nodeName")))


def _of_subsets(subsets: list[dict[str, Any]], port: str) -> Iterator[Found]:
    for subset in subsets:
        number = _port(_list(subset, "ports"), port)
        for address in (*_list(subset, "addresses"), *_list(subset, "notReadyAddresses")):
            if ip := _text(address.get("ip")):
                yield Found(ip, number, _text(address.get("nodeName")))


def _port(ports: list[dict[str, Any]], wanted: str) -> int | None:
    """The port that is asked for by name or number, else the exporter's by its usual names, else the only one."""
    if wanted.isdigit():
        return int(wanted)
    by_name = {str(port.get("name") or ""): port.get("port") for port in ports}
    for name in (wanted,) if wanted else PORT_NAMES:
        if isinstance(by_name.get(name), int):
            return by_name[name]
    only = ports[0].get("port") if len(ports) == 1 and not wanted else None
    return only if isinstance(only, int) else None


def _list(document: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = document.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def _dict(document: dict[str, Any], key: str) -> dict[str, Any]:
    found = document.get(key)
    return found if isinstance(found, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _said(why: Exception) -> str:
    """urllib3 wraps the system's words, several deep."""
    inner: BaseException = why
    while (deeper := getattr(inner, "reason", None) or inner.__cause__) and isinstance(deeper, BaseException):
        inner = deeper
    return getattr(inner, "strerror", None) or str(inner).partition("\n")[0]
