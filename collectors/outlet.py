"""Where messages go: standard output here, Kafka in `outlet_kafka`."""

import sys
from collections.abc import Callable, Sequence
from typing import Any

from collectors.contract.beat import Beat
from collectors.contract.envelope import write
from collectors.contract.message import Message
from collectors.contract.topic import Topic


def _print(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")


def _complain(text: str) -> None:
    sys.stderr.write(f"lockstep collect: {text}\n")


class StdoutOutlet:
    """Prints one envelope a message. A failed beat is a line on standard error."""

    def __init__(
        self, write_line: Callable[[bytes], None] = _print, complain: Callable[[str], None] = _complain
    ) -> None:
        self._write_line = write_line
        self._complain = complain
        self.messages = 0
        self.failures = 0

    def publish(self, topic: Topic[Any], message: Message) -> None:
        """Print the envelope."""
        self._write_line(write(topic, message))
        self.messages += 1

    async def deliver(self, messages: Sequence[tuple[Topic[Any], Message]]) -> bool:
        """Print the envelopes."""
        for topic, message in messages:
            self.publish(topic, message)
        return True

    def beat(self, beat: Beat) -> None:
        """Say what could not be read."""
        if not beat.ok:
            self.failures += 1
            self._complain(f"{beat.target or beat.subject or beat.source}: {beat.error or 'could not be read'}")

    def reject(self, source: str, raw: bytes, why: str) -> None:
        """Say what could not be understood, with its beginning."""
        self.failures += 1
        shown = raw[:80].decode("utf-8", "backslashreplace").replace("\n", "\\n")
        self._complain(f"{source}: {why}: {shown!r}" if shown else f"{source}: {why}")
