"""What the labels of a series say: which node, which GPU or instance, who uses it, and what else."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

_PCI = re.compile(r"([0-9a-fA-F]{1,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})(?:\.[0-9a-fA-F])?")

HOST = ("Hostname", "hostname", "exported_hostname")
UUID = ("UUID", "uuid", "gpu_uuid")
MODEL = ("modelName", "model_name")
NAMESPACE = ("exported_namespace", "namespace", "pod_namespace")
POD = ("exported_pod", "pod", "pod_name")
CONTAINER = ("exported_container", "container", "container_name")
"""Where Prometheus renamed a clash, `pod` is the exporter's own and `exported_pod` the user of the GPU."""

PARTS = ("nvlink", "nvswitch", "cpu", "cpucore")
"""Labels of entities other than a GPU or a MIG instance."""

_KNOWN = frozenset(
    {*HOST, *UUID, *MODEL, *NAMESPACE, *POD, *CONTAINER}
    | {"gpu", "pci_bus_id", "device", "GPU_I_PROFILE", "GPU_I_ID", "hpc_job", "err_code", "err_msg"}
    | {"pod_uid", "vgpu", "job", "exported_job", "instance", "endpoint", "service", "prometheus", "cluster"}
)
_APART = frozenset({*NAMESPACE, *POD, *CONTAINER, "hpc_job", "err_code", "vgpu", "pod_uid"})
_LOCAL = frozenset({"localhost", "localhost.localdomain", "127.0.0.1", "::1"})


class Use(NamedTuple):
    """Who uses a GPU; None: not said."""

    namespace: str | None
    pod: str | None
    container: str | None
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
    """The node's name. An exporter of a remote engine calls its host `localhost`, which names no node."""
    host = first(labels, HOST)
    return None if host in _LOCAL else host


def place_of(labels: Mapping[str, str]) -> Place:
    """Which GPU."""
    index = labels.get("gpu", "")
    profile, instance = labels.get("GPU_I_PROFILE"), labels.get("GPU_I_ID")
    mig = f"{profile or ''}/{instance or ''}" if profile or instance else None
    return Place(first(labels, UUID), int(index) if index.isdecimal() else None, mig)


def use_of(labels: Mapping[str, str]) -> Use:
    """Who uses it."""
    return Use(first(labels, NAMESPACE), first(labels, POD), first(labels, CONTAINER), labels.get("hpc_job") or None)


def extra_of(labels: Mapping[str, str]) -> dict[str, str]:
    """What tells two series of one metric and GPU apart beyond all of that."""
    return {
        name: value
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


def labels_of(labels: Mapping[str, str]) -> Labels:
    """Sort the labels of a series by what they say."""
    extra = extra_of(labels)
    return Labels(
        host=host_of(labels),
        place=place_of(labels),
        use=use_of(labels),
        model=first(labels, MODEL),
        pci=pci_of(labels.get("pci_bus_id")),
        parts={name: labels[name] for name in PARTS if name in labels},
        texts={name: value for name, value in labels.items() if name.startswith("DCGM_FI_")},
        extra=extra,
        apart={name: value for name, value in labels.items() if value and (name in extra or name in _APART)},
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
