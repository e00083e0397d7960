"""The receiver over HTTP and gRPC on loopback: what a sender is told, and what is told of it."""

import argparse
import asyncio
import base64
import gzip
import json
import ssl
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import aiohttp
import grpc.aio
import pytest
from aiohttp import web

from collectors.contract.topics import GPU_SCRAPES
from collectors.remote_write import source, wire
from collectors.remote_write.access import gate, read_address
from collectors.remote_write.intake import Intake
from collectors.remote_write.limits import MOST_BODY, MOST_HELD, MOST_SCRAPES, MOST_UNPACKED
from collectors.remote_write.listener import listen
from collectors.remote_write.pushed import read_v1
from collectors.remote_write.series import NOT_OURS
from collectors.remote_write.server import V2, Answer, Server
from collectors.remote_write.sight import sights
from collectors.source import SourceError
from collectors.sources import SourceParser
from tests.collectors.certificates import Certificates
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.otlp_bodies import otlp
from tests.collectors.remote_write_bodies import T_MS, scrape, snappy, v1, v2

V1_TYPE = {"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy"}
V2_TYPE = {"Content-Type": f"application/x-protobuf;proto={V2}", "Content-Encoding": "snappy"}
OTLP_TYPE = {"Content-Type": "application/x-protobuf"}
WRITE = "/api/v1/write"


def options(*words: str) -> argparse.Namespace:
    args: argparse.Namespace = SourceParser(source="remote-write").parse_args(["--listen", "127.0.0.1:0", *words])
    return args


class Site:
    """A receiver on a port of its own, and a client of it."""

    def __init__(self, outlet: ListOutlet, port: int, http: aiohttp.ClientSession, grpc_port: int | None) -> None:
        self.outlet = outlet
        self.port = port
        self.grpc_port = grpc_port
        self._http = http

    async def post(
        self, body: Any, headers: dict[str, str], path: str = WRITE, **more: Any
    ) -> tuple[int, dict[str, str], bytes]:
        url = f"http://127.0.0.1:{self.port}{path}"
        async with self._http.post(url, data=body, headers=headers, **more) as answer:
            return answer.status, dict(answer.headers), await answer.read()


def serving(use: Callable[[Site], Coroutine[Any, Any, None]], *words: str) -> ListOutlet:
    """Run `use` against a receiver with these options; what it published, also at its end."""
    outlet = ListOutlet()

    async def run() -> None:
        with_ports: asyncio.Future[tuple[int, int | None]] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(listen(options(*words), outlet, lambda *ports: with_ports.set_result(ports)))
        try:
            waiting: set[asyncio.Future[Any]] = {task, with_ports}
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                task.result()
            port, grpc_port = with_ports.result()
            async with aiohttp.ClientSession(auto_decompress=False) as http:
                await use(Site(outlet, port, http, grpc_port))
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())
    return outlet


def test_both_versions_are_taken_and_2_0_is_told_how_much_was_written() -> None:
    async def use(site: Site) -> None:
        samples = [*scrape(T_MS, 40.0), ("up", {"job": "x"}, 1.0, T_MS)]
        first = await site.post(snappy(v1(samples)), V1_TYPE)
        assert (first[0], first[2]) == (204, b"")
        second = await site.post(snappy(v2(samples)), V2_TYPE, "/api/v1/push")
        assert second[0] == 204
        names = ("Samples", "Histograms", "Exemplars")
        written = [second[1][f"X-Prometheus-Remote-Write-{name}-Written"] for name in names]
        assert written == ["5", "0", "0"]

    assert [m.part for m in serving(use).of(GPU_SCRAPES)] == [True, False]


@pytest.mark.parametrize(
    ("headers", "body", "status", "why"),
    [
        ({**V1_TYPE, "Content-Encoding": "zstd"}, b"", 415, "zstd"),
        ({**V1_TYPE, "Content-Type": "application/json"}, b"", 415, "application/json"),
        ({**V1_TYPE, "Content-Type": "application/x-protobuf;proto=other"}, b"", 415, "proto=other"),
        (V1_TYPE, b"\xff\xff\xff", 400, "not snappy"),
        (V1_TYPE, snappy(b"\x0a\xff"), 400, "not a prometheus.WriteRequest"),
        (V1_TYPE, snappy(v1(scrape(T_MS)))[:-5], 400, "not snappy"),
        (V2_TYPE, snappy(v2(scrape(T_MS))[:-5]), 400, "not an io.prometheus.write.v2.Request"),
        (V1_TYPE, b"\xff\xff\xff\xff\x07" + b"\0" * 9, 413, "bytes unpacked"),
        (V1_TYPE, b"\0" * (MOST_BODY + 1), 413, "bytes; at most"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_what_cannot_be_taken_is_told_why_and_in_the_next_beat(
    headers: dict[str, str], body: bytes, status: int, why: str
) -> None:
    async def use(site: Site) -> None:
        answer = await site.post(body, headers)
        assert answer[0] == status
        assert why in answer[2].decode()
        while all(beat.ok for beat in site.outlet.beats):
            await asyncio.sleep(0.01)

    outlet = serving(use, "--interval", "0.05")
    beat = next(beat for beat in outlet.beats if not beat.ok)
    assert why in (beat.error or "")
    assert outlet.published == []
    assert len(outlet.rejected) == (status == 400)


def test_a_body_of_too_many_moments_is_not_taken() -> None:
    async def use(site: Site) -> None:
        one = wire.TimeSeries.FromString(wire.WriteRequest.FromString(v1(scrape(T_MS))).timeseries[0])
        for number in range(MOST_SCRAPES):
            one.samples.add(value=1.0, timestamp=T_MS + 1 + number)
        body = wire.WriteRequest(timeseries=[one.SerializeToString()]).SerializeToString()
        answer = await site.post(snappy(body), V1_TYPE)
        assert (answer[0], b"samples of 50001 scrapes" in answer[2]) == (413, True)

    assert serving(use).published == []


def test_a_body_without_a_length_is_cut_at_the_limit() -> None:
    async def endless() -> Any:
        for _ in range(MOST_BODY // (1 << 20) + 2):
            yield b"\0" * (1 << 20)

    async def use(site: Site) -> None:
        try:
            answer = await site.post(endless(), V1_TYPE)
        except aiohttp.ClientError:
            return  # it hung up while we were still sending
        assert answer[0] == 413

    assert serving(use).published == []


def test_a_sender_that_goes_away_in_the_middle_costs_nothing() -> None:
    async def use(site: Site) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", site.port)
        head = f"POST {WRITE} HTTP/1.1\r\nHost: x\r\nContent-Encoding: snappy\r\nContent-Length: 1000\r\n\r\n"
        writer.write(head.encode() + b"\0" * 500)
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        assert (await site.post(snappy(v1(scrape(T_MS))), V1_TYPE))[0] == 204

    assert len(serving(use).of(GPU_SCRAPES)) == 2


def test_a_body_that_does_not_come_is_given_up_and_what_it_held_is_free_again() -> None:
    async def run() -> None:
        intake = Intake(ListOutlet(), cluster="c", collector="x", listen="l", interval_s=None)
        server = Server(intake, lambda _: True, body_s=0.05)
        runner = web.AppRunner(server.app(), auto_decompress=False)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        reader, writer = await asyncio.open_connection(*runner.addresses[0][:2])
        head = f"POST {WRITE} HTTP/1.1\r\nHost: x\r\nContent-Encoding: snappy\r\nContent-Length: 9\r\n\r\n"
        writer.write(head.encode() + b"half")
        assert (await reader.readline()).startswith(b"HTTP/1.1 408")
        writer.close()
        await runner.cleanup()
        server.hold(MOST_HELD)
        with pytest.raises(Answer) as told:
            server.hold(1)
        assert (told.value.status, told.value.why) == (503, "too much is under way; send it again")

    asyncio.run(run())


def test_while_kafka_is_away_the_sender_is_asked_to_come_again() -> None:
    async def use(site: Site) -> None:
        site.outlet.away = True
        status, headers, body = await site.post(snappy(v1(scrape(T_MS))), V1_TYPE)
        assert (status, headers["Retry-After"], body) == (503, "5", b"Kafka has not taken it; send it again\n")
        status, headers, _ = await site.post(otlp(scrape(T_MS)), OTLP_TYPE, "/v1/metrics")
        assert (status, headers["Retry-After"]) == (503, "5")
        assert site.outlet.published == []
        site.outlet.away = False
        assert (await site.post(snappy(v1(scrape(T_MS))), V1_TYPE))[0] == 204

    assert len(serving(use).of(GPU_SCRAPES)) == 2


def test_what_waits_for_its_rest_is_published_at_the_end() -> None:
    async def use(site: Site) -> None:
        await site.post(snappy(v1(scrape(T_MS)[:3])), V1_TYPE)

    assert [m.part for m in serving(use).of(GPU_SCRAPES)] == [True, False]


def test_otlp_is_taken_packed_and_plain_and_answered_in_its_own_form() -> None:
    async def use(site: Site) -> None:
        plain = await site.post(otlp(scrape(T_MS)), OTLP_TYPE, "/v1/metrics")
        assert (plain[0], plain[1]["Content-Type"], plain[2]) == (200, "application/x-protobuf", b"")
        packed = gzip.compress(otlp(scrape(T_MS + 1)))
        assert (await site.post(packed, {**OTLP_TYPE, "Content-Encoding": "gzip"}, "/v1/metrics"))[0] == 200
        bad = await site.post(b"\x0a\xff", OTLP_TYPE, "/v1/metrics")
        assert (bad[0], b"not an ExportMetricsServiceRequest" in bad[2]) == (400, True)
        assert (await site.post(b"{}", {"Content-Type": "application/json"}, "/v1/metrics"))[0] == 415
        bomb = gzip.compress(b"\0" * (MOST_UNPACKED + 1))
        assert (await site.post(bomb, {**OTLP_TYPE, "Content-Encoding": "gzip"}, "/v1/metrics"))[0] == 413

    assert [m.ts_us for m in serving(use).of(GPU_SCRAPES) if not m.part] == [T_MS * 1000, (T_MS + 1) * 1000]


def test_otlp_over_grpc_is_taken_and_told_what_is_wrong() -> None:
    async def use(site: Site) -> None:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{site.grpc_port}") as channel:
            export = channel.unary_unary("/opentelemetry.proto.collector.metrics.v1.MetricsService/Export")
            assert await export(otlp(scrape(T_MS))) == b""
            with pytest.raises(grpc.aio.AioRpcError) as bad:
                await export(b"\x0a\xff")
            assert bad.value.code() is grpc.StatusCode.INVALID_ARGUMENT
            site.outlet.away = True
            with pytest.raises(grpc.aio.AioRpcError) as away:
                await export(otlp(scrape(T_MS + 1)))
            assert away.value.code() is grpc.StatusCode.UNAVAILABLE

    outlet = serving(use, "--otlp-grpc", "127.0.0.1:0")
    assert len(outlet.of(GPU_SCRAPES)) == 2
    assert len(outlet.rejected) == 1


@pytest.mark.parametrize(("kind", "secret"), [("basic", "push:s3cret:with colon"), ("bearer", "t0ken")])
def test_only_who_knows_the_secret_may_push(tmp_path: Path, kind: str, secret: str) -> None:
    file = tmp_path / "secret"
    file.write_text(secret + "\n")
    words = ["--basic-auth-file" if kind == "basic" else "--bearer-token-file", str(file)]
    shown = f"Basic {base64.b64encode(secret.encode()).decode()}" if kind == "basic" else f"Bearer {secret}"
    right = {"Authorization": shown}

    async def use(site: Site) -> None:
        body = snappy(v1(scrape(T_MS)))
        for wrong in ({}, {"Authorization": "Bearer x"}, {"Authorization": "Basic eA=="}):
            status, headers, _ = await site.post(body, {**V1_TYPE, **wrong})
            assert (status, "WWW-Authenticate" in headers) == (401, True)
        assert (await site.post(body, {**V1_TYPE, **right}))[0] == 204

    assert len(serving(use, *words).of(GPU_SCRAPES)) == 2


def test_tls_asks_a_client_for_its_certificate(tmp_path: Path) -> None:
    made = Certificates(tmp_path)
    for name in ("leaf", "client"):
        (tmp_path / f"{name}.pem").write_bytes(made.cert(name))
        (tmp_path / f"{name}.key").write_bytes(made.key(name))
    words = ["--cert", str(tmp_path / "leaf.pem"), "--key", str(tmp_path / "leaf.key")]

    async def use(site: Site) -> None:
        url = f"https://127.0.0.1:{site.port}{WRITE}"
        tls = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
        more = {"data": snappy(v1(scrape(T_MS))), "headers": V1_TYPE, "ssl": tls, "server_hostname": "leaf.example"}
        async with aiohttp.ClientSession() as http:
            with pytest.raises(aiohttp.ClientError):
                await http.post(url, **more)  # type: ignore[arg-type]
        tls.load_cert_chain(tmp_path / "client.pem", tmp_path / "client.key")
        async with aiohttp.ClientSession() as http, http.post(url, **more) as answer:  # type: ignore[arg-type]
            assert answer.status == 204

    assert len(serving(use, *words, "--client-ca", str(tmp_path / "ca.pem")).of(GPU_SCRAPES)) == 2


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--key", "k.pem"), "--key and --client-ca need --cert"),
        (("--cert", "absent.pem"), "--cert absent.pem"),
        (("--basic-auth-file", "absent"), "--basic-auth-file absent: No such file"),
        (("--listen", "nowhere:port"), "write [HOST:]PORT"),
        (("--otlp-grpc", "host:70000"), "--otlp-grpc host:70000: write [HOST:]PORT"),
        (("--file", "f"), "recorded bodies are read with --once"),
    ],
)
def test_a_mistake_in_the_options_is_named(words: tuple[str, ...], why: str) -> None:
    with pytest.raises(SourceError) as told:
        asyncio.run(source.serve(options(*words), ListOutlet()))
    assert why in str(told.value)


def test_a_secret_file_that_would_let_nobody_in_is_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(SourceError, match="nobody could push"):
        gate(options("--bearer-token-file", str(tmp_path / "empty")))
    (tmp_path / "odd").write_text("user\n")
    with pytest.raises(SourceError, match=r"odd:1: write USER:PASSWORD"):
        gate(options("--basic-auth-file", str(tmp_path / "odd")))


def test_an_address_that_is_taken_is_named() -> None:
    async def use(site: Site) -> None:
        with pytest.raises(SourceError, match="choose another address"):
            await listen(options("--listen", f"127.0.0.1:{site.port}"), ListOutlet())

    serving(use)


@pytest.mark.parametrize(
    ("text", "address"),
    [("9471", ("127.0.0.1", 9471)), ("0.0.0.0:1", ("0.0.0.0", 1)), ("host", ("host", 7)), ("[::1]:5", ("::1", 5))],
)
def test_addresses_are_read(text: str, address: tuple[str, int]) -> None:
    assert read_address("--listen", text, 7) == address


def test_beats_tell_of_the_listener_and_of_each_target() -> None:
    outlet = ListOutlet()
    clock = [0.0]
    intake = Intake(
        outlet, cluster="c", collector="x", listen="l", interval_s=15.0, now_s=lambda: clock[0], now_us=lambda: 7
    )

    async def push() -> None:
        body = v1([*scrape(T_MS), ("up", {}, 1.0, T_MS)])
        await intake.take(read_v1(body, intake.book), 100)
        intake.refuse("peer", b"no body", "nothing in it")

    asyncio.run(push())
    clock[0] = 7.0
    asyncio.run(intake.receiver.tick())
    intake.beat()
    target, listener = outlet.beats
    assert (target.target, target.subject, target.ok, target.messages, target.samples) == (
        "dcgm/n1:9400",
        "n1",
        True,
        2,
        4,
    )
    assert (listener.target, listener.ok, listener.messages, listener.samples, listener.bytes, listener.ignored) == (
        "l",
        True,
        2,
        5,
        107,
        {NOT_OURS: 1},
    )
    clock[0] = 100.0
    intake.beat()
    assert [(b.target, b.ok, b.samples, b.error) for b in outlet.beats[2:]] == [
        ("dcgm/n1:9400", False, 0, "nothing was pushed for 100 s"),
        ("l", True, 0, None),
    ]


def test_a_check_tells_what_the_receiver_hears() -> None:
    async def look(site: Site) -> list[Any]:
        return await asyncio.to_thread(sights, options("--listen", f"127.0.0.1:{site.port}"))

    async def use(site: Site) -> None:
        (nothing,) = await look(site)
        assert (nothing.ok, nothing.lacks) == (False, "nothing of a GPU or job was pushed")
        body = snappy(v1(scrape(T_MS)))
        await site.post(body, V1_TYPE)
        await site.post(snappy(v1(scrape(T_MS + 15_000))), V1_TYPE)
        seen = await look(site)
        assert all(one.target == "dcgm/n1:9400" for one in seen)

    serving(use)
    (none,) = sights(options("--listen", "127.0.0.1:1"))
    assert (none.ok, "remote_write" in none.advice) == (False, True)


def test_recorded_bodies_are_read_in_their_order(tmp_path: Path) -> None:
    bodies = [
        snappy(v1(scrape(T_MS)[:3])),
        snappy(v2(scrape(T_MS)[3:])),
        otlp(scrape(T_MS + 1)),
        gzip.compress(otlp(scrape(T_MS + 2))),
        b"garbage",
    ]
    words = []
    for number, body in enumerate(bodies):
        (tmp_path / str(number)).write_bytes(body)
        words += ["--file", str(tmp_path / str(number))]
    outlet = ListOutlet()
    assert source.once(options(*words), outlet) == len(outlet.published)
    assert [(m.ts_us // 1000 - T_MS) for m in outlet.of(GPU_SCRAPES) if not m.part] == [0, 1, 2]
    assert [(name, why) for name, _, why in outlet.rejected] == [
        (f"remote-write:{tmp_path / '4'}", outlet.rejected[0][2])
    ]


@pytest.mark.parametrize(("words", "why"), [((), "give --file"), (("--file", "absent"), "absent: No such file")])
def test_once_without_a_readable_file_says_what_to_do(words: tuple[str, ...], why: str) -> None:
    with pytest.raises(SourceError, match=why):
        source.once(options(*words), ListOutlet())


def test_readiness_is_told_without_a_secret() -> None:
    async def use(site: Site) -> None:
        async with aiohttp.ClientSession() as http, http.get(f"http://127.0.0.1:{site.port}/-/ready") as answer:
            assert (answer.status, await answer.text()) == (200, "listening\n")
        async with aiohttp.ClientSession() as http, http.get(f"http://127.0.0.1:{site.port}/-/heard") as answer:
            assert json.loads(await answer.read())["targets"] == []

    serving(use)
