"""What collectors and consumers say of themselves."""

from typing import Literal

from msgspec import field

from collectors.contract.message import Message


class Beat(Message, frozen=True, kw_only=True):
    """One sweep of one collector over one target."""

    collector: str
    """`source@host` or `source@host:instance`: one running process."""
    source: str
    target: str | None = None
    subject: str | None = None
    """The node or device that the target turned out to be, once known."""
    ok: bool = True
    seconds: float = 0.0
    messages: int = 0
    samples: int = 0
    bytes: int = 0
    """Read from the target in this sweep, where the source counts them."""
    ignored: dict[str, int] = field(default_factory=dict)
    """Samples that are none of this source's business, by reason."""
    lost: int = 0
    """Messages dropped since the last beat because the spool was full."""
    spooled: int = 0
    """Messages waiting on disk."""
    interval_s: float | None = None
    error: str | None = None


class Rejected(Message, frozen=True, kw_only=True):
    """Bytes that could not be read, and why. `raw` is base64 on the wire, cut at 64 KiB."""

    source: str
    """The topic, or `collector:target` of the source, that they came from."""
    partition: int | None = None
    offset: int | None = None
    why: str
    raw: bytes = b""
    by: Literal["collector", "stream", "warehouse"] = "stream"
    unreported: int = 0
    """Further bad messages from that source since the last report (the rate limit)."""
