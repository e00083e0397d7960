"""What a source is: it can be read once into envelopes, or served for as long as the process lives."""

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from collectors.contract.beat import Beat
from collectors.contract.errors import UserError
from collectors.contract.message import Message
from collectors.contract.topic import Topic


class SourceError(UserError):
    """A mistake of the user's or a source that cannot be read; the text names it and says what to do."""


@dataclass(frozen=True, slots=True)
class Sight:
    """One line of `lockstep collect check`: what a source sees at one target, or what it lacks there."""

    target: str
    ok: bool
    """False: nothing, or not all that detection needs, comes from there."""
    sees: str
    lacks: str = ""
    advice: str = ""
    """What to switch on, in words that a person can act on."""


class Outlet(Protocol):
    """Where a source's messages go. Never blocks on Kafka: what cannot be sent is spooled."""

    def publish(self, topic: Topic[Any], message: Message) -> None:
        """Hand over one message."""

    async def deliver(self, messages: Sequence[tuple[Topic[Any], Message]]) -> bool:
        """Hand over messages and wait until Kafka has them: for senders that keep what is not acknowledged.

        False: Kafka has not all of them, and nothing here keeps them.
        """

    def beat(self, beat: Beat) -> None:
        """Report one sweep; `lost` and `spooled` are filled in by the outlet."""

    def reject(self, source: str, raw: bytes, why: str) -> None:
        """Bytes that could not be read, to `rejected.v1` under its rate limit."""


class Source(Protocol):
    """A module that `lockstep collect` loads by name: these four functions at its top level."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the source's options. Imports nothing heavy: it runs for `--help`."""

    def once(self, args: argparse.Namespace, outlet: Outlet) -> int:
        """Read what is there now, publish it, return the number of messages. Raises `SourceError`."""

    def check(self, args: argparse.Namespace) -> Iterable[Sight]:
        """Look at every target once, within some 10 s each; one that cannot be read is a line, not an error."""

    async def serve(self, args: argparse.Namespace, outlet: Outlet) -> None:
        """Run until cancelled. One failing target never stops or delays another."""
