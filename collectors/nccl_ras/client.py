"""One question to RAS over its socket. Form: NVIDIA/nccl src/ras/client.cc and client_support.cc, protocol 2."""

import asyncio
from dataclasses import dataclass

PORT = 28028
MOST_BYTES = 256 << 20
"""JSON has some 600 bytes a rank and communicator: 16,384 ranks in ten communicators each are 100 MB."""
LINE_BYTES = 4096
CHUNK = 1 << 18


@dataclass(frozen=True, slots=True)
class Address:
    """Where a RAS thread listens."""

    host: str
    port: int = PORT

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class RasError(OSError):
    """What answers is not RAS, or answers too much; the text says what it said."""


async def ask(address: Address, *, timeout_s: float, legs_s: float | None = None, most: int = MOST_BYTES) -> bytes:
    """The verbose status: JSON where RAS knows it, else text. Raises `OSError`, also for one that hangs.

    `legs_s` is how long RAS itself waits for a process that does not answer (its own default is 5 s).
    """
    try:
        async with asyncio.timeout(timeout_s):
            return await _ask(address, legs_s, most)
    except TimeoutError:
        raise TimeoutError(f"no whole answer within {timeout_s:g} s") from None


async def _ask(address: Address, legs_s: float | None, most: int) -> bytes:
    reader, writer = await asyncio.open_connection(address.host, address.port, limit=LINE_BYTES)
    try:
        commands = ["CLIENT PROTOCOL 2"]
        commands += [f"TIMEOUT {legs_s:g}"] if legs_s is not None else []
        for command in [*commands, "SET FORMAT json"]:
            writer.write(f"{command}\n".encode())
            answer = await _line(reader)
            if command == commands[0] and not answer.startswith("SERVER PROTOCOL "):
                raise RasError(f"not RAS: it answers {answer[:80]!r}")
        # Whatever it said to the format: a release that has no JSON goes on in text.
        writer.write(b"VERBOSE STATUS\n")
        return await _rest(reader, most)
    finally:
        writer.close()


async def _line(reader: asyncio.StreamReader) -> str:
    try:
        raw = await reader.readuntil(b"\n")
    except asyncio.IncompleteReadError as why:
        said = why.partial[:80]
        raise RasError(f"closed after {said!r}" if said else "closed without a word") from None
    except asyncio.LimitOverrunError:
        raise RasError(f"not RAS: more than {LINE_BYTES} bytes without a newline") from None
    return raw.decode("utf-8", "replace").rstrip("\r\n")


async def _rest(reader: asyncio.StreamReader, most: int) -> bytes:
    """Until it closes, which is how RAS ends an answer."""
    whole = bytearray()
    while piece := await reader.read(CHUNK):
        whole += piece
        if len(whole) > most:
            raise RasError(f"an answer of more than {most >> 20} MB")
    return bytes(whole)
