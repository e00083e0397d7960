"""An API server of Kubernetes on loopback that answers from a table of paths, in pages, and a kubeconfig for it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = Callable[[dict[str, str]], tuple[int, Any]]
"""Parameters of the query -> status and JSON."""


@contextmanager
def api_server(answers: dict[str, Answer], folder: Path) -> Iterator[Path]:
    """The kubeconfig of a server that knows these paths."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            url = urlsplit(self.path)
            answer = answers.get(url.path)
            query = {name: values[0] for name, values in parse_qs(url.query).items()}
            status, body = (404, {"kind": "Status", "code": 404}) if answer is None else answer(query)
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    kubeconfig = folder / "kubeconfig"
    cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{server.server_address[1]}"}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u"}}
    user = {"name": "u", "user": {"token": "t"}}
    config = {"apiVersion": "v1", "kind": "Config", "current-context": "x"}
    kubeconfig.write_text(json.dumps(config | {"clusters": [cluster], "contexts": [context], "users": [user]}))
    try:
        yield kubeconfig
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
