"""An API server of Kubernetes on loopback that answers from a function, and a kubeconfig for it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "t0ken"
Query = dict[str, str]
Answer = tuple[int, Any]
"""Status, and what JSON holds, or bytes as they are."""
Api = Callable[[str, Query], Answer]


def only_at(path: str, answer: Callable[[Query], Answer]) -> Api:
    """An API that has this path alone."""
    return lambda asked, query: answer(query) if asked == path else (404, {"kind": "Status", "code": 404})


@contextmanager
def api_server(api: Api, folder: Path, token: str = TOKEN) -> Iterator[Path]:
    """The kubeconfig of a server that knows one token; `token` is the one that the kubeconfig holds."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            known = self.headers["Authorization"] == f"Bearer {TOKEN}"
            status, body = api(url.path, query) if known else (401, {"kind": "Status"})
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield kubeconfig(folder, f"http://127.0.0.1:{server.server_port}", token)
        finally:
            server.shutdown()
            thread.join()


def kubeconfig(folder: Path, url: str, token: str = TOKEN) -> Path:
    """A file that leads the official client to this address."""
    path = folder / "kubeconfig"
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": token}}],
    }
    path.write_text(json.dumps(config))
    return path
