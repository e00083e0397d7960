"""UFM telemetry over HTTP, from servers that behave and that do not."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from collectors.contract.topics import FABRIC_SCRAPES
from collectors.infiniband.endpoint import Endpoint
from tests.collectors import ib_texts as texts
from tests.collectors.ib_source import parsed
from tests.collectors.list_outlet import ListOutlet


@asynccontextmanager
async def served(answer: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/{path}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def test_a_ufm_is_read_over_http() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=texts.UFM_PROMETHEUS)

    async def run() -> ListOutlet:
        from collectors.fabric.sweeping import reporter
        from collectors.infiniband.targets import targets

        outlet = ListOutlet()
        async with served(answer) as url:
            args = parsed("--ufm", f"{url}/metrics")
            [target] = targets(args, once=True)
            await reporter("infiniband", args, outlet, None).sweep(target.name, target.sweep, target.timeout_s)
        return outlet

    outlet = asyncio.run(run())
    assert [s.device for s in outlet.of(FABRIC_SCRAPES)] == ["0x0002c90300f172a0"]
    assert [(beat.ok, beat.bytes) for beat in outlet.beats] == [(True, len(texts.UFM_PROMETHEUS.encode()))]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("half", "cut off before its end"),
        ("endless", "larger than 1 MiB"),
        ("hang", "no whole answer within 0.5 s"),
        ("login", "LOCKSTEP_UFM_USERNAME"),
        ("absent", "is the path right"),
    ],
)
def test_a_ufm_that_misbehaves_costs_one_time_out_and_its_reason(kind: str, said: str) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        if kind in ("login", "absent"):
            return web.Response(status=401 if kind == "login" else 404)
        response = web.StreamResponse(headers={"Content-Length": str(1 << 30)} if kind == "half" else {})
        await response.prepare(request)
        if kind == "half":
            await response.write(b"PortXmitData")
            assert request.transport is not None
            request.transport.close()
        elif kind == "hang":
            await response.write(b"PortXmitData")
            await asyncio.Event().wait()
        else:
            while True:
                await response.write(b"x" * 65536)
        return response

    async def run() -> None:
        async with served(answer) as url:
            try:
                await Endpoint(url=f"{url}/json", timeout_s=0.5 if kind == "hang" else 10, most_bytes=1 << 20).fetch()
            finally:
                for task in asyncio.all_tasks():
                    if task is not asyncio.current_task() and kind == "hang":
                        task.cancel()

    with pytest.raises(OSError, match=said):
        asyncio.run(run())
