"""The kubelet's answer to `PodResourcesLister.List` -> who was given which GPU.

Fields: k8s.io/kubelet/pkg/apis/podresources/v1/api.proto. Devices of any resource name count, as operators rename
`nvidia.com/gpu`: a GPU's own name cannot be mistaken.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from collectors import lean_proto
from collectors.attribution.device_id import device_of, is_shared

MESSAGES: lean_proto.Messages = {
    "Devices": ["bytes resource_name = 1", "repeated bytes device_ids = 2"],
    "Container": ["bytes name = 1", "repeated Devices devices = 2", "repeated bytes dynamic_resources = 5"],
    "Pod": ["bytes name = 1", "bytes namespace = 2", "repeated Container containers = 3"],
    "ListResponse": ["repeated Pod pods = 1"],
}
_classes = lean_proto.classes("pod_resources_lean", MESSAGES)
ListResponse = _classes["ListResponse"]

MOST_HOLDERS = 64
"""Of one device that are told: shares of it are as many as an operator writes into a file."""
LONGEST_NAME = 253
"""Bytes of a pod's name (RFC 1123 subdomain, as the API server checks it)."""


class AnswerError(Exception):
    """Bytes that are no such answer."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A container that was given a GPU."""

    namespace: str
    pod: str
    container: str


@dataclass(frozen=True, slots=True)
class PodsHolding:
    """All that the kubelet gave away."""

    by_device: Mapping[str, tuple[Holder, ...]] = field(default_factory=dict)
    """As `device_of` names it -> its holders in the kubelet's order, without doubles."""
    shared: frozenset[str] = frozenset()
    """Devices of which shares were given."""
    pods: int = 0
    claims: int = 0
    """Containers with claims of dynamic resource allocation, which name no UUID."""


def read_answer(raw: bytes) -> PodsHolding:
    """Raises `AnswerError`."""
    answer = ListResponse()
    try:
        answer.ParseFromString(raw)
        given = list(_given(answer))
    except (lean_proto.DecodeError, UnicodeDecodeError) as why:
        raise AnswerError(f"no list of pods: {why}") from why
    by_device: dict[str, dict[Holder, None]] = {}
    shared: set[str] = set()
    for device_id, holder in given:
        device = device_of(device_id)
        if device is None:
            continue
        holders = by_device.setdefault(device, {})
        if len(holders) < MOST_HOLDERS:
            holders.setdefault(holder)
        if is_shared(device_id):
            shared.add(device)
    return PodsHolding(
        {device: tuple(holders) for device, holders in by_device.items()},
        frozenset(shared),
        len(answer.pods),
        sum(len(container.dynamic_resources) > 0 for pod in answer.pods for container in pod.containers),
    )


def _given(answer: "ListResponse") -> Iterator[tuple[str, Holder]]:  # type: ignore[valid-type]
    for pod in answer.pods:  # type: ignore[attr-defined]
        if not pod.name:
            continue
        for container in pod.containers:
            holder = Holder(_name(pod.namespace) or "default", _name(pod.name), _name(container.name))
            for devices in container.devices:
                for device_id in devices.device_ids:
                    yield device_id.decode(), holder


def _name(raw: bytes) -> str:
    if len(raw) > LONGEST_NAME:
        raise lean_proto.DecodeError(f"a name of {len(raw)} bytes")
    return raw.decode()
