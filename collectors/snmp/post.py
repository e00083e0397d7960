"""Datagrams to many agents from one socket a family, and whose answer is whose."""

import asyncio
import socket
from collections.abc import Callable

from collectors.snmp.ber import BerError
from collectors.snmp.message import ident
from collectors.snmp.pdu import FIRST_ID, LAST_ID

RECEIVE_BYTES = 8 << 20
"""Asked of the kernel: the answers of many agents come at once. It gives what it may."""
Address = tuple[str, int]
Stray = Callable[[Address, bytes, str], None]
SendTo = Callable[[bytes, Address], str | None]
"""Sends a datagram, and says why it could not."""


class NoAnswer(Exception):
    """Nothing came in time, or the network said that nothing will."""


class _Waiting:
    """A question on its way: sent again each time its time is over, until its tries are."""

    __slots__ = ("_datagram", "_left", "_loop", "_send_to", "_timeout_s", "_timer", "address", "answer", "trouble")

    def __init__(self, send_to: SendTo, address: Address, datagram: bytes, timeout_s: float, tries: int) -> None:
        self.address = address
        self.trouble: str | None = None
        """Why nothing will come: the network's own word, or another address that answered in its place."""
        self._loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[bytes] = self._loop.create_future()
        self._send_to = send_to
        self._datagram = datagram
        self._timeout_s = timeout_s
        self._left = tries
        self._send()

    def end(self) -> None:
        """Nobody waits any more."""
        self._timer.cancel()

    def _send(self) -> None:
        self._left -= 1
        self._timer = self._loop.call_later(self._timeout_s, self._over)
        self.trouble = self._send_to(self._datagram, self.address) or self.trouble

    def _over(self) -> None:
        if self.answer.done():
            return
        if self._left > 0:
            self._send()
        else:
            self.answer.set_exception(TimeoutError())


class Post(asyncio.DatagramProtocol):
    """The sockets of a process. `stray` is told of bytes from an agent that are no SNMP."""

    def __init__(self, *, first_id: int, stray: Stray) -> None:
        self._next = FIRST_ID + first_id % (LAST_ID - FIRST_ID)
        self._stray = stray
        self._waiting: dict[int, _Waiting] = {}
        self._of_family: dict[int, asyncio.DatagramTransport] = {}
        self._opening = asyncio.Lock()
        self._trouble: str | None = None
        self.late = 0
        """Answers that nobody waits for: they came after their time, or twice."""

    def number(self) -> int:
        """A request id that no question of this process carries now."""
        while True:
            self._next = FIRST_ID if self._next >= LAST_ID else self._next + 1
            if self._next not in self._waiting:
                return self._next

    async def ask(self, address: Address, number: int, datagram: bytes, *, timeout_s: float, tries: int) -> bytes:
        """Send until an answer with that number comes, each time the same bytes, so that a late answer serves too.

        Raises `NoAnswer`.
        """
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        if family not in self._of_family:
            await self._open(family)
        waiting = self._waiting[number] = _Waiting(self._send, address, datagram, timeout_s, tries)
        try:
            return await waiting.answer
        except TimeoutError:
            words = f"no answer to {tries} tries of {timeout_s:g} s"
            raise NoAnswer(words if waiting.trouble is None else f"{words}: {waiting.trouble}") from None
        finally:
            waiting.end()
            del self._waiting[number]

    def datagram_received(self, data: bytes, addr: tuple[str | object, int]) -> None:
        """As in `asyncio.DatagramProtocol`."""
        address = (str(addr[0]), addr[1])
        try:
            number = ident(data)
        except BerError as why:
            if any(waiting.address == address for waiting in self._waiting.values()):
                self._stray(address, data, str(why))
            return
        waiting = self._waiting.get(number)
        if waiting is None:
            self.late += 1
        elif waiting.address != address:
            waiting.trouble = f"{address[0]}:{address[1]} answered in its place, so give that address"
        elif waiting.answer.done():
            self.late += 1
        else:
            waiting.answer.set_result(data)

    def error_received(self, exc: Exception) -> None:
        """A datagram that could not be sent; asyncio tells it before `sendto` returns."""
        self._trouble = getattr(exc, "strerror", None) or str(exc)

    def close(self) -> None:
        """Close every socket."""
        for transport in self._of_family.values():
            transport.close()

    def _send(self, datagram: bytes, address: Address) -> str | None:
        self._trouble = None
        self._of_family[socket.AF_INET6 if ":" in address[0] else socket.AF_INET].sendto(datagram, address)
        return self._trouble

    async def _open(self, family: int) -> None:
        async with self._opening:
            if family not in self._of_family:
                here = "::" if family == socket.AF_INET6 else "0.0.0.0"
                try:
                    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
                        lambda: self, local_addr=(here, 0), family=family
                    )
                except OSError as why:
                    raise NoAnswer(f"no socket for it: {why.strerror or why}") from why
                held = transport.get_extra_info("socket")
                held.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
                self._of_family[family] = transport
