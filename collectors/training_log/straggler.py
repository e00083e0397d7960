"""The straggler reports of frameworks: Megatron's detector and nvidia-resiliency-ext.

Both name the extremes only, never all ranks, so they are told in words and take no part in our own judgement, which
needs every rank's time.
"""

import re
from collections.abc import Iterator

from collectors.training_log.cells import number
from collectors.training_log.fact import Noted
from collectors.training_log.line import Line

TEXT_CHARS = 500
SCORES = 64
MILLIWATT_ABOVE = 10_000
"""Megatron prints NVML's milliwatts as `W`; no GPU draws 10 kW."""

_MEGATRON = re.compile(r"\b(M[nx])(Rtt|Pwr|Tmp|Utl|Clk|DRtt|Etpt)/Rnk: ([\d.]+)(ms|W|C|%|MHz|TF)/(\d{1,6})(?=\s|$)")
_NAMES = {
    "Rtt": "compute",
    "DRtt": "batch fetch",
    "Etpt": "throughput",
    "Tmp": "temperature",
    "Clk": "clock",
    "Pwr": "power",
}
_WARNING = re.compile(r"STRAGGLER DETECTION WARNING: (.{1,2000})$")
_HEAD = re.compile(r"\bGPU (relative|individual) performance:\s*$")
_SCORE = re.compile(r"^\s*Rank=(\d{1,6}) Node=(\S{1,200}) Score=(\d+\.\d+)\s*$")
_BETWEEN = re.compile(r"^\s*(?:Worst|Best) performing \d+/\d+ ranks:\s*$")


class Straggler:
    """Holds a block of scores until a line that is none of it."""

    def __init__(self) -> None:
        self._kind: str | None = None
        self._scores: list[tuple[float, int, str]] = []

    def read(self, line: Line) -> Iterator[Noted]:
        """A report, once it is whole."""
        text = line.text
        if "MnRtt/Rnk: " in text:
            yield from _megatron(text)
        elif "STRAGGLER" in text and (found := _WARNING.search(text)):
            yield from self.rest()
            ranks = re.findall(r"\b\d{1,6}\b", found[1].partition("ranks:")[2])
            yield Noted(text=found[0][:TEXT_CHARS], rank=int(ranks[0]) if len(ranks) == 1 else None)
        elif "performance:" in text and (found := _HEAD.search(text)):
            yield from self.rest()
            self._kind = found[1]
        elif self._kind is not None:
            if found := _SCORE.match(text):
                if len(self._scores) < SCORES:
                    self._scores.append((float(found[3]), int(found[1]), found[2]))
            elif not _BETWEEN.match(text):
                yield from self.rest()

    def rest(self) -> Iterator[Noted]:
        """The block that came last."""
        scores, kind = sorted(self._scores), self._kind
        self._scores, self._kind = [], None
        if scores:
            worst = "; ".join(f"rank {rank} on {node} {score:.2f}" for score, rank, node in scores[:3])
            yield Noted(
                text=f"GPU {kind} performance, lowest: {worst}"[:TEXT_CHARS], rank=scores[0][1], node=scores[0][2]
            )


def _megatron(text: str) -> Iterator[Noted]:
    """`MxRtt` is the slowest rank by compute, batch fetch and waiting left out."""
    found: dict[str, tuple[float, str, int]] = {}
    for side, name, value, unit, rank in _MEGATRON.findall(text):
        read = number(value)
        if read is not None:
            found[side + name] = (read, unit, int(rank))
    words = []
    for name, meaning in _NAMES.items():
        least, most = found.get(f"Mn{name}"), found.get(f"Mx{name}")
        if least is None or most is None:
            continue
        scale = 1000 if name == "Pwr" and most[0] > MILLIWATT_ABOVE else 1
        unit = {"TF": "TFLOP/s"}.get(most[1], most[1])
        words.append(
            f"{meaning} {least[0] / scale:g} {unit} (rank {least[2]}) to {most[0] / scale:g} {unit} (rank {most[2]})"
        )
    if words:
        slowest = found.get("MxRtt")
        yield Noted(text="; ".join(words)[:TEXT_CHARS], rank=None if slowest is None else slowest[2])
