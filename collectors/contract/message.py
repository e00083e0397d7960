"""What every message shares."""

from typing import Annotated

from msgspec import Meta, Struct

END_US = 253_402_300_800_000_000
"""The year 10000: later times are of a wrong unit, and no calendar has them."""

Us = Annotated[int, Meta(ge=0, lt=END_US)]
"""Unix microseconds, UTC."""


class Message(Struct, frozen=True, kw_only=True, omit_defaults=False):
    """The base of all messages. JSON on the wire; unknown fields are ignored, missing ones take their default.

    Times are Unix microseconds, UTC, taken at the source. `None` is "could not be read", an absent row
    is "not sent", `0` is zero.
    """

    cluster: str = "default"
    ts_us: Us


def scoped(cluster: str, *names: str) -> str:
    """The Kafka key `cluster/name[/name]`: node, job and switch names repeat between clusters."""
    return "/".join((cluster, *names))
