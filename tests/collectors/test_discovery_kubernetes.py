"""The official client against an API server of the test's own, over HTTP."""

from pathlib import Path
from typing import Any

import pytest

from collectors.discovery.discovery import Found
from collectors.discovery.kubernetes import KubernetesService
from collectors.source import SourceError
from tests.collectors.kubernetes_api import Api, Query, api_server, kubeconfig

SLICES = "/apis/discovery.k8s.io/v1/namespaces/gpu-operator/endpointslices"
ENDPOINTS = "/api/v1/namespaces/gpu-operator/endpoints/nvidia-dcgm-exporter"


def endpoint(number: int, address: str, **more: Any) -> dict[str, Any]:
    pod = {"kind": "Pod", "namespace": "gpu-operator", "name": f"exporter-{number}"}
    return {
        "addresses": [address],
        "nodeName": f"gpu-{number}",
        "targetRef": pod,
        "conditions": {"ready": True},
        **more,
    }


def slices(*parts: tuple[str, list[dict[str, Any]] | None], more: str = "") -> dict[str, Any]:
    ports = [{"name": "gpu-metrics", "port": 9400}, {"name": "other", "port": 80}]
    items = [{"addressType": kind, "ports": ports, "endpoints": endpoints} for kind, endpoints in parts]
    return {"kind": "EndpointSliceList", "items": items, "metadata": {"continue": more}}


def find(api: Api, folder: Path, text: str = "gpu-operator/nvidia-dcgm-exporter") -> list[Found]:
    with api_server(api, folder) as config:
        return KubernetesService(text, config).find()


def test_every_pod_of_the_service_is_a_place_with_its_node_ready_or_not(tmp_path: Path) -> None:
    def api(path: str, query: Query) -> tuple[int, Any]:
        assert (path, query["labelSelector"]) == (SLICES, "kubernetes.io/service-name=nvidia-dcgm-exporter")
        not_ready = endpoint(2, "10.0.0.2", conditions={"ready": False})
        gone = endpoint(3, "10.0.0.3", conditions={"ready": False, "serving": False, "terminating": True})
        return 200, slices(("IPv4", [endpoint(1, "10.0.0.1"), not_ready, gone]))

    assert find(api, tmp_path) == [Found("10.0.0.1", 9400, "gpu-1"), Found("10.0.0.2", 9400, "gpu-2")]


def test_a_pod_with_two_addresses_is_one_place(tmp_path: Path) -> None:
    both = slices(
        ("IPv6", [endpoint(1, "fd00::1")]), ("IPv4", [endpoint(1, "10.0.0.1")]), ("IPv6", [endpoint(2, "fd00::2")])
    )
    assert find(lambda path, query: (200, both), tmp_path) == [
        Found("10.0.0.1", 9400, "gpu-1"),
        Found("fd00::2", 9400, "gpu-2"),
    ]


def test_slices_come_page_after_page_and_one_of_no_endpoints_is_no_error(tmp_path: Path) -> None:
    def api(path: str, query: Query) -> tuple[int, Any]:
        if "continue" not in query:
            return 200, slices(("IPv4", [endpoint(1, "10.0.0.1")]), ("IPv4", None), more="next")
        assert query["continue"] == "next"
        return 200, slices(("IPv4", [endpoint(2, "10.0.0.2")]))

    assert [found.node for found in find(api, tmp_path)] == ["gpu-1", "gpu-2"]


@pytest.mark.parametrize(("port", "number"), [(":other", 80), (":9401", 9401), (":none", None), ("", 9400)])
def test_the_port_is_asked_for_by_name_or_number(port: str, number: int | None, tmp_path: Path) -> None:
    found = find(
        lambda path, query: (200, slices(("IPv4", [endpoint(1, "10.0.0.1")]))),
        tmp_path,
        f"gpu-operator/nvidia-dcgm-exporter{port}",
    )
    assert found == [Found("10.0.0.1", number, "gpu-1")]


def test_an_api_without_slices_is_asked_for_endpoints(tmp_path: Path) -> None:
    def api(path: str, query: Query) -> tuple[int, Any]:
        if path != ENDPOINTS:
            return 404, {"kind": "Status"}
        subset = {
            "addresses": [{"ip": "10.0.0.1", "nodeName": "gpu-1"}],
            "notReadyAddresses": [{"ip": "10.0.0.2", "nodeName": "gpu-2"}],
            "ports": [{"port": 9400}],
        }
        return 200, {"kind": "Endpoints", "subsets": [subset]}

    assert find(api, tmp_path) == [Found("10.0.0.1", 9400, "gpu-1"), Found("10.0.0.2", 9400, "gpu-2")]


@pytest.mark.parametrize(
    ("status", "document", "why"),
    [
        (200, slices(), "no endpoints of the service gpu-operator/nvidia-dcgm-exporter; is it there"),
        (404, {}, "no endpoints of the service"),
        (403, {}, r"does not let us list endpointslices in gpu-operator \(HTTP status 403\); give the service account"),
        (503, {}, "HTTP status 503"),
        (200, b"<html>", "its answer is no JSON"),
        (200, b"[]", "its answer is no object of Kubernetes"),
    ],
)
def test_an_answer_without_endpoints_says_what_to_do(status: int, document: Any, why: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=why):
        find(lambda path, query: (status, document), tmp_path)


def test_an_answer_of_odd_types_is_no_crash(tmp_path: Path) -> None:
    odd = {
        "items": [
            7,
            {"endpoints": [None, {"addresses": None}, {"addresses": ["10.0.0.1"], "targetRef": 7}], "ports": 3},
        ]
    }
    assert find(lambda path, query: (200, odd), tmp_path) == [Found("10.0.0.1", None, None)]


def test_a_wrong_token_is_said(tmp_path: Path) -> None:
    with (
        api_server(lambda path, query: (200, slices()), tmp_path, token="old") as config,
        pytest.raises(SourceError, match="HTTP status 401"),
    ):
        KubernetesService("gpu-operator/x", config).find()


def test_an_api_that_is_away_is_asked_once_and_said(tmp_path: Path) -> None:
    config = kubeconfig(tmp_path, "http://127.0.0.1:1")
    with pytest.raises(SourceError, match="Connection refused"):
        KubernetesService("gpu-operator/x", config).find()


@pytest.mark.parametrize("text", ["exporter", "/x", "a/", "a/b/c"])
def test_a_service_is_a_namespace_and_a_name(text: str, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="write NAMESPACE/SERVICE"):
        KubernetesService(text, tmp_path / "none")


def test_a_kubeconfig_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="give --kubeconfig FILE"):
        KubernetesService("a/b", tmp_path / "none")
