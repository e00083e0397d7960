"""Names of targets to addresses. asyncio's own way is a pool of some six threads, which a few dead names would fill."""

import asyncio
import ipaddress
import socket
from collections.abc import Callable

from collectors.dcgm.aside import aside

MOST = 256
"""Lookups at the same time."""

Lookup = Callable[[str], list[str]]


def system_lookup(host: str) -> list[str]:
    """The addresses of a host, as this system finds them. Raises `OSError`."""
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Names:
    """One lookup a name, however many wait for it; one that hangs delays no other name."""

    def __init__(self, lookup: Lookup = system_lookup) -> None:
        self._lookup = lookup
        self._asked: dict[str, asyncio.Future[list[str]]] = {}

    async def addresses(self, host: str) -> list[str]:
        """At least one. Raises `OSError`."""
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return await self._find(host)
        return [host]

    async def _find(self, host: str) -> list[str]:
        future = self._asked.get(host)
        if future is None:
            if len(self._asked) >= MOST:
                raise OSError(f"{MOST} names are being looked up; DNS does not answer")
            future = self._asked[host] = aside(lambda: self._lookup(host), "lookup")
            future.add_done_callback(lambda done: self._forget(host, done))
        # Who gives up leaves the lookup to the others who wait for it.
        await asyncio.wait({future})
        return future.result()

    def _forget(self, host: str, done: asyncio.Future[list[str]]) -> None:
        self._asked.pop(host, None)
        if not done.cancelled():
            done.exception()
