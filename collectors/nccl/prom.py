"""A file of the plug-in's Prometheus mode: what one GPU did over an interval, by operation and class of size.

Form: NVIDIA/nccl plugins/profiler/inspector/inspector_prom.cc: geometric means of bandwidth, means of time. It has
neither rank nor communicator hash: it tells how fast a link of GPUs is, never which rank was late.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from collectors.contract.job import CollectiveWindow
from collectors.dcgm.exposition import is_sample, read_labels, read_line, read_name
from collectors.nccl.cut import cut

_FILE = re.compile(r"nccl_inspector_metrics_([0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.prom")
_BANDWIDTH = frozenset({"nccl_bus_bandwidth_gbs", "nccl_p2p_bus_bandwidth_gbs"})
_TIME = frozenset({"nccl_collective_exec_time_microseconds", "nccl_p2p_exec_time_microseconds"})
_OTHERS = frozenset(
    {"nccl_collectives_total", "nccl_collectives_dropped_total", "nccl_p2p_total", "nccl_p2p_dropped_total"}
)
"""Counters since the job's start: the JSON mode tells what was lost, by communicator."""
_UNKNOWN = frozenset({"", "unknown", None})


class PageError(ValueError):
    """A line that is no sample of the plug-in; the text says why."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What the rows of one window have in common."""

    node: str | None
    comm_name: str | None
    size: int | None
    nodes: int | None


@dataclass(slots=True)
class Mean:
    """One operation of one class of sizes."""

    coll: str
    size_class: str | None
    algo: str | None
    exec_us: float | None = None
    busbw_gbs: float | None = None


@dataclass(slots=True)
class Page:
    """One file at one moment."""

    ts_us: int
    gpu_uuid: str | None
    job: str | None = None
    means: dict[tuple[Kind, str, str | None, str | None], Mean] = field(default_factory=dict)
    bad: list[tuple[int, str, str]] = field(default_factory=list)
    """Line number, line, why."""


def gpu_of(file_name: str) -> str | None:
    """The GPU's UUID as NVML writes it, from the file's name; None where it is no file of this mode."""
    found = _FILE.fullmatch(file_name)
    if found is None:
        return None
    digits = found[1].replace("-", "")
    return "GPU-" + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def read_page(text: str, *, ts_us: int, gpu_uuid: str | None) -> Page:
    """A last line without its newline is not read: the file is written line by line."""
    page = Page(ts_us, gpu_uuid)
    for number, line in enumerate(text.split("\n")[:-1], start=1):
        if not is_sample(line):
            continue
        try:
            _take(page, line)
        except ValueError as why:
            page.bad.append((number, line, str(why)))
    return page


def page_windows(page: Page, *, cluster: str, job: str, node: str) -> Iterator[CollectiveWindow]:
    """A window a communicator's name, size and node."""
    kinds: dict[Kind, list[Mean]] = {}
    for (kind, *_), mean in page.means.items():
        kinds.setdefault(kind, []).append(mean)
    for kind, means in kinds.items():
        unknown = [None] * len(means)
        yield from cut(
            CollectiveWindow(
                cluster=cluster,
                ts_us=page.ts_us,
                job=job,
                node=kind.node or node,
                source="nccl-inspector-prom",
                comm="",
                comm_size=kind.size,
                comm_nodes=kind.nodes,
                comm_name=kind.comm_name,
                gpu_uuid=page.gpu_uuid,
                rank=[*unknown],
                seq=[*unknown],
                coll=[mean.coll for mean in means],
                exec_us=[mean.exec_us for mean in means],
                busbw_gbs=[mean.busbw_gbs for mean in means],
                algo=[mean.algo for mean in means],
                size_class=[mean.size_class for mean in means],
            )
        )


def _take(page: Page, line: str) -> None:
    parts = read_line(line)
    named = read_name(parts.head)
    labels = read_labels(named[1]) if named is not None else None
    if named is None or labels is None:
        raise PageError("not NAME{LABELS} VALUE")
    name = named[0]
    if name in _OTHERS:
        return
    if name not in _BANDWIDTH | _TIME:
        raise PageError(f"{name[:80]} is not of the Inspector")
    value = float(parts.text)
    if not math.isfinite(value) or value < 0:
        raise PageError(f"a value of {parts.text[:40]}")
    coll = labels.get("collective") or labels.get("p2p_operation")
    if coll in _UNKNOWN:
        raise PageError("neither collective nor p2p_operation in its labels")
    kind = Kind(
        node=_known(labels, "node"),
        comm_name=_known(labels, "comm_name"),
        size=_count(labels, "nranks"),
        nodes=_count(labels, "n_nodes"),
    )
    page.job = _known(labels, "slurm_job_id") or page.job
    size_class, algo = _known(labels, "message_size"), _known(labels, "algo_proto")
    key = (kind, str(coll), size_class, algo)
    mean = page.means.setdefault(key, Mean(str(coll), size_class, algo))
    if name in _TIME:
        mean.exec_us = value
    elif value > 0:  # 0: an operation whose formula the plug-in does not know
        mean.busbw_gbs = value


def _known(labels: dict[str, str], name: str) -> str | None:
    value = labels.get(name)
    return None if value in _UNKNOWN else value


def _count(labels: dict[str, str], name: str) -> int | None:
    value = labels.get(name, "")
    return int(value) if re.fullmatch(r"[0-9]{1,9}", value) else None
