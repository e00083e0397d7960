"""One run of a benchmark, whichever form it came in."""

import hashlib
import math
import re
from dataclasses import dataclass, field

from collectors.contract.job import CollectiveWindow, CommMember
from collectors.nccl.operation import operation

_PCI = re.compile(r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})(?:\.[0-9])?")
OUT_OF_PLACE, IN_PLACE = "out_of_place", "in_place"


@dataclass(frozen=True, slots=True)
class Device:
    """One rank's line of the table of devices."""

    rank: int
    host: str
    pid: int | None
    gpu: int | None
    pci: str | None


@dataclass(frozen=True, slots=True)
class Row:
    """One half of a line: one size, out of place or in place. Microseconds, decimal GB/s; None: not measured."""

    bytes: int
    dtype: str | None
    variant: str
    time_us: float | None
    algbw_gbs: float | None
    busbw_gbs: float | None
    wrong: float | None


@dataclass(slots=True)
class Run:
    """What one program measured. `collective` None: the file does not say which it was."""

    collective: str | None = None
    about: list[str] = field(default_factory=list)
    """Lines that tell this run from others."""
    devices: list[Device] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    ranks: int | None = None
    """Where not every rank has a device in the list."""


def number(text: str) -> float | None:
    """A measured value; None for `N/A`, `nan` and what overflowed. Raises ValueError for no number."""
    if text == "N/A":
        return None
    value = float(text)
    return value if math.isfinite(value) and value >= 0 else None


def whole(text: str) -> int:
    """A count of bytes. Raises ValueError for what no computer has."""
    if not 0 < len(text) < 19:
        raise ValueError(f"{text[:40]} is not a number of bytes")
    return int(text)


def pci_of(text: str) -> str | None:
    """`0000:1b:00` as it stands between brackets; None for the `0x00` of older releases."""
    found = _PCI.fullmatch(text.lower())
    return found[1] if found else None


def collective_of(name: str) -> str | None:
    """From the program's name or a file's: `all_reduce_perf`, `nccl_alltoall`."""
    words = [word for word in name.lower().removesuffix(".exe").replace("-", "_").split("_") if word]
    known = [
        found
        for first in range(len(words))
        for last in range(len(words), first, -1)
        if (found := operation("_".join(words[first:last]))) is not None
    ]
    return max(known, key=len, default=None)


def window(run: Run, *, cluster: str, job: str, node: str, ts_us: int, collective: str | None) -> CollectiveWindow:
    """A row a size and variant, in the file's order. `collective` is used where the run does not name its own."""
    about = "\n".join([*run.about, *(f"{d.rank} {d.host} {d.pid} {d.gpu} {d.pci}" for d in run.devices)])
    return CollectiveWindow(
        cluster=cluster,
        ts_us=ts_us,
        job=job,
        node=run.devices[0].host if run.devices else node,
        source="nccl-tests",
        comm="test:" + hashlib.sha256(about.encode()).hexdigest()[:16],
        comm_size=run.ranks or len(run.devices) or None,
        comm_nodes=len({device.host for device in run.devices}) or None,
        members=[CommMember(rank=d.rank, host=d.host, pid=d.pid, gpu=d.gpu, pci=d.pci) for d in run.devices],
        rank=[None] * len(run.rows),
        seq=[None] * len(run.rows),
        coll=[run.collective or collective or "unknown"] * len(run.rows),
        bytes=[row.bytes for row in run.rows],
        exec_us=[row.time_us for row in run.rows],
        algbw_gbs=[row.algbw_gbs for row in run.rows],
        busbw_gbs=[row.busbw_gbs for row in run.rows],
        dtype=[row.dtype for row in run.rows],
        variant=[row.variant for row in run.rows],
        wrong=[row.wrong for row in run.rows],
    )
