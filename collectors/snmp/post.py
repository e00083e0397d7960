"""Datagrams to many agents from one socket a family, and whose answer is whose."""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass

from collectors.snmp.ber import BerError
from collectors.snmp.message import ident
from collectors.snmp.pdu import FIRST_ID, LAST_ID

RECEIVE_BYTES = 8 << 20
"""Asked of the kernel: the answers of many agents come at once. It gives what it may."""
Address = tuple[str, int]
Stray = Callable[[Address, bytes, str], None]


class NoAnswer(Exception):
    """Nothing came in time, or the network said that nothing will."""


@dataclass(slots=True, eq=False)
class _Waiting:
    address: Address
    answer: "asyncio.Future[bytes]"
    elsewhere: str | None = None
    """Another address that answered in its place."""


class Post(asyncio.DatagramProtocol):
    """The sockets of a process. `stray` is told of bytes from an agent that are no SNMP."""

    def __init__(self, *, first_id: int, stray: Stray) -> None:
        self._next = FIRST_ID + first_id % (LAST_ID - FIRST_ID)
        self._stray = stray
        self._waiting: dict[int, _Waiting] = {}
        self._of_family: dict[int, asyncio.DatagramTransport] = {}
        self._opening = asyncio.Lock()
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
        transport = await self._transport(address)
        waiting = _Waiting(address, asyncio.get_running_loop().create_future())
        self._waiting[number] = waiting
        try:
            for _ in range(tries):
                transport.sendto(datagram, address)
                done, _ = await asyncio.wait({waiting.answer}, timeout=timeout_s)
                if done:
                    return waiting.answer.result()
        except OSError as why:
            raise NoAnswer(f"could not be sent: {why.strerror or why}") from why
        finally:
            del self._waiting[number]
            waiting.answer.cancel()
        words = f"no answer to {tries} tries of {timeout_s:g} s"
        if waiting.elsewhere is not None:
            raise NoAnswer(f"{words}; {waiting.elsewhere} answered in its place, so give that address")
        raise NoAnswer(words)

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
            waiting.elsewhere = f"{address[0]}:{address[1]}"
        elif waiting.answer.done():
            self.late += 1
        else:
            waiting.answer.set_result(data)

    def error_received(self, exc: Exception) -> None:
        """An unconnected socket is not told which agent refused; its question runs into its time."""

    def close(self) -> None:
        """Close every socket."""
        for transport in self._of_family.values():
            transport.close()

    async def _transport(self, address: Address) -> asyncio.DatagramTransport:
        family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        async with self._opening:
            if family not in self._of_family:
                here = "::" if family == socket.AF_INET6 else "0.0.0.0"
                transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
                    lambda: self, local_addr=(here, 0), family=family
                )
                held = transport.get_extra_info("socket")
                held.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
                self._of_family[family] = transport
        return self._of_family[family]
