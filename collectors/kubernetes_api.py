"""A Kubernetes API server, asked by the official client, answered in plain JSON."""

import http.client
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from collectors.source import SourceError

WAIT_S = 10.0
"""For one answer."""
PAGE = 500
"""Things asked for at a time."""
MAX_BYTES = 64 << 20


class KubernetesApi:
    """One API server. `client` is what the official client's API classes take."""

    def __init__(self, kubeconfig: Path | None) -> None:
        """From a pod's service account, else a kubeconfig. Raises `SourceError`."""
        self.client = _client(kubeconfig)
        self.host = str(self.client.configuration.host)
        self.bytes = 0
        """Of answers so far, unpacked."""

    def ask(self, verb: str, rights: str, call: Any, *words: str, **options: Any) -> dict[str, Any] | None:
        """JSON of one answer; None: there is no such thing. The client's own types refuse `endpoints: null`.

        `verb` and `rights` say in an error what was asked and which role it needs. Raises `SourceError`.
        """
        import kubernetes.client
        import urllib3.exceptions

        cut = threading.Event()
        try:
            with _deadline(self.client, cut):
                answer = call(*words, **options, _preload_content=False, _request_timeout=WAIT_S)
                raw = answer.read(MAX_BYTES + 1)
                answer.release_conn()
            self.bytes += len(raw)
        except kubernetes.client.ApiException as why:
            if why.status == 404:
                return None
            if why.status in (401, 403):
                raise SourceError(
                    f"{self.host} does not let us {verb} (HTTP status {why.status});"
                    f" give the service account a role with {rights}"
                ) from why
            raise SourceError(f"{self.host}: HTTP status {why.status} {why.reason}") from why
        except (urllib3.exceptions.HTTPError, http.client.HTTPException, OSError, ValueError) as why:
            said = f"no whole answer within {WAIT_S:g} s" if cut.is_set() else _said(why)
            raise SourceError(f"{self.host}: {said}") from why
        if cut.is_set():
            raise SourceError(f"{self.host}: no whole answer within {WAIT_S:g} s")
        if len(raw) > MAX_BYTES:
            raise SourceError(f"{self.host}: an answer of more than {MAX_BYTES >> 20} MiB")
        try:
            document = json.loads(raw)
        except (ValueError, RecursionError) as why:
            raise SourceError(f"{self.host}: its answer is no JSON") from why
        if not isinstance(document, dict):
            raise SourceError(f"{self.host}: its answer is no object of Kubernetes")
        return document


def in_pod() -> bool:
    """The API is where a pod finds it, and no kubeconfig says otherwise."""
    return "KUBERNETES_SERVICE_HOST" in os.environ and "KUBECONFIG" not in os.environ


def _client(kubeconfig: Path | None) -> Any:
    try:
        import kubernetes.client
        import kubernetes.config
    except ImportError as why:
        raise SourceError("pip install 'lockstep-telemetry[kubernetes]'") from why
    config: Any = kubernetes.config
    configuration = kubernetes.client.Configuration()
    # One try; the next look is a minute away.
    configuration.retries = False
    try:
        if kubeconfig is None and in_pod():
            config.load_incluster_config(client_configuration=configuration)
        else:
            config.load_kube_config(None if kubeconfig is None else str(kubeconfig), client_configuration=configuration)
    except (config.ConfigException, OSError, ValueError) as why:
        said = str(why).partition("\n")[0].rstrip(".")
        raise SourceError(f"{said}; run in a pod of the cluster, or give --kubeconfig FILE") from why
    client = kubernetes.client.ApiClient(configuration)
    _watch_connections(client.rest_client.pool_manager)
    return client


def _watch_connections(manager: Any) -> None:
    """Keeps each connection in sight, so that one can be cut from outside: urllib3 bounds the wait for the next byte,
    and a server that sends one now and then holds a thread for ever."""
    import urllib3.connection
    import urllib3.connectionpool

    manager.lockstep_open = set()

    def seen(base: Any) -> Any:
        class Seen(base):  # type: ignore[misc]
            def connect(self) -> None:
                manager.lockstep_open.add(self)
                super().connect()

            def close(self) -> None:
                manager.lockstep_open.discard(self)
                super().close()

        return Seen

    class Http(urllib3.connectionpool.HTTPConnectionPool):
        ConnectionCls = seen(urllib3.connection.HTTPConnection)

    class Https(urllib3.connectionpool.HTTPSConnectionPool):
        ConnectionCls = seen(urllib3.connection.HTTPSConnection)

    manager.pool_classes_by_scheme = {"http": Http, "https": Https}


@contextmanager
def _deadline(client: Any, cut: threading.Event) -> Iterator[None]:
    """Cuts the client's connections when the block takes longer than `WAIT_S`; `cut` says that it did."""

    def end() -> None:
        cut.set()
        for connection in list(client.rest_client.pool_manager.lockstep_open):
            with suppress(OSError, AttributeError):  # it ended by itself meanwhile
                connection.sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(WAIT_S, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def objects(document: dict[str, Any], key: str) -> list[dict[str, Any]]:
    """The objects of a list; what is none is passed over."""
    found = document.get(key)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []


def inner(document: dict[str, Any], key: str) -> dict[str, Any]:
    """An object inside; empty where there is none."""
    found = document.get(key)
    return found if isinstance(found, dict) else {}


def text(value: Any) -> str | None:
    """Text that says something."""
    return value if isinstance(value, str) and value else None


def _said(why: Exception) -> str:
    """urllib3 wraps the system's words, several deep."""
    import urllib3.exceptions

    deepest: BaseException = why
    while (deeper := getattr(deepest, "reason", None) or deepest.__cause__) and isinstance(deeper, BaseException):
        deepest = deeper
    if isinstance(deepest, urllib3.exceptions.ProtocolError) and isinstance(deepest.args[-1], Exception):
        deepest = deepest.args[-1]
    if isinstance(deepest, http.client.RemoteDisconnected):
        return "closed without an answer"
    if isinstance(deepest, urllib3.exceptions.IncompleteRead | http.client.IncompleteRead):
        return "the answer was cut off before its end"
    if isinstance(deepest, http.client.HTTPException):
        return f"no HTTP that can be read ({type(deepest).__name__})"
    return getattr(deepest, "strerror", None) or str(deepest).partition("\n")[0][:200]
