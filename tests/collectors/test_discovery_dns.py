"""SRV records from a name server of the test's own, over UDP and, for many, TCP."""

import socket
import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import dns.flags
import dns.message
import dns.rcode
import dns.rrset
import pytest

from collectors.discovery.discovery import Found
from collectors.discovery.dns_srv import DnsSrv
from collectors.source import SourceError

Answer = list[str] | dns.rcode.Rcode | None


def reply(raw: bytes, answer: Answer, room: int) -> bytes | None:
    """SRV records, an error, or nothing at all; cut off where it is larger than the room."""
    if answer is None:
        return None
    asked = dns.message.from_wire(raw)
    made = dns.message.make_response(asked)
    if isinstance(answer, list):
        if answer:
            made.answer.append(dns.rrset.from_text_list(asked.question[0].name, 60, "IN", "SRV", answer))
    else:
        made.set_rcode(answer)
    whole = made.to_wire(max_size=65535)
    if len(whole) > room:
        made.answer.clear()
        made.flags |= dns.flags.TC
        return made.to_wire()
    return whole


@contextmanager
def served(answer: Answer) -> Iterator[str]:
    """Address of a name server that answers everything alike."""

    class Udp(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            data, sock = self.request
            made = reply(data, answer, 512)
            if made is not None:
                sock.sendto(made, self.client_address)

    class Tcp(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            (length,) = struct.unpack("!H", self.rfile.read(2))
            made = reply(self.rfile.read(length), answer, 65535)
            if made is not None:
                self.wfile.write(struct.pack("!H", len(made)) + made)

    socketserver.TCPServer.allow_reuse_address = True
    with (
        socketserver.ThreadingTCPServer(("127.0.0.1", 0), Tcp) as tcp,
        socketserver.ThreadingUDPServer(("127.0.0.1", tcp.server_address[1]), Udp) as udp,
    ):
        for server in (tcp, udp):
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        try:
            yield f"127.0.0.1:{tcp.server_address[1]}"
        finally:
            tcp.shutdown()
            udp.shutdown()


def find(answer: Answer) -> list[Found]:
    with served(answer) as address:
        return DnsSrv("_dcgm._tcp.gpu.example", address).find()


def test_a_record_is_a_host_and_its_port() -> None:
    assert find(["0 0 9400 gpu1.example.", "0 0 9401 gpu2.example.", "1 0 9400 gpu1.example."]) == [
        Found("gpu1.example", 9400),
        Found("gpu2.example", 9401),
    ]


def test_a_thousand_records_come_by_tcp() -> None:
    assert len(find([f"0 0 9400 gpu{n}.example." for n in range(1000)])) == 1000


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (dns.rcode.NXDOMAIN, "no such name _dcgm._tcp.gpu.example"),
        ([], "_dcgm._tcp.gpu.example has no SRV record"),
        (["0 0 0 ."], "its SRV record says that there is no such service"),
        (dns.rcode.REFUSED, "_dcgm._tcp.gpu.example"),
    ],
)
def test_an_answer_without_a_place_is_said(answer: Answer, why: str) -> None:
    with pytest.raises(SourceError, match=why):
        find(answer)


def test_a_server_that_is_not_there_is_said() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        with pytest.raises(SourceError, match=r"no answer about _dcgm\._tcp\.gpu\.example within 0\.3 s"):
            DnsSrv("_dcgm._tcp.gpu.example", f"127.0.0.1:{silent.getsockname()[1]}", 0.3).find()


@pytest.mark.parametrize("text", ["consul", "10.0.0.2:", "10.0.0.2:port", "10.0.0.2:70000"])
def test_a_server_is_an_address_and_a_port(text: str) -> None:
    with pytest.raises(SourceError, match="--dns-server"):
        DnsSrv("x", text)


@pytest.mark.parametrize(
    ("text", "server"),
    [
        ("10.0.0.2", ("10.0.0.2", 53)),
        ("10.0.0.2:8600", ("10.0.0.2", 8600)),
        ("[::1]:8600", ("::1", 8600)),
        ("::1", ("::1", 53)),
    ],
)
def test_a_server_may_be_of_either_family(text: str, server: tuple[str, int]) -> None:
    assert DnsSrv("x", text)._server == server
