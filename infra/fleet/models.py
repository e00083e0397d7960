"""What GPUs of a model have, by parts of its name."""

from functools import cache

HAVE = {"volta": ("V100", "T4"), "blackwell": ("B200", "B300"), "grace": ("GH200", "GB200", "GB300")}
"""Pages are retired up to Turing and rows remapped from Ampere on (NVIDIA GPU Memory Error Management); repair of
whole channels and NVLink 5 came with Blackwell; a Grace CPU hangs on C2C."""


@cache
def has(model: str) -> frozenset[str]:
    """`all`, and what else holds for the model."""
    found = {name for name, parts in HAVE.items() if any(part in model for part in parts)}
    return frozenset({"all", *found, *(() if "volta" in found else ("ampere",))})
