"""One kept connection to one target. Callbacks instead of tasks: a sweep costs a timer and a read, no more."""

import asyncio
from collections.abc import Callable

from collectors.dcgm.access import Access
from collectors.dcgm.http import HttpError, Url
from collectors.dcgm.names import Names
from collectors.dcgm.response import Buffers, Response
from collectors.defect import defect

Done = Callable[[bytes | OSError], None]
"""Called once for each request: with the page, or with what went wrong."""


class _Wire(asyncio.BufferedProtocol):
    """Bytes of one connection into a response."""

    def __init__(self, response: Response, answered: Done) -> None:
        self._response = response
        self._answered = answered
        self.waiting = False
        self.open = True

    def get_buffer(self, sizehint: int) -> memoryview:
        """As in asyncio."""
        del sizehint
        if self.waiting:
            try:
                return self._response.room()
            except HttpError as why:
                self._settle(why)
        return memoryview(bytearray(8 << 10))

    def buffer_updated(self, nbytes: int) -> None:
        """As in asyncio."""
        if not self.waiting:
            # Bytes that nobody asked for.
            self.open = False
            return
        try:
            body = self._response.came(nbytes)
        except HttpError as why:
            self._settle(why)
            return
        except Exception as why:  # noqa: BLE001 (raised into asyncio it would be told as a connection that was cut)
            self._settle(OSError(defect("dcgm", why)))
            return
        if body is not None:
            self.open = self.open and self._response.keeps
            self._settle(body)

    def connection_lost(self, exc: Exception | None) -> None:
        """As in asyncio."""
        self.open = False
        if not self.waiting:
            return
        try:
            body = self._response.ended()
        except HttpError as why:
            self._settle(why)
            return
        except Exception as why:  # noqa: BLE001 (as above)
            self._settle(OSError(defect("dcgm", why)))
            return
        cut = exc if isinstance(exc, OSError) else ConnectionResetError("closed before the end of the page")
        self._settle(cut if body is None else body)

    def _settle(self, result: bytes | OSError) -> None:
        self.waiting = False
        if isinstance(result, OSError):
            self.open = False
        self._answered(result)


class Client:
    """Asks one target for its page, again and again. One request at a time."""

    def __init__(
        self,
        url: Url,
        access: Access | None = None,
        buffers: Buffers | None = None,
        names: Names | None = None,
    ) -> None:
        self._url = url
        self._access = access
        self._names = names or Names()
        self._response = Response(buffers)
        self._wire: _Wire | None = None
        self._transport: asyncio.Transport | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._done: Done | None = None
        self._kept = False
        self._lines: tuple[str, ...] | None = None
        self._request = b""

    def fetch(self, done: Done) -> None:
        """Ask. A connection that the server closed in between is opened again, once."""
        self._done = done
        self._kept = self._wire is not None and self._wire.open
        if self._kept:
            self._ask()
        else:
            self._connect()

    def give_up(self, why: OSError) -> None:
        """End the request that runs with this error."""
        self._drop()
        self._finish(why)

    def close(self) -> None:
        """Drop the connection and the request."""
        self._done = None
        self._drop()

    def _ask(self) -> None:
        if self._wire is not None and self._transport is not None:
            self._response.restart()
            self._wire.waiting = True
            self._transport.write(self._asked())

    def _asked(self) -> bytes:
        """The request, with the login of now."""
        lines = () if self._access is None else self._access.lines
        if self._lines != lines:
            url, self._lines = self._url, lines
            host = f"[{url.host}]" if ":" in url.host else url.host
            own = (*lines, *url.headers)
            chosen = any(line.lower().startswith("accept:") for line in own)
            accept = () if chosen else ("Accept: text/plain;version=0.0.4",)
            head = (f"GET {url.path} HTTP/1.1", f"Host: {host}:{url.port}", *accept, *own)
            self._request = ("\r\n".join(head) + "\r\n\r\n").encode()
        return self._request

    def _connect(self) -> None:
        self._drop()
        self._connecting = asyncio.get_running_loop().create_task(self._open())

    async def _open(self) -> None:
        try:
            addresses = await self._names.addresses(self._url.host)
            self._transport, self._wire = await self._first_of(addresses)
        except OSError as why:
            self._finish(why)
            return
        except UnicodeError:
            self._finish(OSError(f"{self._url.host[:80]} can be no name of a host"))
            return
        except Exception as why:  # noqa: BLE001 (nobody waits for this task)
            self._finish(OSError(defect(f"dcgm:{self._url.host}", why)))
            return
        self._ask()

    async def _first_of(self, addresses: list[str]) -> tuple[asyncio.Transport, _Wire]:
        """A connection to the first address that takes one. Raises `OSError`, that of the last."""
        tls = self._access.tls if self._access is not None and self._url.secure else self._url.secure
        name = None if self._access is None else self._access.tls_name
        failure: OSError = ConnectionError("the name has no address")
        for address in addresses:
            try:
                return await asyncio.get_running_loop().create_connection(
                    lambda: _Wire(self._response, self._answered),
                    address,
                    self._url.port,
                    ssl=tls or None,
                    server_hostname=(name or self._url.host) if tls else None,
                )
            except OSError as why:
                failure = why
        raise failure

    def _answered(self, result: bytes | OSError) -> None:
        if isinstance(result, ConnectionError) and self._kept and not self._response.begun:
            self._kept = False
            self._connect()
            return
        if isinstance(result, OSError):
            self._drop()
        self._response.drop()
        self._finish(result)

    def _finish(self, result: bytes | OSError) -> None:
        done, self._done = self._done, None
        if done is not None:
            done(result)

    def _drop(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
        if self._wire is not None:
            self._wire.waiting = False
        if self._transport is not None:
            self._transport.abort()
        self._transport = self._wire = self._connecting = None
        self._response.drop()
