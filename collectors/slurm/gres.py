"""Generic resources of a job on one node: `gpu:a100:2(IDX:0,2-3)`, `gpu:8(CNT:8)`, `gpu(IDX:0-7),license:1`."""

import re

MOST = 1024
"""GPUs of one node; more is a mistake in the text."""

_GPU = re.compile(
    r"(?:^|,)(?:gres[/:])?gpu(?::(?!\d+(?:[,(]|$))[^:,()=]+)?(?:[:=](?P<count>\d+))?"
    r"(?:\((?P<how>IDX|CNT):(?P<what>[^)]*)\))?(?=,|$)"
)
_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")


class GresError(ValueError):
    """Text in no known form."""


def indexes(text: str) -> list[int | None]:
    """One entry a GPU: its index on the node, or None where only their number is told. Raises `GresError`.

    The index is that of gres.conf, which is NVML's on a usual set-up, and not that of CUDA_VISIBLE_DEVICES.
    """
    out: list[int | None] = []
    for found in _GPU.finditer(text):
        listed = _listed(found["what"]) if found["how"] == "IDX" else []
        if listed:
            out += listed
        else:
            count = found["what"] if found["how"] == "CNT" else found["count"] or "1"
            if not count.isdecimal() or len(count) > 6 or int(count) > MOST:
                raise GresError(f"{text[:60]!r}: not a number of GPUs")
            out += [None] * int(count)
    if len(out) > MOST:
        raise GresError(f"{text[:60]!r}: more than {MOST} GPUs on a node")
    return out


def gpus_of_tres(text: str) -> int:
    """GPUs in `cpu=16,mem=128G,gres/gpu=16,gres/gpu:h100=16`: the untyped sum, else the typed ones together."""
    plain, typed = None, 0
    for part in text.split(","):
        name, _, count = part.partition("=")
        if not count.isdecimal():
            continue
        if name == "gres/gpu":
            plain = int(count)
        elif name.startswith("gres/gpu:"):
            typed += int(count)
    return typed if plain is None else plain


def _listed(text: str) -> list[int | None]:
    out: list[int | None] = []
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        if found is None:
            if part.strip() in ("", "N/A", "(null)"):
                continue
            raise GresError(f"{text[:60]!r}: not a list of indexes")
        low, high = int(found[1]), int(found[2] or found[1])
        if high - low >= MOST:
            raise GresError(f"{text[:60]!r}: more than {MOST} GPUs on a node")
        out += range(low, high + 1)
    return out
