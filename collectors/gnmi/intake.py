"""One response from a switch or a recording, with what is done about a bad one."""

from collections.abc import Callable

from collectors.contract.fabric import PortScrape
from collectors.gnmi import wire
from collectors.gnmi.decoder import Decoder, StreamError


def take(
    decoder: Decoder,
    raw: bytes,
    received_us: int | None,
    *,
    reject: Callable[[bytes, str], None],
    side: bool = False,
) -> tuple[PortScrape | None, str | None]:
    """The scrape that it completes, and the error that the switch told in it. What cannot be read is rejected."""
    try:
        return decoder.feed(raw, received_us, side=side), None
    except StreamError as why:
        return None, str(why)
    except (wire.DecodeError, ValueError, LookupError, TypeError, RecursionError) as why:
        reject(raw, f"no SubscribeResponse: {why}")
        return None, None
