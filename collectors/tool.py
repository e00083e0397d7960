"""Runs another program, bounded in time and in what it may print."""

import asyncio
import contextlib
import os
import signal
from dataclasses import dataclass

MOST_BYTES = 256 << 20
"""Of infiniband-diags some 300 bytes a port: far above the largest subnet of 48 k LIDs."""
STDERR_BYTES = 64 << 10
REST_S = 1.0
"""For what a killed tool left in its pipes."""


@dataclass(frozen=True, slots=True)
class Output:
    """What it printed, and its exit status."""

    out: bytes
    err: bytes
    status: int

    @property
    def complaint(self) -> str:
        """The last line of standard error that says something."""
        lines = [line.strip() for line in self.err.decode("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1][:300] if lines else ""


class ToolError(OSError):
    """The tool could not be run, printed without end, or took too long."""


async def run_tool(
    argv: list[str], timeout_s: float, most_bytes: int = MOST_BYTES, *, absent: str = "", slow: str = ""
) -> Output:
    """Run it to its end. One that takes too long is killed with all that it started.

    Raises `ToolError`; `absent` and `slow` say what to do where it is not there, or takes too long.
    """
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError:
        raise ToolError(f"{argv[0]}: not found" + (f"; {absent}" if absent else "")) from None
    except OSError as why:
        raise ToolError(f"{argv[0]}: {why.strerror}") from why
    assert process.stdout is not None
    assert process.stderr is not None
    reads = [
        asyncio.ensure_future(_read(process.stdout, most_bytes, argv[0])),
        asyncio.ensure_future(_drain(process.stderr, STDERR_BYTES)),
    ]
    try:
        async with asyncio.timeout(timeout_s):
            out, err = await asyncio.gather(*reads)
            return Output(out, err, await process.wait())
    except TimeoutError:
        raise ToolError(f"{argv[0]}: no end within {timeout_s:g} s" + (f"; {slow}" if slow else "")) from None
    finally:
        for read in reads:
            read.cancel()
        await asyncio.gather(*reads, return_exceptions=True)
        if not (process.stdout.at_eof() and process.stderr.at_eof() and process.returncode is not None):
            await _end(process, process.stdout, process.stderr)


async def _end(process: asyncio.subprocess.Process, *streams: asyncio.StreamReader) -> None:
    """Kill it with its session. asyncio takes a process for ended when its pipes are, so what is left is read."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):  # something that left the session holds a pipe open
        async with asyncio.timeout(REST_S):
            for stream in streams:
                while await stream.read(1 << 16):
                    pass
            await process.wait()
            return
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()


async def _read(stream: asyncio.StreamReader, most: int, tool: str) -> bytes:
    parts, size = [], 0
    while part := await stream.read(1 << 16):
        parts.append(part)
        size += len(part)
        if size > most:
            raise ToolError(f"{tool}: printed more than {most >> 20} MiB")
    return b"".join(parts)


async def _drain(stream: asyncio.StreamReader, most: int) -> bytes:
    """Its end is what counts; the rest is read so that the tool does not wait."""
    kept = b""
    while part := await stream.read(1 << 16):
        kept = (kept + part)[-most:]
    return kept
