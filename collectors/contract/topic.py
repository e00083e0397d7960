"""What a topic is."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import msgspec

from collectors.contract.message import Message

M = TypeVar("M", bound=Message)

DAY_MS = 24 * 3600 * 1000


@dataclass(frozen=True, kw_only=True)
class Topic(Generic[M]):
    """Name, message type, key, partitions and retention of one topic, in one place for all rooms."""

    name: str
    type: type[M]
    key: Callable[[M], str]
    partitions: int = 8
    retention_ms: int = 3 * DAY_MS
    compacted: bool = False
    max_message_bytes: int | None = None
    """None: as the broker says, 1 MB unless it was told otherwise."""

    @cached_property
    def _decoder(self) -> "msgspec.json.Decoder[M]":
        return msgspec.json.Decoder(self.type)

    def decode(self, raw: bytes) -> M:
        """Raises `msgspec.DecodeError` or `msgspec.ValidationError` naming the field."""
        return self._decoder.decode(raw)

    def encode(self, message: M) -> bytes:
        """JSON bytes of one message."""
        return encode(message)


_encoder = msgspec.json.Encoder()
encode = _encoder.encode
