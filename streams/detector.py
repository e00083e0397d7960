"""What a detector is: limits, a state for each message key, and a step."""

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from collectors.contract.message import Message
from collectors.contract.topic import Topic
from streams.contract import Finding


class Tick(Struct, frozen=True):
    """The time, as a message. Never earlier than what came before it for the same key."""

    ts_us: int


S = TypeVar("S")


class Detector(Protocol[S]):
    """Pure: no clock, no Kafka, no log. One state per message key; its topics share their keys.

    Cutting a batch elsewhere, delivering a message twice or late changes nothing but the delay. What a tick
    brings about carries the time of the *deadline* that passed, not of the tick, so that replay agrees with
    the live run whatever the rhythm of its ticks.
    """

    name: str
    topics: tuple[Topic[Any], ...]

    def fresh(self) -> S:
        """The state of a key never seen."""

    def step(self, state: S, batch: Sequence[Message | Tick]) -> tuple[S, list[Finding]]:
        """Judge a batch of one key, in arrival order. May change and return the same state object."""

    def keep(self, state: S) -> bytes | None:
        """What must outlive the process (open episodes, day-long baselines), encoded; None: nothing.

        Equal bytes mean that nothing durable changed, so the app writes its Table only when they differ.
        Must be cheap, and bounded whatever the input.
        """

    def restore(self, kept: bytes) -> S:
        """A state from what was kept; the short-lived rest is rebuilt from the last minutes of the topic."""
