"""One message a line: `{"topic", "key", "ts_us", "value"}`, and what `kcat -J` writes."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from collectors.contract.errors import UserError
from collectors.contract.message import Message
from collectors.contract.topic import Topic, encode


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """A message with where it stood. `kcat -J` has `payload` (the message as text) in place of `value`."""

    topic: str
    key: str | None = None
    ts_us: int | None = None
    value: msgspec.Raw = msgspec.Raw()
    payload: str | None = None


class EnvelopeError(UserError):
    """A line that is no envelope, or whose message cannot be read; the text names the line and what to do."""


@dataclass(frozen=True, slots=True)
class Enveloped:
    """One message read from an envelope."""

    topic: Topic[Any]
    message: Message


_decoder = msgspec.json.Decoder(Envelope)


def write(topic: Topic[Any], message: Message) -> bytes:
    """One line without its newline."""
    return encode(
        {
            "topic": topic.name,
            "key": topic.key(message),
            "ts_us": message.ts_us,
            "value": msgspec.Raw(encode(message)),
        }
    )


def read(line: bytes, topics: Mapping[str, Topic[Any]], where: str) -> Enveloped:
    """Read one line. `where` names it in errors (`file:line`). Raises `EnvelopeError`."""
    try:
        envelope = _decoder.decode(line)
    except msgspec.MsgspecError as why:
        raise EnvelopeError(f"{where}: not an envelope of topic, key, ts_us and value: {why}") from why
    topic = topics.get(envelope.topic)
    if topic is None:
        raise EnvelopeError(f"{where}: unknown topic {envelope.topic!r}; known: {', '.join(sorted(topics))}")
    raw = bytes(envelope.value) or (envelope.payload or "").encode()
    try:
        return Enveloped(topic, topic.decode(raw))
    except msgspec.MsgspecError as why:
        raise EnvelopeError(f"{where}: {envelope.topic}: {why}") from why


def read_lines(
    lines: Iterable[bytes], topics: Mapping[str, Topic[Any]], name: str
) -> Iterator[Enveloped | EnvelopeError]:
    """Every line of a file; a bad line comes out as the error, and reading goes on. Blank lines are skipped."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield read(line, topics, f"{name}:{number}")
        except EnvelopeError as why:
            yield why
