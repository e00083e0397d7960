"""Ranks of a communicator as short text: `0-7,16-31/8`. A group of a big job has thousands of them, in few runs."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

MOST = 1 << 20
_RUN = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?:/(\d{1,9}))?)?")


def pack_ranks(ranks: Iterable[int]) -> str:
    """Runs `first-last` or `first-last/step`, in the order given."""
    return ",".join(_show(*run) for run in _runs(list(ranks)))


def unpack_ranks(text: str) -> list[int]:
    """Raises ValueError for what `pack_ranks` did not write, or more than a million ranks."""
    out: list[int] = []
    for part in text.split(",") if text else ():
        run = _RUN.fullmatch(part)
        if run is None:
            raise ValueError(f"{part[:40]!r} is not a rank or a run of ranks")
        first, last, step = int(run[1]), int(run[2] or run[1]), int(run[3] or 1)
        if last < first or step == 0:
            raise ValueError(f"{part[:40]!r} runs backwards")
        out += islice(range(first, last + 1, step), MOST + 1 - len(out))
        if len(out) > MOST:
            raise ValueError(f"more than {MOST} ranks")
    return out


def _runs(ranks: list[int]) -> Iterator[tuple[int, int, int]]:
    """First, last and step of each run."""
    at = 0
    while at < len(ranks):
        end, step = at + 1, 1
        if end < len(ranks) and ranks[end] > ranks[at]:
            step = ranks[end] - ranks[at]
            while end < len(ranks) and ranks[end] - ranks[end - 1] == step:
                end += 1
        if end - at == 2 and step > 1:
            end = at + 1
        yield ranks[at], ranks[end - 1], step
        at = end


def _show(first: int, last: int, step: int) -> str:
    if first == last:
        return str(first)
    return f"{first}-{last}" if step == 1 else f"{first}-{last}/{step}"
