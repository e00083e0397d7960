"""The line of NCCL's log that ties a process and its GPU to a rank of a communicator.

Form: NVIDIA/nccl src/init.cc and src/debug.cc, and RCCL's copy. `NCCL_DEBUG=INFO` prints it once a rank and
communicator.
"""

import re
from dataclasses import dataclass

NEEDLE = "Init COMPLETE"
"""In every such line: look for it before anything else."""
_LINE = re.compile(
    r"(?P<host>[A-Za-z0-9_.-]{1,255}):(?P<pid>[0-9]{1,9}):[0-9]{1,9} \[[0-9-]{1,4}\] NCCL INFO "
    r"(?:\w+ )?comm 0x[0-9a-f]{1,16} rank (?P<rank>[0-9]{1,8}) n[rR]anks (?P<size>[0-9]{1,8}) "
    r"cudaDev (?P<gpu>[0-9]{1,4})(?: nvmlDev (?P<nvml>[0-9]{1,4}))?"
    r"(?: busId (?P<bus>[0-9a-f]{1,13}))?(?P<rest>[^\n]*?) ?- Init COMPLETE"
)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_COMM = re.compile(r"commId 0x([0-9a-f]{1,16})")


@dataclass(frozen=True, slots=True)
class InitComplete:
    """One rank has joined one communicator."""

    host: str
    pid: int
    rank: int
    size: int
    gpu: int
    """CUDA's index inside the process."""
    nvml: int | None = None
    pci: str | None = None
    """`domain:bus:device`."""
    comm: str | None = None
    """The communicator's hash in sixteen digits: with NCCL 2.22 and later that of the Inspector and RAS. None: it was
    split off another, and its line does not say which it is."""


def read_line(line: str) -> InitComplete | None:
    """None for any other line. Whatever a launcher puts before NCCL's own prefix is skipped."""
    found = _LINE.search(_COLOUR.sub("", line)) if NEEDLE in line else None
    if found is None:
        return None
    rank, size = int(found["rank"]), int(found["size"])
    comm = _COMM.search(found["rest"])
    if rank >= size:
        return None
    return InitComplete(
        host=found["host"],
        pid=int(found["pid"]),
        rank=rank,
        size=size,
        gpu=int(found["gpu"]),
        nvml=int(found["nvml"]) if found["nvml"] else None,
        pci=pci_of(int(found["bus"], 16)) if found["bus"] else None,
        comm=comm[1].rjust(16, "0") if comm else None,
    )


def pci_of(bus: int) -> str:
    """NCCL writes an address as one number: domain, bus (8 bits), device (8 bits), function (4 bits)."""
    return f"{bus >> 20:04x}:{bus >> 12 & 0xFF:02x}:{bus >> 4 & 0xFF:02x}"
