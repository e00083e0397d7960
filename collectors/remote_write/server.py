"""The HTTP side: which request is what, and what its sender is told.

By the specifications of remote write 1.0 and 2.0 and of OTLP/HTTP. A sender keeps what is answered by 5xx and sends
it again; what is answered by 4xx it drops, Prometheus by default also at 429. So whatever may go better later is 503.
"""

import asyncio
from collections.abc import Callable
from email.message import Message as Headers

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

from collectors.defect import defect
from collectors.otlp.metrics import read_otlp
from collectors.otlp.wire import INVALID_ARGUMENT, UNAVAILABLE, refusal
from collectors.remote_write.access import Gate
from collectors.remote_write.intake import SOURCE, Intake
from collectors.remote_write.limits import BODY_S, MOST_BODY, MOST_HELD, TooLarge, gunzip, unsnappy, within
from collectors.remote_write.pushed import BadBody, Pushed, read_v1, read_v2

WRITE = ("/api/v1/write", "/api/v1/push", "/api/v1/receive")
OTLP = "/v1/metrics"
HEARD = "/-/heard"
V1, V2 = "prometheus.WriteRequest", "io.prometheus.write.v2.Request"
AGAIN_S = "5"
"""`Retry-After` while Kafka is away or too much is under way."""


class Answer(Exception):
    """What a request that is not taken is told."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


class Server:
    """Handlers of one listener."""

    def __init__(self, intake: Intake, gate: Gate, body_s: float = BODY_S) -> None:
        self._intake = intake
        self._body_s = body_s
        self._gate = gate
        self._held = 0

    def app(self) -> web.Application:
        """The routes."""
        app = web.Application(client_max_size=MOST_BODY, middlewares=[self._foreseen])
        for path in WRITE:
            app.router.add_post(path, self.write)
        app.router.add_post(OTLP, self.otlp)
        for path in ("/-/ready", "/-/healthy"):
            app.router.add_get(path, self.ready)
        app.router.add_get(HEARD, self.heard)
        return app

    @web.middleware
    async def _foreseen(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """What nobody foresaw is told like all else, and may be sent again: it was none of the body's reading."""
        try:
            return await handler(request)
        except web.HTTPException:
            raise
        except Exception as why:  # noqa: BLE001 (whatever it is)
            said = defect(SOURCE, why)
            self._intake.fail(request.remote or "unknown", said)
            return web.Response(status=503, text=said + "\n", headers={"Retry-After": AGAIN_S})

    async def ready(self, request: web.Request) -> web.Response:
        """For whoever watches over processes."""
        del request
        return web.Response(text="listening\n")

    async def heard(self, request: web.Request) -> web.Response:
        """What was heard, for `lockstep collect check`."""
        try:
            self._admit(request)
        except Answer as answer:
            return _refused(answer, web.Response(text=answer.why + "\n"))
        return web.Response(body=msgspec.json.encode(self._intake.heard()), content_type="application/json")

    async def write(self, request: web.Request) -> web.Response:
        """Remote write 1.0 and 2.0."""
        second = False
        try:
            second = _protobuf(request) == V2
            read = read_v2 if second else read_v1
            taken = await self._take(request, {"snappy": unsnappy}, read)
        except Answer as answer:
            self._intake.fail(request.remote or "unknown", answer.why)
            return _refused(answer, web.Response(text=answer.why + "\n", headers=_written(None) if second else None))
        # What is none of our business counts as written: a sender that reads less than it sent reports a loss.
        return web.Response(status=204, headers=_written(taken) if second else None)

    async def otlp(self, request: web.Request) -> web.Response:
        """OTLP/HTTP with protobuf."""
        kind = "application/x-protobuf"
        try:
            if request.content_type != kind:
                raise Answer(415, f"Content-Type {request.content_type}: only {kind} is understood")
            await self._take(request, {"gzip": gunzip, "identity": bytes}, read_otlp)
        except Answer as answer:
            self._intake.fail(request.remote or "unknown", answer.why)
            code = UNAVAILABLE if answer.status == 503 else INVALID_ARGUMENT
            return _refused(answer, web.Response(body=refusal(code, answer.why), content_type=kind))
        return web.Response(body=b"", content_type=kind)

    async def _take(
        self, request: web.Request, unpackers: dict[str, Callable[[bytes], bytes]], read: Callable[..., Pushed]
    ) -> Pushed:
        """Raises `Answer`."""
        self._admit(request)
        packing = request.headers.get("Content-Encoding", "identity").lower()
        unpack = unpackers.get(packing)
        if unpack is None:
            raise Answer(415, f"Content-Encoding {packing}: only {' and '.join(unpackers)} is understood")
        peer = request.remote or "unknown"
        with _Held(self, request) as held:
            body = await _body(request, held, self._body_s)
            try:
                pushed = within(read(unpack(body), self._intake.book))
            except TooLarge as why:
                raise Answer(413, str(why)) from why
            except BadBody as why:
                self._intake.refuse(peer, body, str(why))
                raise Answer(400, str(why)) from why
            except Exception as why:
                said = defect(f"{SOURCE}:{peer}", why)
                self._intake.refuse(peer, body, said)
                raise Answer(400, said) from why
            if not await self._intake.take(pushed, len(body)):
                raise Answer(503, "Kafka has not taken it; send it again")
        return pushed

    def _admit(self, request: web.Request) -> None:
        if not self._gate(request.headers.get("Authorization")):
            raise Answer(401, "no, or a wrong, Authorization")

    def hold(self, count: int) -> None:
        """So many more bytes of bodies are held. Raises `Answer`."""
        if count > 0 and self._held + count > MOST_HELD:
            raise Answer(503, "too much is under way; send it again")
        self._held += count


class _Held:
    """The bytes of one body while it is under way."""

    def __init__(self, server: Server, request: web.Request) -> None:
        self._server = server
        self.count = 0
        if (request.content_length or 0) > MOST_BODY:
            raise Answer(413, f"{request.content_length} bytes; at most {MOST_BODY}")

    def __enter__(self) -> "_Held":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.hold(-self.count)

    def add(self, count: int) -> None:
        """Raises `Answer`."""
        if self.count + count > MOST_BODY:
            raise Answer(413, f"more than {MOST_BODY} bytes")
        self._server.hold(count)
        self.count += count


async def _body(request: web.Request, held: _Held, within_s: float) -> bytes:
    pieces: list[bytes] = []
    try:
        async with asyncio.timeout(within_s):
            async for piece in request.content.iter_any():
                held.add(len(piece))
                pieces.append(piece)
    except TimeoutError as why:
        raise Answer(408, f"the body did not come within {within_s:g} s") from why
    except (web.PayloadAccessError, ConnectionError) as why:
        raise Answer(400, f"the body was cut: {why}") from why
    return b"".join(pieces)


def _protobuf(request: web.Request) -> str:
    """The message of the body. Raises `Answer`."""
    headers = Headers()
    headers["Content-Type"] = request.headers.get("Content-Type", "application/x-protobuf")
    kind = headers.get_content_type()
    name = headers.get_param("proto", V1)
    if kind != "application/x-protobuf" or name not in (V1, V2):
        raise Answer(415, f"Content-Type {headers['Content-Type']}: only application/x-protobuf of {V1} or {V2}")
    return str(name)


def _written(pushed: Pushed | None) -> dict[str, str]:
    counts = (0, 0, 0) if pushed is None else (pushed.samples, pushed.histograms, pushed.exemplars)
    names = ("Samples", "Histograms", "Exemplars")
    return {f"X-Prometheus-Remote-Write-{name}-Written": str(n) for name, n in zip(names, counts, strict=True)}


def _refused(answer: Answer, response: web.Response) -> web.Response:
    response.set_status(answer.status)
    if answer.status == 503:
        response.headers["Retry-After"] = AGAIN_S
    if answer.status == 401:
        response.headers["WWW-Authenticate"] = 'Basic realm="lockstep", Bearer'
    return response
