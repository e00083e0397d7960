"""Targets behind TLS and logins, over real sockets."""

import asyncio
import base64
import ssl
from collections.abc import Sequence
from pathlib import Path

import pytest

from collectors.contract.topics import GPU_SCRAPES
from collectors.dcgm import source
from collectors.dcgm.access import Access
from collectors.source import SourceError
from tests.collectors.certificates import Certificates
from tests.collectors.dcgm_options import options
from tests.collectors.exporter import PAGE, Exporter, plain, serving
from tests.collectors.list_outlet import ListOutlet


@pytest.fixture
def made(tmp_path: Path) -> Certificates:
    """A CA, and `switch.pem` and `client.pem` with their keys in them."""
    made = Certificates(tmp_path)
    for name in ("switch", "client"):
        (tmp_path / f"{name}.pem").write_bytes(made.cert(name))
        (tmp_path / f"{name}.key").write_bytes(made.key(name))
    return made


def server_side(folder: Path, *, asks: bool = False) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "switch.pem", folder / "switch.key")
    if asks:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(folder / "ca.pem")
    return context


def read(tls: ssl.SSLContext | None, words: Sequence[str], scheme: str = "https") -> tuple[ListOutlet, Exporter]:
    """One sweep; the outlet has what came of it."""
    outlet = ListOutlet()

    async def run() -> Exporter:
        async with serving(lambda _: plain(PAGE), tls) as exporter:
            args = options("--target", f"{scheme}://127.0.0.1:{exporter.port}/metrics", "--timeout", "5", *words)
            try:
                await source._once(args, outlet)
            except SourceError as why:
                assert "none of 1 targets" in str(why)
            return exporter

    return outlet, asyncio.run(run())


def error(outlet: ListOutlet) -> str:
    (beat,) = outlet.beats
    assert not beat.ok
    return str(beat.error)


def pages(outlet: ListOutlet) -> list[str]:
    return [scrape.node for scrape in outlet.of(GPU_SCRAPES)]


def test_a_target_whose_certificate_the_ca_signed_is_read(made: Certificates, tmp_path: Path) -> None:
    words = ["--ca", str(tmp_path / "ca.pem"), "--tls-name", "switch.example"]
    assert pages(read(server_side(tmp_path), words)[0]) == ["node-a"]


def test_one_tls_connection_serves_many_sweeps(made: Certificates, tmp_path: Path) -> None:
    outlet = ListOutlet()

    async def run() -> int:
        async with serving(lambda _: plain(PAGE), server_side(tmp_path)) as exporter:
            words = ["--ca", str(tmp_path / "ca.pem"), "--tls-name", "switch.example"]
            args = options("--target", f"127.0.0.1:{exporter.port}", "--https", *words)
            task = asyncio.create_task(source.serve(args, outlet))
            async with asyncio.timeout(60.0):
                while len(outlet.published) < 4:
                    await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return exporter.connections

    assert asyncio.run(run()) == 1


def test_a_certificate_of_an_unknown_ca_is_said(made: Certificates, tmp_path: Path) -> None:
    outlet, exporter = read(server_side(tmp_path), ["--tls-name", "switch.example"])
    assert error(outlet).startswith("certificate: unable to get local issuer certificate")
    assert exporter.requests == []


def test_a_certificate_of_another_name_is_said(made: Certificates, tmp_path: Path) -> None:
    outlet, exporter = read(server_side(tmp_path), ["--ca", str(tmp_path / "ca.pem")])
    assert error(outlet).startswith("certificate: IP address mismatch")
    assert exporter.requests == []


def test_insecure_takes_any_certificate(made: Certificates, tmp_path: Path) -> None:
    assert pages(read(server_side(tmp_path), ["--insecure"])[0]) == ["node-a"]


def test_a_client_certificate_opens_a_target_that_asks_for_one(made: Certificates, tmp_path: Path) -> None:
    words = ["--ca", str(tmp_path / "ca.pem"), "--tls-name", "switch.example"]
    own = ["--cert", str(tmp_path / "client.pem"), "--key", str(tmp_path / "client.key")]
    assert pages(read(server_side(tmp_path, asks=True), [*words, *own])[0]) == ["node-a"]
    without, _ = read(server_side(tmp_path, asks=True), words)
    # Whether the server's alert comes through before its end depends on the server.
    assert error(without) in ("closed before the end of the page", "TLS: tlsv13 alert certificate required")


def test_https_to_a_target_that_speaks_http_is_said() -> None:
    outlet = ListOutlet()

    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(refuse, "127.0.0.1", 0)
        async with server:
            target = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/metrics"
            with pytest.raises(SourceError):
                await source._once(options("--target", target), outlet)

    asyncio.run(run())
    assert error(outlet) == "no TLS on that port"


def test_http_to_a_target_that_speaks_https_is_said(made: Certificates, tmp_path: Path) -> None:
    assert error(read(server_side(tmp_path), [], scheme="http")[0]) != ""


def test_a_login_comes_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("s3cret\n")
    _, exporter = read(None, ["--username", "lock", "--password-file", str(tmp_path / "password")], scheme="http")
    assert f"Authorization: Basic {base64.b64encode(b'lock:s3cret').decode()}" in exporter.requests[0].decode()


def test_a_token_comes_from_a_file_and_a_new_one_is_sent_once_it_is_there(tmp_path: Path) -> None:
    token, outlet = tmp_path / "token", ListOutlet()
    token.write_text("one")

    def sent(exporter: Exporter) -> list[str]:
        return [line for request in exporter.requests for line in request.decode().split("\r\n") if "Bearer" in line]

    async def run() -> list[str]:
        async with serving(lambda _: plain(PAGE)) as exporter:
            args = options("--target", f"127.0.0.1:{exporter.port}", "--bearer-token-file", str(token))
            task = asyncio.create_task(source.serve(args, outlet))
            async with asyncio.timeout(60.0):
                while not sent(exporter):
                    await asyncio.sleep(0.01)
                token.write_text("")
                while all(beat.ok for beat in outlet.beats):
                    await asyncio.sleep(0.01)
                token.write_text("second")
                while sent(exporter)[-1] != "Authorization: Bearer second":
                    await asyncio.sleep(0.01)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            return list(dict.fromkeys(sent(exporter)))

    assert asyncio.run(run()) == ["Authorization: Bearer one", "Authorization: Bearer second"]
    failed = [beat.error for beat in outlet.beats if not beat.ok]
    assert failed == [f"--bearer-token-file {token}: not one line of text"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--ca", "/none"], "--ca /none: No such file or directory"),
        (["--ca", "{self}"], "--ca {self}: TLS: no certificate or crl found"),
        (["--cert", "/none"], "--cert /none: No such file or directory"),
        (["--key", "/none"], "--key: give --cert too"),
        (["--username", "u"], "--username and --password-file are given together"),
        (["--bearer-token-file", "/none"], "--bearer-token-file /none: No such file or directory"),
        (["--header", "X"], "--header X: write 'Name: value'"),
        (["--header", "X: 1\r\nY: 2"], "--header X: 1\r\nY: 2: write 'Name: value'"),
    ],
)
def test_a_wrong_option_is_named(words: list[str], why: str, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.write_text("no certificate")
    with pytest.raises(SourceError) as failure:
        Access(options(*(word.replace("{self}", str(own)) for word in words)))
    assert str(failure.value) == why.replace("{self}", str(own))
