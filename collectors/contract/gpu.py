"""All GPUs of a node at one moment."""

from typing import Literal

from msgspec import Struct, field

from collectors.contract.message import Message


class Gpu(Struct, frozen=True, kw_only=True):
    """One GPU or MIG instance, and who uses it.

    `index` is DCGM's, not CUDA's, and not stable over a lost GPU: join on `uuid`.
    `pci` is `domain:bus:device`, lower case, four-digit domain (`0000:1a:00`).
    `mig` is `profile/instance` (`1g.10gb/7`); None is the whole GPU.
    """

    uuid: str
    index: int | None = None
    model: str | None = None
    pci: str | None = None
    mig: str | None = None
    namespace: str | None = None
    pod: str | None = None
    container: str | None = None
    hpc_job: str | None = None
    pod_uid: str | None = None
    """Of the user's pod, where only that is told: by the control group of its processes."""
    mig_uuid: str | None = None
    """Of the MIG device itself (`MIG-...`), as CUDA and Kubernetes name it."""


class Entities(Struct, frozen=True, kw_only=True):
    """Parts of a node other than GPUs, all of one kind. Every list is parallel to `ids`."""

    kind: str
    """`nvlink` (of a GPU), `nvswitch`, `nvswitch_link`, `cpu`, `cpucore`; `node` for what belongs to no part."""
    ids: list[str]
    """As the source numbers them: `nvswitch0`, link `3`, CPU `0`, core `17`; the node's name for `node`."""
    parents: list[str | None] = field(default_factory=list)
    """What each belongs to: a link to a GPU (uuid) or to a switch, a core to its CPU; None: to the node."""
    columns: dict[str, list[float | None]] = field(default_factory=dict)
    """DCGM field id as text -> one value per part; None: could not be read, or not sent for that part."""
    named: dict[str, list[float | None]] = field(default_factory=dict)
    """What has no field id, as in `GpuScrape`."""


class GpuScrape(Message, frozen=True, kw_only=True):
    """All GPUs of one node at one moment. Columns are parallel to `gpus`."""

    node: str
    source: Literal["dcgm-exporter", "dcgm", "nvml"] = "dcgm-exporter"
    gpus: list[Gpu]
    columns: dict[str, list[float | None]] = field(default_factory=dict)
    """DCGM field id as text -> one value per GPU, in DCGM's unit of that field; None: could not be read."""
    named: dict[str, list[float | None]] = field(default_factory=dict)
    """What has no field id, under `NAME` or `NAME{extra labels}` -> one value per GPU."""
    errors: dict[str, str] = field(default_factory=dict)
    """Field id, name or part -> why it could not be read."""
    labels: dict[str, str] = field(default_factory=dict)
    """Static text of the node, such as `driver_version`."""
    entities: list[Entities] = field(default_factory=list)
    """Switches, links and CPUs of the node, one entry a kind: also where the node shows no GPU."""
    part: bool = False
    """A piece of a scrape that was pushed in pieces: its columns have None where the rest has not come. The whole
    follows under the same time; readers pass a piece over."""
