"""A receiver over HTTP on this machine that answers as it is told to, and remembers what it took."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass
class FakeReceiver:
    """Answers from `script` first, each once, then 202. `hang` never answers, `half` breaks off within the answer."""

    script: list[Any] = field(default_factory=list)
    got: list[dict[str, Any]] = field(default_factory=list)
    """Every body that came, taken or not."""
    headers: list[dict[str, str]] = field(default_factory=list)
    at_s: list[float] = field(default_factory=list)
    url: str = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.at_s.append(asyncio.get_running_loop().time())
        self.headers.append(dict(request.headers))
        self.got.append(json.loads(await request.read()))
        answer = self.script.pop(0) if self.script else 202
        if answer == "hang":
            await asyncio.sleep(60)
        if answer == "half":
            reply = web.StreamResponse(status=202, headers={"Content-Length": "100"})
            await reply.prepare(request)
            await reply.write(b'{"status": ')
            assert request.transport is not None
            request.transport.close()
            return reply
        if isinstance(answer, tuple):
            status, text, headers = answer
            return web.Response(status=status, text=text, headers=headers)
        return web.Response(status=int(answer), text="ok")


@asynccontextmanager
async def fake(*script: Any, port: int = 0) -> AsyncIterator[FakeReceiver]:
    """One that listens."""
    one = FakeReceiver(list(script))
    app = web.Application()
    app.router.add_post("/{path:.*}", one.handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    assert site._server is not None
    one.url = f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}"  # type: ignore[attr-defined]
    try:
        yield one
    finally:
        await runner.cleanup()


async def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    """Poll."""
    end = asyncio.get_running_loop().time() + seconds
    while not true():
        assert asyncio.get_running_loop().time() < end
        await asyncio.sleep(0.02)
