"""What every message shares."""

from msgspec import Struct


class Message(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """The base of all messages. JSON on the wire; unknown fields are ignored, missing ones take their default.

    Times are Unix microseconds, UTC, taken at the source. `None` is "could not be read", an absent row
    is "not sent", `0` is zero.
    """

    cluster: str = "default"
    ts_us: int


def scoped(cluster: str, *names: str) -> str:
    """The Kafka key `cluster/name[/name]`: node, job and switch names repeat between clusters."""
    return "/".join((cluster, *names))
