"""The accounting tree: its buckets in order, in words, in colours, and the ratios made of their sums."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bucket:
    """One leaf of the tree. `colour` is told apart from its neighbours by people with any colour vision."""

    name: str
    words: str
    colour: str


# From the best use of a GPU-second to the worst.
BUCKETS: tuple[Bucket, ...] = (
    Bucket("productive", "training steps that were kept", "#1a7f5a"),
    Bucket("straggled", "training held up by a slow rank", "#e0a100"),
    Bucket("checkpoint", "saving or loading, training blocked", "#6fb7d6"),
    Bucket("startup", "starting or restarting", "#9a86d1"),
    Bucket("stalled", "hung, or waiting for data", "#d2691e"),
    Bucket("lost", "work done again after a failure", "#b22222"),
    Bucket("reserved_idle", "reserved, no work for 30 minutes", "#c9b458"),
    Bucket("allocated_uninstrumented", "allocated, no step reports", "#8fa3ad"),
    Bucket("idle", "healthy and free", "#cfd8dc"),
    Bucket("unhealthy_in_pool", "suspect, still schedulable", "#f4a6a6"),
    Bucket("out_of_service", "cordoned, draining or in repair", "#8c5a5a"),
    Bucket("down", "GPU lost or powered off", "#4a2c2c"),
    Bucket("no_data", "nothing heard", "#1f1f1f"),
)

UNUSABLE = frozenset({"unhealthy_in_pool", "out_of_service", "down", "no_data"})
FREE = frozenset({"idle"})


@dataclass(frozen=True, slots=True)
class Sums:
    """GPU-microseconds of a window, summed up the tree."""

    installed: int
    usable: int
    allocated: int
    productive: int


def sums(gpu_us: Mapping[str, int]) -> Sums:
    """Add the buckets up. An unknown bucket raises `KeyError`: it would silently change every ratio."""
    known = {bucket.name for bucket in BUCKETS}
    for name in gpu_us:
        if name not in known:
            raise KeyError(name)
    usable = sum(us for name, us in gpu_us.items() if name not in UNUSABLE)
    return Sums(
        installed=sum(gpu_us.values()),
        usable=usable,
        allocated=usable - sum(us for name, us in gpu_us.items() if name in FREE),
        productive=gpu_us.get("productive", 0),
    )


def share(part: float | None, whole: float | None) -> float | None:
    """A ratio of two sums, or None where there is nothing to divide by."""
    return None if part is None or not whole else part / whole
