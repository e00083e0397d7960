"""A page of a shape not seen before: its lines are read one by one and its layout is made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collectors.dcgm.exposition import (
    Line,
    is_openmetrics,
    read_labels,
    read_name,
    read_time_us,
    show_series,
)
from collectors.dcgm.fields import INT64_BLANK, field_of, plain_name
from collectors.dcgm.labels import EXPORTED, Labels, labels_of
from collectors.dcgm.layout import Layout
from collectors.dcgm.tables import NodeTables


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no sample, and why."""

    text: str
    why: str


@dataclass(frozen=True, slots=True)
class _Sample:
    name: str
    labels: Labels
    place: int
    text: str
    time_us: int | None


def build(lines: Sequence[str], parts: Mapping[int, Line], default_node: str) -> tuple[Layout, list[BadLine]]:
    """The layout of a page, and its lines that are no samples.

    `parts` are the parts of the lines that hold a sample, `default_node` is for where the page names none.
    """
    openmetrics = is_openmetrics(list(lines))
    blocks: dict[str, dict[str, str] | None] = {}
    sorted_labels: dict[str, Labels] = {}
    samples: list[_Sample] = []
    layout = Layout([], [])
    bad: list[BadLine] = []
    series: list[tuple[int, str, str, Line]] = []
    for number, line in parts.items():
        named = read_name(line.head)
        if named is not None and named[1] not in blocks:
            blocks[named[1]] = read_labels(named[1])
        if named is None or blocks[named[1]] is None:
            bad.append(BadLine(lines[number].strip(), "not a metric, its labels and a value"))
        elif not _is_created(named[0], openmetrics):
            series.append((number, *named, line))
    renamed = any(labels is not None and any(map(labels.get, EXPORTED)) for labels in blocks.values())
    for block, labels in blocks.items():
        if labels is not None:
            sorted_labels[block] = labels_of(labels, renamed)
    for place, (number, name, block, line) in enumerate(series):
        time_us = None if line.time is None else read_time_us(line.time, openmetrics)
        samples.append(_Sample(name, sorted_labels[block], place, line.text, time_us))
        layout.lines.append(number)
    hosts = {sample.labels.host for sample in samples} - {None}
    lone = hosts.pop() if len(hosts) == 1 else None
    nodes: dict[str, NodeTables] = {}
    # GPUs before links: a link may name its GPU by the index alone.
    for sample in sorted(samples, key=lambda sample: bool(sample.labels.parts)):
        name = sample.labels.host or lone or default_node
        node = nodes.get(name)
        if node is None:
            node = nodes[name] = NodeTables(name)
        _put(layout, node, sample, samples)
    layout.nodes = [node.done() for node in nodes.values()]
    return layout, bad


def _is_created(name: str, openmetrics: bool) -> bool:
    """The time when a counter began, which OpenMetrics prints beside it."""
    return name.endswith("_created") and (openmetrics or field_of(name.removesuffix("_created")) is not None)


def _put(layout: Layout, node: NodeTables, sample: _Sample, samples: list[_Sample]) -> None:
    labels = sample.labels
    table, row = node.row_of(labels, sample.time_us)
    known = field_of(sample.name)
    if known is not None:
        blank_from, taken = table.columns.setdefault(known.id, (known.blank_from, {}))
    else:
        key = show_series(plain_name(sample.name), labels.extra)
        blank_from, taken = table.named.setdefault(key, (INT64_BLANK, {}))
    before = taken.setdefault(row, sample.place)
    if before == sample.place:
        return
    if samples[before].text == sample.text:
        layout.same.append((before, sample.place))
        return
    layout.differ.append((before, sample.place))
    apart = show_series(plain_name(sample.name), labels.apart)
    shares = table.named.setdefault(apart, (blank_from, {}))[1]
    if shares.setdefault(row, sample.place) != sample.place:
        node.errors[sample.name] = "printed again with another value; the first is kept"
