"""What a story about a detector is made of."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from collectors.contract.message import Message
from streams.detector import Tick

Stretch = tuple[str, int]
Item = Message | Tick


@dataclass(frozen=True, kw_only=True)
class Story:
    """How to test one detector. `lasting`: words whose end is not in doubt when one message is lost or late."""

    detector: str
    words: tuple[str, ...]
    tell: Callable[[Sequence[Stretch]], list[Item]]
    least: int = 6
    """Messages that a stretch needs so that one lost message changes only the delay."""
    most: int = 14
    back: int = 40
    """Messages that are read back after a restart."""
    examples: int = 30
    hears: bool = False
    """Any message, readable or not, is what it waits for; its last word goes to the Table once a minute."""
