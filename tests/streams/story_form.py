"""What a story about a detector is made of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from collectors.contract.message import Message
from streams.detector import Tick

Stretch = tuple[str, int]
Item = Message | Tick


@dataclass(frozen=True, kw_only=True)
class Story:
    """How to test one detector."""

    detector: str
    words: tuple[str, ...]
    tell: Callable[[Sequence[Stretch]], list[Item]]
    least: int = 6
    """Messages that a stretch needs so that one lost message changes only the delay."""
    most: int = 14
    back: int = 40
    """Messages that are read back after a restart."""
    again: int = 30
    """Messages that may be delivered again: what is older than a clock may have been set back is taken for new."""
    examples: int = 30
    hears: bool = False
    """Any message, readable or not, is what it waits for; its last word goes to the Table once a minute."""
