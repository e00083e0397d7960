"""The Subscribe calls of one connection, in each of gNMI's modes."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import grpc
import grpc.aio

from collectors.gnmi import wire
from collectors.gnmi.channel import in_one_piece, subscribe, write
from collectors.gnmi.presets import Mode
from collectors.gnmi.request import POLL, Request
from collectors.gnmi.target import Access

SIDE_AGAIN_S = 60.0
"""A call beside the counters that failed is made again."""

Take = Callable[[bytes, bool], None]
"""One response, and whether it came on a side call."""
Reading = Coroutine[Any, Any, None]


class Session:
    """Reads until the switch ends it, an error ends it (`AioRpcError`), or `end` is called."""

    def __init__(
        self,
        channel: Any,
        access: Access,
        requests: Sequence[Request],
        *,
        take: Take,
        round_ends: Callable[[bool], None],
        side_failed: Callable[[str, Any], None],
        interval_s: float,
    ) -> None:
        self.cut_off = False
        """`end` was called."""
        self._channel, self._access = channel, access
        self._main = next(request for request in requests if not request.side)
        self._beside = [request for request in requests if request.side]
        self._take, self._round_ends, self._side_failed = take, round_ends, side_failed
        self._interval_s = interval_s
        self._task: asyncio.Task[None] | None = None

    async def run(self, mode: Mode) -> None:
        """Until it ends. Raises `AioRpcError`; returns after `end`."""
        read = {"STREAM": self._stream, "POLL": self._poll, "ONCE": self._once}[mode]
        self._task = asyncio.ensure_future(read())
        try:
            await asyncio.wait({self._task})
        finally:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if not self.cut_off and not self._task.cancelled():
            self._task.result()

    def end(self) -> None:
        """The switch is silent: end the calls."""
        self.cut_off = True
        if self._task is not None:
            self._task.cancel()

    async def _stream(self) -> None:
        await self._with_sides(self._read(self._main), self._read)

    async def _poll(self) -> None:
        await self._with_sides(self._polled(self._main), self._polled)

    async def _once(self) -> None:
        """A call a round; those beside first, so that the round holds what they brought."""
        while True:
            begun = asyncio.get_running_loop().time()
            self._round_ends(True)
            for request in self._beside:
                await self._try(self._read(request, to_sync=True), request)
            await self._read(self._main, to_sync=True)
            self._round_ends(False)
            await asyncio.sleep(max(0.0, begun + self._interval_s - asyncio.get_running_loop().time()))

    async def _with_sides(self, main: Reading, side: Callable[[Request], Reading]) -> None:
        """The main call until it ends; one beside it that ends is made again after a while."""

        async def follow(request: Request) -> None:
            while True:
                await self._try(side(request), request)
                await asyncio.sleep(SIDE_AGAIN_S)

        beside = [asyncio.ensure_future(follow(request)) for request in self._beside]
        try:
            await main
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)

    async def _try(self, reading: Reading, request: Request) -> None:
        try:
            await reading
        except grpc.aio.AioRpcError as why:
            self._side_failed(request.target or "beside", why)

    async def _polled(self, request: Request) -> None:
        """One call, asked again each interval, and read as its answers come."""
        call = await subscribe(self._channel, self._access, request.raw)
        reading = asyncio.ensure_future(self._answers(call, request))
        try:
            while not reading.done():
                if not request.side:
                    self._round_ends(True)
                await self._poll_once(call, request)
                await asyncio.wait({reading}, timeout=self._interval_s)
            reading.result()
        finally:
            reading.cancel()
            call.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _poll_once(self, call: Any, request: Request) -> None:
        if isinstance(call, grpc.aio.UnaryStreamCall):
            return  # it was refused; reading it says how
        try:
            await write(call, POLL)
        except grpc.aio.AioRpcError as why:
            if why.code() is not grpc.StatusCode.INTERNAL:
                raise
            await self._answers(in_one_piece(self._channel, self._access, request.raw), request, to_sync=True)
            raise

    async def _read(self, request: Request, *, to_sync: bool = False) -> None:
        call = await subscribe(self._channel, self._access, request.raw)
        try:
            await self._answers(call, request, to_sync=to_sync)
        finally:
            call.cancel()

    async def _answers(self, call: Any, request: Request, *, to_sync: bool = False) -> None:
        async for raw in call:
            self._take(raw, request.side)
            if request.side:
                self._side_failed(request.target or "beside", None)
            if to_sync and _is_sync(raw):
                return


def _is_sync(raw: bytes) -> bool:
    """Few bytes, unless a switch adds what we do not know."""
    return len(raw) < 64 and wire.SubscribeResponse.FromString(raw).WhichOneof("response") == "sync_response"
