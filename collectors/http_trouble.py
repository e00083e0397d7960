"""What went wrong with a request of aiohttp, in a line that a person understands."""

import os

import aiohttp

LONGEST = 200


def said(why: aiohttp.ClientError | ValueError) -> str:
    """The system's words where it has some; never bytes of the answer, or more than a line."""
    if isinstance(why, aiohttp.ClientResponseError):
        # Also for what aiohttp cannot parse; its message goes on with the bytes and a mark below them.
        return f"no HTTP that can be read: {_line(why.message).rstrip(':')}"
    if isinstance(why, aiohttp.ClientPayloadError):
        return "the answer was cut off before its end"
    if isinstance(why, aiohttp.ServerDisconnectedError):
        return "closed without an answer"
    cause: object = getattr(why, "os_error", why)
    if isinstance(cause, OSError) and cause.errno is not None and cause.errno > 0:
        return os.strerror(cause.errno)
    return _line(str(why)) or type(why).__name__


def _line(text: str) -> str:
    return text.strip().partition("\n")[0][:LONGEST]
