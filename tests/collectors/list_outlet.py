"""An outlet that keeps what it is given."""

from collections.abc import Sequence
from typing import Any

from collectors.contract.beat import Beat
from collectors.contract.message import Message
from collectors.contract.topic import Topic


class ListOutlet:
    """Lists of what was published, beaten and rejected."""

    def __init__(self) -> None:
        self.published: list[tuple[str, Message]] = []
        self.beats: list[Beat] = []
        self.rejected: list[tuple[str, bytes, str]] = []
        self.away = False
        """Kafka is away: nothing is delivered."""

    def publish(self, topic: Topic[Any], message: Message) -> None:
        self.published.append((topic.name, message))

    async def deliver(self, messages: Sequence[tuple[Topic[Any], Message]]) -> bool:
        if not self.away:
            self.published += [(topic.name, message) for topic, message in messages]
        return not self.away

    def beat(self, beat: Beat) -> None:
        self.beats.append(beat)

    def reject(self, source: str, raw: bytes, why: str) -> None:
        self.rejected.append((source, raw, why))

    def of(self, topic: Topic[Any]) -> list[Any]:
        """What was published to one topic."""
        return [message for name, message in self.published if name == topic.name]
