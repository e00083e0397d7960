"""The rows and columns of one message in the making: which sample stands where."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from collectors.contract.gpu import Gpu
from collectors.dcgm.fields import field_of
from collectors.dcgm.labels import Labels, Place, Use
from collectors.dcgm.layout import ABSENT, Column, EntityLayout, Filler, NodeLayout

LABELS = ("nvlink", "nvswitch", "cpucore", "cpu")
"""Labels that name a part; of several the first tells which."""


@dataclass(slots=True)
class _Row:
    number: int
    place: Place
    model: str | None = None
    pci: str | None = None
    uses: dict[Use, None] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def uuid(self, node: str) -> str:
        return self.place.uuid or f"{node}/gpu{self.place.gpu}"

    def gpu(self, node: str) -> Gpu:
        """Several users of one GPU stand parallel, parted by commas, in the order of the page."""
        pods = [u for u in dict.fromkeys(Use(*use[:4], None) for use in self.uses) if any(u)]
        jobs = list(dict.fromkeys(use.hpc_job for use in self.uses if use.hpc_job))
        return Gpu(
            uuid=self.uuid(node),
            index=self.place.gpu,
            model=self.model,
            pci=self.pci,
            mig=self.place.mig,
            namespace=_joined(u.namespace for u in pods),
            pod=_joined(u.pod for u in pods),
            container=_joined(u.container for u in pods),
            pod_uid=_joined(u.pod_uid for u in pods),
            hpc_job=_joined(jobs),
        )


class Table:
    """Columns by field id and by name: for each row the place of its value."""

    def __init__(self) -> None:
        self.columns: dict[str, tuple[float, dict[int, int]]] = {}
        self.named: dict[str, tuple[float, dict[int, int]]] = {}

    def fillers(self, count: int) -> tuple[Filler, Filler]:
        """For columns and named ones of so many rows."""
        return _filler(self.columns, count), _filler(self.named, count)


class _Group:
    """The parts of one kind."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str | None, str], int] = {}
        self.table = Table()


class NodeTables:
    """One message: a table of GPUs and one for each kind of parts."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.errors: dict[str, str] = {}
        self._gpus = Table()
        self._rows: dict[tuple[str | int | None, str | None], _Row] = {}
        self._groups: dict[str, _Group] = {}
        self._uuids: dict[int, str] = {}
        self._texts: dict[str, str] = {}
        self._times: list[int | None] = []

    def row_of(self, labels: Labels, time_us: int | None) -> tuple[Table, int]:
        """Where a series belongs: its table and its row there, made where they are new."""
        self._times.append(time_us)
        place = labels.place
        if place.gpu is not None:
            if place.uuid is not None:
                self._uuids.setdefault(place.gpu, place.uuid)
            else:
                place = place._replace(uuid=self._uuids.get(place.gpu))
        if labels.parts or (place.uuid is None and place.gpu is None):
            self._texts.update(labels.texts)
            return self._part(labels, place)
        row = self._rows.setdefault((place.uuid or place.gpu, place.mig), _Row(len(self._rows), place))
        row.model = row.model or labels.model
        row.pci = row.pci or labels.pci
        row.uses.setdefault(labels.use)
        row.texts.update(labels.texts)
        return self._gpus, row.number

    def _part(self, labels: Labels, place: Place) -> tuple[Table, int]:
        parts = labels.parts
        label = next((label for label in LABELS if label in parts), None)
        kind, parent = label or "node", None
        if label == "nvlink" and (place.uuid is not None or place.gpu is not None):
            parent = _Row(0, place).uuid(self.name)
        elif label == "nvlink" and "nvswitch" in parts:
            kind, parent = "nvswitch_link", parts["nvswitch"]
        elif label == "cpucore":
            parent = parts.get("cpu")
        group = self._groups.setdefault(kind, _Group())
        key = (parent, self.name if label is None else parts[label])
        return group.table, group.rows.setdefault(key, len(group.rows))

    def done(self) -> NodeLayout:
        """What the page says of this node."""
        if not self._rows:
            self.errors["gpus"] = "the page names no GPU"
        columns, named = self._gpus.fillers(len(self._rows))
        known = [time for time in self._times if time is not None]
        return NodeLayout(
            self.name,
            [row.gpu(self.name) for row in self._rows.values()],
            columns,
            named,
            {**{_plain(name): text for name, text in self._texts.items()}, **_shared(self._rows.values(), self.name)},
            self.errors,
            [_entities(kind, group) for kind, group in self._groups.items()],
            max(known) if len(known) == len(self._times) else None,
        )


def _entities(kind: str, group: _Group) -> EntityLayout:
    columns, named = group.table.fillers(len(group.rows))
    return EntityLayout(kind, [key[1] for key in group.rows], [key[0] for key in group.rows], columns, named)


def _filler(found: dict[str, tuple[float, dict[int, int]]], count: int) -> Filler:
    if not count:
        return Filler(())
    return Filler(
        tuple(
            Column(name, tuple(taken.get(row, ABSENT) for row in range(count)), blank_from)
            for name, (blank_from, taken) in found.items()
        )
    )


def _joined(values: Iterable[str | None]) -> str | None:
    texts = [value or "" for value in values]
    return ",".join(texts) if any(texts) else None


def _shared(rows: Iterable[_Row], node: str) -> dict[str, str]:
    """Text of the node under its own name; text that differs between GPUs under `name/uuid`."""
    by_name: dict[str, dict[str, str]] = {}
    for row in rows:
        for name, text in row.texts.items():
            by_name.setdefault(name, {})[row.uuid(node)] = text
    out: dict[str, str] = {}
    for name, texts in by_name.items():
        if len(set(texts.values())) == 1:
            out[_plain(name)] = next(iter(texts.values()))
        else:
            out.update({f"{_plain(name)}/{uuid}": text for uuid, text in texts.items()})
    return out


def _plain(name: str) -> str:
    """`DCGM_FI_DEV_VBIOS_VERSION` -> `vbios_version`, by the name that exporter users know."""
    known = field_of(name)
    name = name if known is None else known.name
    return name.removeprefix("DCGM_FI_").removeprefix("DEV_").lower()
