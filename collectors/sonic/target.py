"""The redis of a switch, from the command line."""

from dataclasses import dataclass

from collectors.sonic.database import Address
from collectors.source import SourceError


@dataclass(frozen=True, slots=True)
class RedisTarget:
    """One switch. `name` None: what the switch calls itself."""

    address: Address
    name: str | None = None


def read_redis(text: str) -> RedisTarget:
    """`[NAME=]HOST:PORT` or `[NAME=]unix:PATH`. Raises `SourceError`."""
    name, sep, rest = text.partition("=") if "=" in text.partition("unix:")[0] else ("", "", text)
    wrong = SourceError(f"--redis {text}: write [NAME=]HOST:PORT or [NAME=]unix:PATH, such as 127.0.0.1:6379")
    if sep and not name:
        raise wrong
    if rest.startswith("unix:"):
        path = rest.removeprefix("unix:")
        if not path:
            raise wrong
        return RedisTarget(Address(path=path), name or None)
    host, colon, port = rest.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise wrong
    return RedisTarget(Address(host.strip("[]"), int(port)), name or None)
