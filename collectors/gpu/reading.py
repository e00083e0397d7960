"""What a reader of GPUs brings back, and the readers' one face."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from collectors.contract.gpu import Gpu

GpuSource = Literal["dcgm", "nvml"]


class GpuTrouble(Exception):
    """The library cannot be used as a whole; the text says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One GPU or MIG instance at one moment."""

    gpu: Gpu
    values: Mapping[str, float | None] = field(default_factory=dict)
    """DCGM field id -> value in DCGM's unit; None: could not be read. What the GPU does not have is absent."""
    errors: Mapping[str, str] = field(default_factory=dict)
    """DCGM field id -> why it could not be read."""
    trouble: str | None = None
    """Why nothing could be read of it."""
    lost: bool = False
    """It has gone from the bus."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """An XID that the driver told, at the time it was told."""

    ts_us: int
    code: int
    gpu: Gpu | None
    """None: the driver did not say which."""
    mig: str | None = None
    """`GPU instance[/compute instance]`, as the kernel log numbers them."""
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one part of the reader said: rows by their moment (Unix microseconds)."""

    moments: Mapping[int, Sequence[Row]]
    labels: Mapping[str, str] = field(default_factory=dict)
    reopen: str | None = None
    """Why the library must be started anew before the next reading; None: it need not."""
    why: str | None = None
    """What is wrong with the part as a whole."""


@dataclass(frozen=True, slots=True)
class Part:
    """What can be asked apart. `ask` is given the sweep's time, Unix microseconds, and may block for ever."""

    ask: Callable[[int], Reading]
    gpus: Callable[[], Sequence[Gpu]] = lambda: ()
    """Those that it tells of, as far as that is known by now; does not block."""


class GpuReader(Protocol):
    """A library that reads GPUs. Each call may block for as long as the driver does: none is made in the loop."""

    source: GpuSource
    target: str
    keeps_time: bool
    """Its moments are the samples' own: a reading that comes late is still right."""

    def open(self) -> Mapping[str, Part]:
        """Start, or start anew: the parts, by name. Raises `GpuTrouble`."""

    def close(self) -> None:
        """Let go of the library; not called while a part hangs. Raises nothing."""

    def faults(self) -> Sequence[Fault]:
        """Wait up to a second for what the driver tells by itself. Raises `GpuTrouble`: it cannot be had now."""
