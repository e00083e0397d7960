"""A page of a shape not seen before: its lines are read one by one and its layout is made."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from collectors.contract.gpu import Gpu
from collectors.dcgm.exposition import is_sample, read_labels, read_name, show_series
from collectors.dcgm.fields import INT64_BLANK, field_of
from collectors.dcgm.labels import Labels, Place, Use, labels_of
from collectors.dcgm.layout import ABSENT, Column, Filler, Layout, NodeLayout


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no sample, and why."""

    text: str
    why: str


@dataclass(slots=True)
class _Row:
    number: int
    place: Place
    model: str | None = None
    pci: str | None = None
    uses: dict[Use, None] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    def gpu(self, node: str) -> Gpu:
        """Several users of one GPU stand parallel, parted by commas, in the order of the page."""
        pods = [u for u in dict.fromkeys(Use(*use[:3], None) for use in self.uses) if any(u)]
        jobs = list(dict.fromkeys(use.hpc_job for use in self.uses if use.hpc_job))
        return Gpu(
            uuid=self.place.uuid or f"{node}/gpu{self.place.gpu}",
            index=self.place.gpu,
            model=self.model,
            pci=self.pci,
            mig=self.place.mig,
            namespace=_joined(u.namespace for u in pods),
            pod=_joined(u.pod for u in pods),
            container=_joined(u.container for u in pods),
            hpc_job=_joined(jobs),
        )


class _Node:
    """One message in the making."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._rows: dict[tuple[str | int | None, str | None], _Row] = {}
        self.columns: dict[str, tuple[float, dict[int, int]]] = {}
        self.named: dict[str, tuple[float, dict[int, int]]] = {}
        self.errors: dict[str, str] = {}
        self._uuids: dict[int, str] = {}

    def row_of(self, labels: Labels) -> int | None:
        """The row of the series' GPU, made where it is new; None: it has no GPU."""
        place = labels.place
        if place.gpu is not None:
            if place.uuid is not None:
                self._uuids.setdefault(place.gpu, place.uuid)
            else:
                place = place._replace(uuid=self._uuids.get(place.gpu))
        if place.uuid is None and place.gpu is None:
            return None
        row = self._rows.setdefault((place.uuid or place.gpu, place.mig), _Row(len(self._rows), place))
        row.model = row.model or labels.model
        row.pci = row.pci or labels.pci
        row.uses.setdefault(labels.use)
        row.texts.update(labels.texts)
        return row.number

    def done(self) -> NodeLayout:
        count = len(self._rows)
        if not count:
            self.errors["gpus"] = "the page names no GPU"
        return NodeLayout(
            self.name,
            [row.gpu(self.name) for row in self._rows.values()],
            _columns(self.columns, count),
            _columns(self.named, count),
            _shared_texts(self._rows.values(), self.name),
            self.errors,
        )


@dataclass(frozen=True, slots=True)
class _Sample:
    name: str
    labels: Labels
    place: int
    text: str


def build(heads: Iterable[str], texts: Iterable[str], default_node: str) -> tuple[Layout, list[BadLine]]:
    """The layout of a page, and its lines that are no samples. `default_node`: where the page names none."""
    blocks: dict[str, Labels | None] = {}
    samples: list[_Sample] = []
    lines: list[int] = []
    bad: list[BadLine] = []
    for number, (head, text) in enumerate(zip(heads, texts, strict=True)):
        if not is_sample(head or text):
            continue
        named = read_name(head)
        labels = None if named is None else _labels(blocks, named[1])
        if named is None or labels is None:
            bad.append(BadLine(f"{head} {text}".strip(), "not a metric, its labels and a value"))
            continue
        samples.append(_Sample(named[0], labels, len(lines), text))
        lines.append(number)
    hosts = {sample.labels.host for sample in samples} - {None}
    lone = hosts.pop() if len(hosts) == 1 else None
    nodes: dict[str, _Node] = {}
    layout = Layout(lines, [])
    # GPUs before links: a link may name its GPU by the index alone.
    for sample in sorted(samples, key=lambda sample: bool(sample.labels.parts)):
        name = sample.labels.host or lone or default_node
        node = nodes.get(name)
        if node is None:
            node = nodes[name] = _Node(name)
        _put(layout, node, sample, samples)
    layout.nodes = [node.done() for node in nodes.values()]
    return layout, bad


def _labels(blocks: dict[str, Labels | None], block: str) -> Labels | None:
    if block not in blocks:
        labels = read_labels(block)
        blocks[block] = None if labels is None else labels_of(labels)
    return blocks[block]


def _put(layout: Layout, node: _Node, sample: _Sample, samples: list[_Sample]) -> None:
    labels, row = sample.labels, node.row_of(sample.labels)
    known = field_of(sample.name)
    if known is not None and row is not None and not labels.parts:
        blank_from, taken = node.columns.setdefault(known.id, (known.blank_from, {}))
    else:
        key = show_series(sample.name, {**labels.parts, **labels.extra})
        blank_from = INT64_BLANK if known is None else known.blank_from
        blank_from, taken = node.named.setdefault(key, (blank_from, {}))
    # A series of the whole node stands in the first row.
    at = 0 if row is None else row
    before = taken.setdefault(at, sample.place)
    if before == sample.place:
        return
    if samples[before].text == sample.text:
        layout.same.append((before, sample.place))
        return
    layout.differ.append((before, sample.place))
    apart = show_series(sample.name, {**labels.parts, **labels.apart})
    shares = node.named.setdefault(apart, (blank_from, {}))[1]
    if shares.setdefault(at, sample.place) != sample.place:
        node.errors[sample.name] = "printed again with another value; the first is kept"


def _columns(found: dict[str, tuple[float, dict[int, int]]], count: int) -> Filler:
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


def _shared_texts(rows: Iterable[_Row], node: str) -> dict[str, str]:
    """Text of the node under its own name; text that differs between GPUs under `name/uuid`."""
    by_name: dict[str, dict[str, str]] = {}
    for row in rows:
        for name, text in row.texts.items():
            by_name.setdefault(name, {})[row.gpu(node).uuid] = text
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
