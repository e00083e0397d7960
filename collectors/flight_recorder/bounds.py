"""How much of a file is read at most, and what is wrong with one that is not read."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one pickle may take. A dump of 20,000 entries has some 2 million opcodes and is five deep."""

    bytes: int = 64 << 20
    opcodes: int = 5_000_000
    containers: int = 1_000_000
    memo: int = 2_000_000
    depth: int = 32
    int_bytes: int = 16


class DumpError(ValueError):
    """Bytes that are no dump; the text says why."""


class CutError(DumpError):
    """The end is missing: still being written, or never finished."""


class HostileError(DumpError):
    """A pickle that wants to import, call or build something."""
