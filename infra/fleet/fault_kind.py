"""What a kind of fault is: where it strikes, how large it may be, which words are right for it."""

from dataclasses import dataclass
from typing import Literal

TargetKind = Literal["gpu", "node", "port", "job", "stage", "rack", "switch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultKind:
    """One kind of fault: where it strikes, what `size` means, and which cause words are right for it."""

    target: TargetKind
    size: float
    """Default size."""
    low: float
    high: float
    meaning: str
    """Of the size, with its unit."""
    expect: tuple[str, ...]
    detector: str
    """The detector that is answerable for it in the scoreboard."""
    page: bool = True
    per_second: bool = False
    """`size` is a rate of single events."""
    bound: Literal["scrapes", "steps"] | None = None
    """What the delay of its page is counted in, besides seconds. Throttling takes three windows to be one (heat,
    and a rule of three), whatever the interval: it is counted in neither."""
