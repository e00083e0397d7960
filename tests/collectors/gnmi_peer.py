"""A gNMI server of a few lines, for what no well-behaved switch does."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio

from collectors.gnmi import wire
from collectors.gnmi.path import read_path

STREAM, ONCE, POLL = 0, 1, 2


class Asked:
    """One Subscribe call as the server sees it."""

    def __init__(self, raw: bytes, requests: AsyncIterator[bytes], context: Any) -> None:
        self.listed = wire.SubscribeRequest.FromString(raw).subscribe
        self.context = context
        self._requests = requests

    @property
    def mode(self) -> int:
        return int(self.listed.mode)

    @property
    def target(self) -> str:
        return read_path(self.listed.prefix).target

    @property
    def paths(self) -> list[str]:
        return [str(read_path(one.path)) for one in self.listed.subscription]

    async def send(self, *raws: bytes) -> None:
        for raw in raws:
            await self.context.write(raw)

    async def polled(self) -> bool:
        """Wait for the next poll; False when the client has ended its side."""
        async for raw in self._requests:
            return bool(wire.SubscribeRequest.FromString(raw).WhichOneof("request") == "poll")
        return False

    async def refuse(self, code: str, why: str) -> None:
        await self.context.abort(grpc.StatusCode[code], why)

    async def wait(self) -> None:
        await asyncio.Event().wait()


Answer = Callable[[Asked], Awaitable[None]]


@asynccontextmanager
async def peer(answer: Answer) -> AsyncIterator[str]:
    """Listen on a free port; yields `host:port`."""

    async def subscribe(requests: AsyncIterator[bytes], context: Any) -> None:
        async for raw in requests:
            await answer(Asked(raw, requests, context))
            return

    server = grpc.aio.server(
        options=(("grpc.so_reuseport", 0), ("grpc.max_send_message_length", -1)),
    )
    handler = grpc.stream_stream_rpc_method_handler(subscribe)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("gnmi.gNMI", {"Subscribe": handler}),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)
