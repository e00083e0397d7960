"""How much of a file is read at most, and what is wrong with one that is not read."""

MOST_BYTES = 64 << 20
MOST_OPCODES = 5_000_000
"""A dump of 20,000 entries has some 2 million."""
MOST_CONTAINERS = 1_000_000
MOST_MEMO = 2_000_000
MOST_DEPTH = 32
"""PyTorch's dumps are five deep."""
MOST_INT_BYTES = 16


class DumpError(ValueError):
    """Bytes that are no dump; the text says why."""


class CutError(DumpError):
    """The end is missing: still being written, or never finished."""


class HostileError(DumpError):
    """A pickle that wants to import, call or build something."""
