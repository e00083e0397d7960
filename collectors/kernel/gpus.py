"""Which GPU sits at which PCI address of this node."""

import re
from collections.abc import Callable
from pathlib import Path

from collectors.kernel.fact import pci_address
from collectors.source import SourceError

DRIVER_FOLDER = Path("/proc/driver/nvidia/gpus")
REREAD_US = 10_000_000

_UUID = re.compile(r"GPU-[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PCI = re.compile(r"\b[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?\b")


def read_gpus(path: Path) -> dict[str, str]:
    """PCI address -> UUID from the driver's folder, or from lines that hold both.

    `nvidia-smi --query-gpu=pci.bus_id,uuid --format=csv` writes such lines. Raises `OSError`.
    """
    if path.is_dir():
        records = [file.read_text(errors="replace") for file in sorted(path.glob("*/information"))]
    else:
        records = path.read_text(errors="replace").splitlines()
    found = ((_PCI.search(record), _UUID.search(record)) for record in records)
    return {pci_address(pci[0]): uuid[0] for pci, uuid in found if pci and uuid}


class GpuMap:
    """Looks a PCI address up. Read again when one is missing, at most every ten seconds: drivers load late."""

    def __init__(self, path: Path, now_us: Callable[[], int]) -> None:
        self._path = path
        self._now_us = now_us
        self._gpus: dict[str, str] = {}
        self._read_us: int | None = None

    def __call__(self, pci: str) -> str | None:
        """The UUID, or None where it is not known."""
        if pci not in self._gpus and (self._read_us is None or self._now_us() - self._read_us >= REREAD_US):
            self._read_us = self._now_us()
            try:
                self._gpus = read_gpus(self._path)
            except OSError:  # no driver, or not loaded yet: the event is told without the UUID
                return None
        return self._gpus.get(pci)


def no_gpus(pci: str) -> str | None:
    """The look-up of a log whose machine is not known."""
    return None


def checked_map(path: Path, now_us: Callable[[], int]) -> GpuMap:
    """A map that the user named. Raises `SourceError` when it cannot be read or names no GPU."""
    try:
        found = read_gpus(path)
    except OSError as why:
        raise SourceError(f"--gpu-map {path}: {why.strerror}") from why
    if not found:
        raise SourceError(
            f"--gpu-map {path}: no line with a PCI address and a GPU UUID; make it with "
            "`nvidia-smi --query-gpu=pci.bus_id,uuid --format=csv`"
        )
    return GpuMap(path, now_us)
