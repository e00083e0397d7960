"""What a log holds, counted instead of published."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from collectors.contract.beat import Beat
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.source import Outlet

GPU_KINDS = ("xid", "gpu_lost")


@dataclass(slots=True)
class Looked:
    """Counts what it is given; an outlet that sends nothing."""

    kinds: Counter[str] = field(default_factory=Counter)
    nameless: int = 0
    """Events of a GPU whose UUID is not known."""
    rejected: int = 0

    @property
    def sees(self) -> str:
        """In words."""
        counted = ", ".join(f"{count} {kind}" for kind, count in self.kinds.most_common())
        bad = f"; {self.rejected} lines in no known form" if self.rejected else ""
        return (counted or "no event so far") + bad

    def publish(self, topic: Topic[Any], message: Message) -> None:
        """Count one event."""
        del topic
        if isinstance(message, KernelEvent):
            self.kinds[message.kind] += 1
            self.nameless += message.kind in GPU_KINDS and message.gpu_uuid is None

    async def deliver(self, messages: Sequence[tuple[Topic[Any], Message]]) -> bool:
        """Count them."""
        for topic, message in messages:
            self.publish(topic, message)
        return True

    def beat(self, beat: Beat) -> None:
        """Nobody listens."""

    def reject(self, source: str, raw: bytes, why: str) -> None:
        """Count one bad line."""
        del source, raw, why
        self.rejected += 1


def look(once: Callable[[Outlet], int]) -> Looked:
    """Read a log once. Raises `SourceError`."""
    looked = Looked()
    once(looked)
    return looked
