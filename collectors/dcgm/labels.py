"""What the labels of a series say: which node, which GPU or instance, who uses it, and what else."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

_PCI = re.compile(r"([0-9a-fA-F]{1,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})(?:\.[0-9a-fA-F])?")

HOST = ("exported_Hostname", "Hostname", "exported_hostname", "hostname", "node", "kubernetes_node")
UUID = ("UUID", "uuid", "gpu_uuid")
MODEL = ("modelName", "model_name")
NAMESPACE = ("namespace", "pod_namespace")
POD = ("pod", "pod_name")
CONTAINER = ("container", "container_name")
EXPORTED = ("exported_namespace", "exported_pod", "exported_container")
"""Where Prometheus renamed a clash, `pod` is the exporter's own and `exported_pod` the user of the GPU."""

PARTS = ("nvlink", "nvswitch", "cpu", "cpucore")
"""Labels of entities other than a GPU or a MIG instance."""

_SCRAPER = frozenset({"job", "instance", "endpoint", "service", "node"})
"""Labels that Prometheus adds to what it reads."""
_KNOWN = frozenset(
    {*HOST, *UUID, *MODEL, *NAMESPACE, *POD, *CONTAINER, *EXPORTED, *_SCRAPER, *PARTS}
    | {f"exported_{name}" for name in _SCRAPER}
    | {"gpu", "pci_bus_id", "device", "GPU_I_PROFILE", "GPU_I_ID", "hpc_job", "err_code", "err_msg"}
    | {"pod_uid", "vgpu", "prometheus", "prometheus_replica", "cluster"}
)
_APART = frozenset({*NAMESPACE, *POD, *CONTAINER, *EXPORTED, "hpc_job", "err_code", "vgpu", "pod_uid"})
_NOW = {"throttle_reason": "clock_event"}
_LOCAL = frozenset({"localhost", "localhost.localdomain", "127.0.0.1", "::1"})
_EXPORTER_POD = re.compile(r"(?:.*-)?dcgm-exporter(?:-.*)?")
"""The pod of the exporter, as its chart and the GPU operator call it. Exporters before 3.1.3 show it as their host
(dcgm-exporter #129), and where Prometheus keeps its own labels it stands as the user of idle GPUs (#27)."""


class Use(NamedTuple):
    """Who uses a GPU; None: not said."""

    namespace: str | None
    pod: str | None
    container: str | None
    pod_uid: str | None
    hpc_job: str | None


class Place(NamedTuple):
    """The GPU or MIG instance a series is about; `uuid` and `gpu` (its index) None: no GPU."""

    uuid: str | None
    gpu: int | None
    mig: str | None


def first(labels: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    """The first of these labels that is there and not empty."""
    for name in names:
        value = labels.get(name)
        if value:
            return value
    return None


def host_of(labels: Mapping[str, str]) -> str | None:
    """The node's name; None: not told.

    `localhost`, which an exporter of a remote engine prints, names no node, nor does the exporter's pod. A page
    that came through Prometheus names at least the address of its exporter.
    """
    for name in HOST:
        host = labels.get(name)
        if host and host not in _LOCAL and not _EXPORTER_POD.fullmatch(host):
            return host
    host = labels.get("instance", "").rpartition(":")[0].strip("[]")
    return None if not host or host in _LOCAL else host


def place_of(labels: Mapping[str, str]) -> Place:
    """Which GPU."""
    index = labels.get("gpu", "")
    profile, instance = labels.get("GPU_I_PROFILE"), labels.get("GPU_I_ID")
    mig = f"{profile or ''}/{instance or ''}" if profile or instance else None
    return Place(first(labels, UUID), int(index) if index.isdecimal() else None, mig)


def use_of(labels: Mapping[str, str], renamed: bool = False) -> Use:
    """Who uses it. `renamed`: the page has `exported_*` labels, so that the plain ones name the exporter."""
    job, uid = labels.get("hpc_job") or None, labels.get("pod_uid") or None
    if renamed or any(labels.get(name) for name in EXPORTED):
        namespace, pod, container = (labels.get(name) or None for name in EXPORTED)
        return Use(namespace, pod, container, uid, job)
    pod = first(labels, POD)
    if pod is not None and _EXPORTER_POD.fullmatch(pod):
        return Use(None, None, None, None, job)
    return Use(first(labels, NAMESPACE), pod, first(labels, CONTAINER), uid, job)


def extra_of(labels: Mapping[str, str]) -> dict[str, str]:
    """What tells two series of one metric and GPU apart beyond all of that."""
    return {
        _NOW.get(name, name): value
        for name, value in labels.items()
        if name not in _KNOWN and not name.startswith(("DCGM_FI_", "dra_")) and value
    }


@dataclass(frozen=True, slots=True)
class Labels:
    """All of that for one set of labels; a page repeats each set for every metric."""

    host: str | None
    place: Place
    use: Use
    model: str | None
    pci: str | None
    parts: dict[str, str]
    texts: dict[str, str]
    extra: dict[str, str]
    apart: dict[str, str]
    """What tells the shares of one GPU apart: its users, the error text, and `extra`."""


def labels_of(labels: Mapping[str, str], renamed: bool = False) -> Labels:
    """Sort the labels of a series by what they say. `renamed`: as in `use_of`."""
    extra = extra_of(labels)
    return Labels(
        host=host_of(labels),
        place=place_of(labels),
        use=use_of(labels, renamed),
        model=first(labels, MODEL),
        pci=pci_of(labels.get("pci_bus_id")),
        parts={name: labels[name] for name in PARTS if name in labels},
        texts={name: value for name, value in labels.items() if name.startswith("DCGM_FI_")},
        extra=extra,
        apart={**extra, **{name: value for name, value in labels.items() if value and name in _APART}},
    )


def pci_of(text: str | None) -> str | None:
    """`00000000:1A:00.0` -> `0000:1a:00`; text of another form stays as it is, None and empty are None."""
    if not text:
        return None
    found = _PCI.fullmatch(text)
    if found is None:
        return text
    domain, bus, device = found.groups()
    return f"{int(domain, 16):04x}:{bus}:{device}".lower()
