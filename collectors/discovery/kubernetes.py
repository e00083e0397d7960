"""The endpoints of a service in Kubernetes, one for each pod of an exporter, with the node it runs on.

Polled, not watched: a list of some hundred slices a minute costs an API server less than a watch held open and begun
anew after each of its time-outs, and pods of an exporter move with their nodes, a few times a day.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from collectors.discovery.discovery import MOST, Found
from collectors.kubernetes_api import PAGE, KubernetesApi, inner, objects, text
from collectors.source import SourceError

RIGHTS = "get and list of endpointslices and endpoints"
PORT_NAMES = ("metrics", "gpu-metrics")
"""What the exporter's chart and the GPU operator call its port."""


class KubernetesService:
    """Pods behind a service, ready or not: a pod that is not ready is one to hear about."""

    def __init__(self, asked: str, kubeconfig: Path | None = None) -> None:
        """`NAMESPACE/SERVICE[:PORT]`, the port by name or number. Raises `SourceError`."""
        service, _, self._port = asked.partition(":")
        self._namespace, _, self._service = service.partition("/")
        if not self._namespace or not self._service or "/" in self._service:
            raise SourceError(
                f"--kubernetes {asked}: write NAMESPACE/SERVICE, such as gpu-operator/nvidia-dcgm-exporter"
            )
        self.name = f"kubernetes:{asked}"
        self._api = KubernetesApi(kubeconfig)

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

        api = kubernetes.client.DiscoveryV1Api(self._api.client)
        slices: list[dict[str, Any]] = []
        more: str | None = None
        while True:
            answer = self._api.ask(
                f"list endpointslices in {self._namespace}",
                RIGHTS,
                api.list_namespaced_endpoint_slice,
                self._namespace,
                label_selector=f"kubernetes.io/service-name={self._service}",
                limit=PAGE,
                **({"_continue": more} if more else {}),
            )
            if answer is None:
                return None
            slices += objects(answer, "items")
            more = inner(answer, "metadata").get("continue")
            if not more or len(slices) > MOST:
                return list(of_slices(slices, self._port))

    def _from_endpoints(self) -> list[Found]:
        import kubernetes.client

        api = kubernetes.client.CoreV1Api(self._api.client)
        answer = self._api.ask(
            f"get endpoints in {self._namespace}", RIGHTS, api.read_namespaced_endpoints, self._service, self._namespace
        )
        return [] if answer is None else list(of_subsets(objects(answer, "subsets"), self._port))


def of_slices(slices: list[dict[str, Any]], port: str) -> Iterator[Found]:
    """One place a pod: of a pod with addresses of both families the IPv4 one."""
    seen: set[tuple[str, str]] = set()
    for part in sorted(slices, key=lambda part: str(part.get("addressType"))):
        number = _port(objects(part, "ports"), port)
        for endpoint in objects(part, "endpoints"):
            conditions = inner(endpoint, "conditions")
            given = endpoint.get("addresses")
            addresses = [str(address) for address in given] if isinstance(given, list) else []
            if not addresses or (conditions.get("terminating") and not conditions.get("serving")):
                continue
            reference = inner(endpoint, "targetRef")
            pod = (str(reference.get("namespace")), str(reference.get("name") or addresses[0]))
            if pod not in seen:
                seen.add(pod)
                yield Found(addresses[0], number, text(endpoint.get("nodeName")))


def of_subsets(subsets: list[dict[str, Any]], port: str) -> Iterator[Found]:
    """The same of Endpoints."""
    for subset in subsets:
        number = _port(objects(subset, "ports"), port)
        for address in (*objects(subset, "addresses"), *objects(subset, "notReadyAddresses")):
            if ip := text(address.get("ip")):
                yield Found(ip, number, text(address.get("nodeName")))


def _port(ports: list[dict[str, Any]], wanted: str) -> int | None:
    """The port that is asked for by name or number, else the exporter's by its usual names, else the only one."""
    if wanted.isdecimal():
        return int(wanted)
    by_name = {str(port.get("name") or ""): port.get("port") for port in ports}
    for name in (wanted,) if wanted else PORT_NAMES:
        if isinstance(by_name.get(name), int):
            return by_name[name]
    only = ports[0].get("port") if len(ports) == 1 and not wanted else None
    return only if isinstance(only, int) else None
