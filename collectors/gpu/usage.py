"""Which job or pod a process belongs to, by its control group.

Forms: Slurm's cgroup/v1 and v2 plug-ins (`.../slurm/uid_U/job_J/...`, `.../slurmstepd.scope/job_J/...`), and the
kubelet's cgroupfs and systemd drivers (`.../podUID/...`, `...-podUID.slice/...` with `_` for `-`).
"""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from collectors.contract.gpu import Gpu

MOST_BYTES = 64 << 10
HOST_PIDS = 0xEFFFFFFC
"""The inode of the first PID namespace (linux/proc_ns.h, PROC_PID_INIT_INO): only there are the driver's PIDs ours."""

_SLURM = re.compile(r"/[^/]*slurm[^/]*/(?:uid_\d+/)?job_(\d+)(?=[/\n])")
_POD = re.compile(
    r"/[^/]*kubepods[^:]*?pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})(?:\.slice)?(?=[/\n])"
)


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose a process is; None: not told."""

    hpc_job: str | None = None
    pod_uid: str | None = None


def owner_of(cgroup: str) -> Owner:
    """From the text of /proc/PID/cgroup. Every line of it ends: what does not was cut off, and says nothing."""
    slurm, pod = _SLURM.search(cgroup), _POD.search(cgroup)
    return Owner(
        None if slurm is None else slurm[1],
        None if pod is None else pod[1].replace("_", "-"),
    )


def read_cgroup(pid: int) -> str:
    """Raises `OSError`: the process has ended."""
    with Path(f"/proc/{pid}/cgroup").open("rb") as file:
        return file.read(MOST_BYTES).decode("utf-8", "replace")


def sees_host_pids() -> bool:
    """Are this process's PIDs those that the driver tells? Not in a container with PIDs of its own."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino == HOST_PIDS  # noqa: PTH116 (a magic link: Path resolves it)
    except OSError:
        return False


class Owners:
    """Looks processes up."""

    def __init__(self, read: Callable[[int], str] = read_cgroup, ours: Callable[[], bool] = sees_host_pids) -> None:
        self._read = read
        self._ours = ours()

    def of(self, pids: Iterable[int]) -> list[Owner]:
        """Of each process that can be told, without doubles, in the order of the PIDs."""
        if not self._ours:
            return []
        found: dict[Owner, None] = {}
        for pid in sorted(pids):
            try:
                owner = owner_of(self._read(pid))
            except OSError:  # it ended since
                continue
            if owner != Owner():
                found.setdefault(owner)
        return list(found)


def joined(texts: Iterable[str | None]) -> str | None:
    """Several users of one GPU, parted by commas; None: none is known."""
    return ",".join(dict.fromkeys(text for text in texts if text is not None)) or None


def used_by(gpu: Gpu, owners: Sequence[Owner]) -> Gpu:
    """The GPU with its users."""
    if not owners:
        return gpu
    return replace(
        gpu, hpc_job=joined(owner.hpc_job for owner in owners), pod_uid=joined(owner.pod_uid for owner in owners)
    )
