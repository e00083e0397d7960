"""The fake target of openconfig/gnmi as a process: recorded responses, replayed over TLS.

It is always TLS, knows nothing of paths, modes and logins, keeps the times of its file, listens on every interface,
and sends the end of the snapshot after everything unless it stands among the responses (`disable_sync`).
"""

import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from collectors.gnmi.path import parse_path
from infra.peers.build import fake_server
from tests.collectors.certificates import Certificates

Update = tuple[str, int | float | str]


def note(ts_ns: int, updates: Sequence[Update], deletes: Sequence[str] = ()) -> str:
    """A notification as the text form of a protobuf."""
    told = "".join(f"update {{ {path_text(path)} val {{ {_value(held)} }} }}\n" for path, held in updates)
    gone = "".join(f"delete {{ {_elems(path)} }}\n" for path in deletes)
    return f"responses {{ update {{ timestamp: {ts_ns}\n{told}{gone} }} }}\n"


SYNC = "responses { sync_response: true }\n"


def path_text(path: str) -> str:
    return f"path {{ {_elems(path)} }}"


def _elems(path: str) -> str:
    return " ".join(
        f'elem {{ name: "{e.name}" ' + " ".join(f'key {{ key: "{k}" value: "{v}" }}' for k, v in e.keys) + " }"
        for e in parse_path(path).elems
    )


def _value(held: int | float | str) -> str:
    if isinstance(held, str):
        return f'string_val: "{held}"'
    return f"uint_val: {held}" if isinstance(held, int) else f"double_val: {held!r}"


@dataclass(slots=True)
class FakeTarget:
    """One running target."""

    address: str
    made: Certificates
    process: "subprocess.Popen[bytes]"
    command: list[str]

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def start(self) -> None:
        self.process = _started(self.command, self.address)


@contextmanager
def running(folder: Path, *responses: str, mutual: bool = False) -> Iterator[FakeTarget]:
    """Built unless it is there; `mutual`: a client must have a certificate of the same CA."""
    made = Certificates(folder)
    (folder / "switch.pem").write_bytes(made.cert("switch"))
    (folder / "switch.key").write_bytes(made.key("switch"))
    (folder / "config").write_text(
        'target: "leaf1"\nclient_type: GRPC_GNMI\ndisable_sync: true\ndisable_eof: true\nfixed {\n'
        + "".join(responses)
        + "}\n"
    )
    port = _free_port()
    command = [
        str(fake_server()),
        "-logtostderr",
        "-text",
        f"-config={folder / 'config'}",
        f"-port={port}",
        f"-server_crt={folder / 'switch.pem'}",
        f"-server_key={folder / 'switch.key'}",
        f"-ca_crt={folder / 'ca.pem'}",
        *([] if mutual else ["-allow_no_client_auth"]),
    ]
    address = f"127.0.0.1:{port}"
    target = FakeTarget(address, made, _started(command, address), command)
    try:
        yield target
    finally:
        target.kill()


def _started(command: list[str], address: str) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    host, _, port = address.rpartition(":")
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=1).close()
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                said = (
                    process.stderr.read().decode() if process.stderr is not None and process.poll() is not None else ""
                )
                raise RuntimeError(f"the fake target did not start: {said[-500:]}") from None
            time.sleep(0.02)
        else:
            return process


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
