"""Pages of dcgm-exporter, the HTTP around them, and the lists that say where they are."""

import gzip
import json
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any

from collectors.contract.topics import GPU_SCRAPES
from collectors.dcgm.client import Done
from collectors.dcgm.http import HttpError
from collectors.dcgm.response import Response
from collectors.dcgm.sweep import Sweep
from collectors.dcgm.targets import Target, targets_of
from collectors.discovery.discovery import Found
from collectors.discovery.hostlist import HostlistError, expand
from collectors.discovery.kubernetes import of_slices, of_subsets
from collectors.kubernetes_api import objects
from collectors.source import SourceError
from tests.collectors.list_outlet import ListOutlet
from tests.fuzz.parser import Parser

PAGES = sorted((Path(__file__).parents[1] / "collectors" / "pages").glob("*.prom"))
SEEDS = tuple(path.read_bytes() for path in PAGES)


class _Given:
    """The answer that a target gave."""

    def __init__(self) -> None:
        self.answer: bytes | OSError = b""

    def fetch(self, done: Done) -> None:
        done(self.answer)

    def give_up(self, why: OSError) -> None:
        raise AssertionError(why)

    def close(self) -> None:
        self.answer = b""


def swept(*answers: bytes | OSError) -> ListOutlet:
    """What one target's sweeps tell; the second is read with what is known of the first."""
    outlet = ListOutlet()
    given = _Given()
    sweep = Sweep(
        Target("t"), outlet, cluster="c", collector="dcgm@h", node="n", timeout_s=1.0, interval_s=1.0, pages=given
    )
    for answer in answers:
        given.answer = answer
        sweep.start()
    return outlet


def numbers(outlet: ListOutlet) -> Mapping[Hashable, float | None]:
    """(node, GPU or part, column) -> value, of the first sweep that shows it."""
    out: dict[Hashable, float | None] = {}
    for scrape in outlet.of(GPU_SCRAPES):
        rows: list[tuple[Any, Any]] = [(scrape, [(gpu.uuid, gpu.mig) for gpu in scrape.gpus])]
        rows += [(part, [(part.kind, *place) for place in _places(part)]) for part in scrape.entities]
        for table, places in rows:
            for name, values in (*table.columns.items(), *table.named.items()):
                for place, value in zip(places, values, strict=True):
                    out.setdefault((scrape.node, place, name), value)
    return out


def _places(part: Any) -> list[tuple[str | None, str]]:
    return list(zip(part.parents, part.ids, strict=True))


def page(data: bytes) -> ListOutlet:
    """The same page twice: read anew, then with its shape known."""
    return swept(data, data)


def http(data: bytes) -> ListOutlet:
    """The answer of a server that ends with it, taken in pieces."""
    response = Response()
    response.restart()
    body: bytes | None = None
    try:
        for start in range(0, len(data), 700):
            piece = data[start : start + 700]
            while piece and body is None:
                room = response.room()
                taken = min(len(room), len(piece))
                room[:taken] = piece[:taken]
                piece = piece[taken:]
                body = response.came(taken)
        body = response.ended() if body is None else body
    except HttpError as why:
        return swept(why)
    return swept(ConnectionResetError() if body is None else body)


def targets(data: bytes) -> list[Target] | str:
    """A list in JSON or YAML, by its beginning."""
    text = data.decode("utf-8", "replace")
    try:
        return targets_of(text, Path("t.json" if text.startswith(("[", "{")) else "t.yaml"))
    except SourceError as why:
        return str(why)


def endpoints(data: bytes) -> list[Found] | None:
    """Slices and subsets of an API's answer; None: it is no JSON object."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    return [*of_slices(objects(document, "items"), ""), *of_subsets(objects(document, "subsets"), "metrics")]


def hosts(data: bytes) -> list[str] | str:
    """A hostlist."""
    try:
        return expand(data.decode("utf-8", "replace"), 1000)
    except HostlistError as why:
        return str(why)


def _answer(body: bytes, more: bytes = b"") -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n%s\r\n%s" % (len(body), more, body)


def _chunked(body: bytes) -> bytes:
    pieces = b"".join(b"%x\r\n%s\r\n" % (len(body[n : n + 500]), body[n : n + 500]) for n in range(0, len(body), 500))
    return b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + pieces + b"0\r\n\r\n"


_SLICE = {
    "addressType": "IPv4",
    "ports": [{"name": "metrics", "port": 9400}],
    "endpoints": [
        {"addresses": ["10.0.0.1"], "nodeName": "n", "conditions": {"ready": True}, "targetRef": {"name": "p"}}
    ],
}
_SUBSET = {"addresses": [{"ip": "10.0.0.1", "nodeName": "n"}], "ports": [{"name": "metrics", "port": 9400}]}

PARSERS = (
    Parser("dcgm page", SEEDS, page, numbers),
    Parser(
        "dcgm http",
        (
            _answer(SEEDS[0]),
            _chunked(SEEDS[1]),
            _answer(gzip.compress(SEEDS[2], mtime=0), b"Content-Encoding: gzip\r\n"),
            b"HTTP/1.0 200 OK\r\n\r\n" + SEEDS[3],
        ),
        http,
        numbers,
    ),
    Parser(
        "dcgm targets",
        (
            b'[{"targets": ["a:9400", "https://b"], "labels": {"node": "n"}}]',
            b"- targets: [a, 'b:1']\n  labels: {__scheme__: https}\n",
        ),
        targets,
    ),
    Parser(
        "kubernetes endpoints",
        (json.dumps({"items": [_SLICE], "metadata": {}}).encode(), json.dumps({"subsets": [_SUBSET]}).encode()),
        endpoints,
    ),
    Parser("hostlist", (b"gpu[001-128,200],r[1-2]n[01-16]", b"a,b-[3-4]-ib c.example"), hosts),
)
