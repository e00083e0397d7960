"""Every source that asks over the network: one target behind a proxy that can be told to be bad, and a good one."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from collectors.attribution.asking import Asking, Kubelet
from collectors.attribution.kubelet import list_pods
from collectors.contract.beat import Beat
from collectors.dcgm import source as dcgm
from collectors.gnmi.presets import presets
from collectors.gnmi.service import run as run_streams
from collectors.gnmi.stream import Stream
from collectors.gnmi.target import Access, Target
from collectors.infiniband import source as infiniband
from collectors.kubernetes import source as kubernetes
from collectors.nccl_ras import source as nccl_ras
from collectors.prometheus import source as prometheus
from collectors.sonic import source as sonic
from collectors.source import SourceError
from collectors.sources import SourceParser
from tests.collectors.bad_proxy import ABUSES, LIES, Abuse, Proxy
from tests.collectors.certificates import Certificates
from tests.collectors.exporter import PAGE, plain
from tests.collectors.gnmi_bytes import IN_OCTETS, response, sync
from tests.collectors.gnmi_collecting import reporting
from tests.collectors.gnmi_peer import Asked, peer
from tests.collectors.ib_texts import UFM_PROMETHEUS
from tests.collectors.kubelet import kubelet, pod_list
from tests.collectors.kubernetes_api import kubeconfig
from tests.collectors.kubernetes_pods import pod
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.sonic_redis import SERVER, running
from tests.collectors.test_gpu_sweep import NAMES
from tests.collectors.test_nccl_ras_source import Ras
from tests.collectors.test_prometheus_import import T_S, Server, points

TIMEOUT = "0.4"
INTERVAL = "0.1"
SWITCH_INTERVAL_S = 0.5
"""A switch that says nothing for one and a half of it is a failed beat: also a good one on a busy machine."""
MIB = 1 << 20
HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"
Handle = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]


@dataclass
class Scene:
    """A source that runs. `bad` and `good` tell whether a beat is of that target."""

    outlet: ListOutlet
    proxy: Proxy
    bad: Callable[[Beat], bool]
    good: Callable[[Beat], bool]


Play = Callable[[Path], AbstractAsyncContextManager[Scene]]


@dataclass(frozen=True)
class Row:
    """One source. `most`: what it takes of one answer, bytes."""

    name: str
    play: Play
    most: int
    abuses: tuple[Abuse, ...] = ABUSES
    needs: str | None = ""
    """A program; None: it is not here."""


def options(name: str, source: Any, *words: str) -> Any:
    """As on the command line."""
    parser = SourceParser(source=name)
    parser.fill()
    return parser.parse_args([f"--interval={INTERVAL}", *words])


@asynccontextmanager
async def serving(*coroutines: Any) -> AsyncIterator[None]:
    """Run beside the block."""
    tasks = [asyncio.ensure_future(one) for one in coroutines]
    try:
        yield
        for task in tasks:
            assert not task.done(), task.exception()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def http_server(body: Callable[[str, dict[str, str]], str]) -> AsyncIterator[int]:
    """Path and form -> body; a connection is kept."""

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                lines = head.lower().split("\r\n")
                length = next((int(line[15:]) for line in lines if line.startswith("content-length:")), 0)
                form = (await reader.readexactly(length)).decode()
                path, _, query = head.split(" ")[1].partition("?")
                writer.write(plain(body(path, dict(parse_qsl(query or form))), "Content-Type: application/json\r\n"))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()

    async with listening(handle) as port:
        yield port


@asynccontextmanager
async def listening(handle: Handle) -> AsyncIterator[int]:
    """A server on a free port."""
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.get_running_loop().create_task(handle(reader, writer)))

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def of(text: str) -> Callable[[Beat], bool]:
    """Beats of the target that has this in its name."""
    return lambda beat: text in (beat.target or "")


def with_port(port: int) -> Callable[[Beat], bool]:
    """Beats of the target at this port."""
    return of(f":{port}")


def page(path: str, form: dict[str, str]) -> str:
    return PAGE


@asynccontextmanager
async def dcgm_http(folder: Path) -> AsyncIterator[Scene]:
    outlet = ListOutlet()
    async with http_server(page) as good, Proxy(("127.0.0.1", good), HTTP).listening() as proxy:
        targets = [f"--target=http://127.0.0.1:{port}" for port in (proxy.port, good)]
        args = options("dcgm", dcgm, *targets, f"--timeout={TIMEOUT}")
        async with serving(dcgm.serve(args, outlet)):
            yield Scene(outlet, proxy, with_port(proxy.port), with_port(good))


@asynccontextmanager
async def dcgm_https(folder: Path) -> AsyncIterator[Scene]:
    """The proxy holds the certificate: what it does badly is done inside TLS."""
    import ssl

    outlet, made = ListOutlet(), Certificates(folder)
    (folder / "cert.pem").write_bytes(made.cert("switch"))
    (folder / "key.pem").write_bytes(made.key("switch"))
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    async with http_server(page) as plain_port:
        bad, fine = Proxy(("127.0.0.1", plain_port), HTTP), Proxy(("127.0.0.1", plain_port))
        async with bad.listening(tls=tls), fine.listening(tls=tls):
            targets = [f"--target=https://127.0.0.1:{proxy.port}" for proxy in (bad, fine)]
            more = ("--insecure", f"--timeout={TIMEOUT}")
            async with serving(dcgm.serve(options("dcgm", dcgm, *targets, *more), outlet)):
                yield Scene(outlet, bad, with_port(bad.port), with_port(fine.port))


@asynccontextmanager
async def dcgm_handshake(folder: Path) -> AsyncIterator[Scene]:
    """The proxy stands outside of TLS: hello, certificate and all are treated badly."""
    async with dcgm_https(folder) as scene:
        outlet, inner = ListOutlet(), scene.proxy
        async with Proxy(("127.0.0.1", inner.port), b"\x16\x03\x03\x40\x00").listening() as outer:
            targets = [f"--target=https://127.0.0.1:{port}" for port in (outer.port, inner.port)]
            args = options("dcgm", dcgm, *targets, "--insecure", f"--timeout={TIMEOUT}")
            async with serving(dcgm.serve(args, outlet)):
                yield Scene(outlet, outer, with_port(outer.port), with_port(inner.port))


@asynccontextmanager
async def ras(folder: Path) -> AsyncIterator[Scene]:
    outlet = ListOutlet()
    async with (
        listening(Ras().talk) as good,
        Proxy(("127.0.0.1", good), b"SERVER PROTOCOL 2\nOK\n").listening() as proxy,
    ):
        jobs = (f"--address=bad=127.0.0.1:{proxy.port}", f"--address=good=127.0.0.1:{good}")
        args = options("nccl-ras", nccl_ras, *jobs, f"--timeout={TIMEOUT}")
        async with serving(nccl_ras.serve(args, outlet)):
            yield Scene(outlet, proxy, lambda beat: beat.subject == "bad", lambda beat: beat.subject == "good")


@asynccontextmanager
async def ufm(folder: Path) -> AsyncIterator[Scene]:
    outlet = ListOutlet()
    async with (
        http_server(lambda path, form: UFM_PROMETHEUS) as good,
        Proxy(("127.0.0.1", good), HTTP).listening() as proxy,
    ):
        urls = [f"--ufm=http://127.0.0.1:{port}/metrics" for port in (proxy.port, good)]
        args = options("infiniband", infiniband, *urls, f"--timeout={TIMEOUT}")
        async with serving(infiniband.serve(args, outlet)):
            yield Scene(outlet, proxy, with_port(proxy.port), with_port(good))


@asynccontextmanager
async def switch(folder: Path) -> AsyncIterator[Scene]:
    outlet = ListOutlet()

    async def answer(asked: Asked) -> None:
        number = 0
        while True:
            number += 1
            ts_ns = 1_700_000_000_000_000_000 + number * 500_000_000
            await asked.send(response(ts_ns, {IN_OCTETS: number}), *(() if number > 1 else (sync(),)))
            await asyncio.sleep(0.2)

    async with peer(answer) as good:
        host, _, port = good.partition(":")
        async with Proxy((host, int(port)), b"\0\0\0\4\0\0\0\0\0").listening() as proxy:
            preset, access = presets(None)["openconfig"], Access(insecure=True)
            shared = reporting(outlet, SWITCH_INTERVAL_S)
            streams = [
                Stream(Target(name=name, address=address, preset=preset, access=access), shared)
                for name, address in (("bad", f"127.0.0.1:{proxy.port}"), ("good", good))
            ]
            async with serving(run_streams(streams, SWITCH_INTERVAL_S)):
                yield Scene(outlet, proxy, lambda beat: beat.subject == "bad", lambda beat: beat.subject == "good")


@asynccontextmanager
async def redis(folder: Path) -> AsyncIterator[Scene]:
    outlet = ListOutlet()
    with running(folder) as server:
        server.fill()
        async with Proxy(str(server.socket), b"$2000000000\r\n").listening() as proxy:
            args = options("sonic", sonic, f"--redis=bad=127.0.0.1:{proxy.port}", f"--redis=good={server.option}")
            async with serving(sonic.serve(args, outlet)):
                yield Scene(outlet, proxy, with_port(proxy.port), of("unix:"))


async def again(source: Any, args: Any, outlet: ListOutlet) -> None:
    """A source that reads once and ends, as a person would start it anew."""
    while True:
        try:
            await source.serve(args, outlet)
        except SourceError as why:
            assert "defect" not in str(why)
        await asyncio.sleep(float(INTERVAL))


@asynccontextmanager
async def history(folder: Path) -> AsyncIterator[Scene]:
    outlet, have = ListOutlet(), Server(points())
    async with (
        http_server(lambda path, form: json.dumps(have.answer(path, form))) as good,
        Proxy(("127.0.0.1", good), HTTP).listening() as proxy,
    ):
        span = (f"--from={T_S}", f"--to={T_S + 600}", "--restart", f"--timeout={TIMEOUT}")
        imports = [
            again(prometheus, options("prometheus", prometheus, f"--url=http://127.0.0.1:{port}", *span), outlet)
            for port in (proxy.port, good)
        ]
        async with serving(*imports):
            yield Scene(outlet, proxy, with_port(proxy.port), with_port(good))


def pods(path: str, form: dict[str, str]) -> str:
    return json.dumps({"kind": "PodList", "items": [pod("a"), pod("b")], "metadata": {}})


@asynccontextmanager
async def api(folder: Path) -> AsyncIterator[Scene]:
    """Two clusters, each asked by a source of its own."""
    outlet = ListOutlet()
    async with http_server(pods) as good, Proxy(("127.0.0.1", good), HTTP).listening() as proxy:
        sources = []
        for name, port in (("bad", proxy.port), ("good", good)):
            (folder / name).mkdir()
            config = kubeconfig(folder / name, f"http://127.0.0.1:{port}")
            sources.append(kubernetes.serve(options("kubernetes", kubernetes, f"--kubeconfig={config}"), outlet))
        async with serving(*sources):
            yield Scene(outlet, proxy, of("/bad/"), of("/good/"))


@asynccontextmanager
async def discovered(folder: Path) -> AsyncIterator[Scene]:
    """The API that says where exporters are; those that are known are read on."""
    outlet = ListOutlet()

    async with http_server(page) as exporter:

        def slices(path: str, form: dict[str, str]) -> str:
            endpoint = {"addresses": ["127.0.0.1"], "nodeName": "n", "conditions": {"ready": True}}
            items = [{"addressType": "IPv4", "ports": [{"port": exporter}], "endpoints": [endpoint]}]
            return json.dumps({"kind": "EndpointSliceList", "items": items, "metadata": {}})

        async with http_server(slices) as good, Proxy(("127.0.0.1", good), HTTP).listening() as proxy:
            config = kubeconfig(folder, f"http://127.0.0.1:{proxy.port}")
            words = ("--kubernetes=gpu/exporter", f"--kubeconfig={config}", f"--find-every={INTERVAL}")
            args = options("dcgm", dcgm, *words, f"--timeout={TIMEOUT}")
            async with serving(dcgm.serve(args, outlet)):
                yield Scene(outlet, proxy, of("kubernetes:"), with_port(exporter))


@asynccontextmanager
async def pod_resources(folder: Path) -> AsyncIterator[Scene]:
    outlet, raw = ListOutlet(), pod_list(("ml", "bert-0", {"main": ["GPU-0"]}))

    async def answer(_: bytes) -> bytes:
        return raw

    async def ask(path: Path) -> None:
        asked = Kubelet(str(path), lambda timeout_s: list_pods(str(path), timeout_s))
        asking = Asking(outlet, NAMES, asked, None, interval_s=2 * float(TIMEOUT))
        while True:
            await asking.ask()
            await asyncio.sleep(float(INTERVAL))

    async with kubelet(folder / "good.sock", answer):
        proxy = Proxy(str(folder / "good.sock"), b"\0\0\0\4\0\0\0\0\0")
        async with (
            proxy.listening(str(folder / "bad.sock")),
            serving(ask(folder / "bad.sock"), ask(folder / "good.sock")),
        ):
            yield Scene(outlet, proxy, of("bad.sock"), of("good.sock"))


def some(*names: str) -> tuple[Abuse, ...]:
    """Where the rest goes the way of another row."""
    return tuple(abuse for abuse in ABUSES + LIES if abuse.name in names)


ROWS = (
    Row("dcgm-http", dcgm_http, 17 * MIB, ABUSES + LIES),
    Row("dcgm-https", dcgm_https, 17 * MIB, some("half-then-hangs", "half-then-closes", "endless", "claims-less")),
    Row(
        "dcgm-tls-handshake",
        dcgm_handshake,
        MIB,
        some("silent", "half-then-hangs", "half-then-closes", "garbage", "endless"),
    ),
    Row("nccl-ras", ras, 256 * MIB),
    Row("infiniband-ufm", ufm, 512 * MIB, ABUSES + LIES),
    Row("gnmi", switch, 64 * MIB),
    Row("sonic-redis", redis, 64 * MIB, ABUSES + LIES, SERVER),
    Row("prometheus-history", history, 64 * MIB, ABUSES + LIES),
    Row("kubernetes-api", api, 64 * MIB, ABUSES + LIES),
    Row("dcgm-kubernetes-discovery", discovered, 64 * MIB, some("silent", "trickles", "half-then-closes", "endless")),
    Row("kubelet-socket", pod_resources, 16 * MIB),
)
