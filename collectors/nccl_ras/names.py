"""Names of the hosts that RAS knows by address only."""

import asyncio
import ipaddress
import socket
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

Lookup = Callable[[str], str | None]
"""Address -> name; None: it has none. May take as long as a resolver takes."""

AT_ONCE = 16
MOST = 1 << 16
"""Addresses that are ever looked up."""


def reverse(address: str, own: Callable[[], str] = socket.gethostname) -> str | None:
    """The name that the resolver (also `/etc/hosts`) has; cut at its first dot where this host's own name has none."""
    try:
        name = socket.gethostbyaddr(str(ipaddress.ip_address(address)))[0]
    except (OSError, ValueError):  # no name, or no address
        return None
    return name if "." in own() else name.partition(".")[0]


class Names:
    """Each address is looked up once. One that takes too long is taken as it is, and as a name when that has come."""

    def __init__(self, lookup: Lookup = reverse, within_s: float = 5.0) -> None:
        self._lookup = lookup
        self._within_s = within_s
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="ras-names")
        self._asked: dict[str, asyncio.Future[str | None]] = {}

    async def learn(self, addresses: Iterable[str]) -> None:
        """Wait a little for the names of these."""
        loop = asyncio.get_running_loop()
        for address in addresses:
            if address not in self._asked and len(self._asked) < MOST:
                self._asked[address] = loop.run_in_executor(self._pool, self._lookup, address)
        waiting = [asked for asked in self._asked.values() if not asked.done()]
        if waiting:
            await asyncio.wait(waiting, timeout=self._within_s)

    def of(self, address: str) -> str:
        """The name, or the address where it has none yet."""
        asked = self._asked.get(address)
        return address if asked is None or not asked.done() else asked.result() or address

    def close(self) -> None:
        """Ask no more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
