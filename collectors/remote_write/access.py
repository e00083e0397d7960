"""Who may push: everybody who can reach the address, or who knows a secret; and the server's certificate."""

import argparse
import base64
import hmac
import ssl
from collections.abc import Callable
from pathlib import Path

from collectors.source import SourceError

Gate = Callable[[str | None], bool]
"""Whether a request with this `Authorization` header may come in."""


def gate(args: argparse.Namespace) -> Gate:
    """By `--basic-auth-file` and `--bearer-token-file`; without them everybody. Raises `SourceError`."""
    accepted = [secret.encode() for secret in _secrets(args)]
    if not accepted:
        return lambda _: True

    def may(header: str | None) -> bool:
        shown = (header or "").encode("utf-8", "surrogateescape")
        return any([hmac.compare_digest(shown, secret) for secret in accepted])

    return may


def authorization(args: argparse.Namespace) -> str | None:
    """A header that the gate lets in; None: it lets everybody in. Raises `SourceError`."""
    return next(iter(_secrets(args)), None)


def _secrets(args: argparse.Namespace) -> list[str]:
    out: list[str] = []
    if args.basic_auth_file is not None:
        for number, line in enumerate(_read("--basic-auth-file", args.basic_auth_file).splitlines(), start=1):
            if not line.strip():
                continue
            if ":" not in line:
                raise SourceError(f"--basic-auth-file {args.basic_auth_file}:{number}: write USER:PASSWORD")
            out.append("Basic " + base64.b64encode(line.strip().encode()).decode())
    if args.bearer_token_file is not None:
        out += [f"Bearer {token}" for token in _read("--bearer-token-file", args.bearer_token_file).split()]
    if not out and (args.basic_auth_file is not None or args.bearer_token_file is not None):
        raise SourceError("the file of secrets is empty: nobody could push")
    return out


def server_tls(args: argparse.Namespace) -> ssl.SSLContext | None:
    """By `--cert`, `--key` and `--client-ca`; None: plain HTTP. Raises `SourceError`."""
    if args.cert is None:
        if args.key is not None or args.client_ca is not None:
            raise SourceError("--key and --client-ca need --cert")
        return None
    try:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(args.cert, args.key)
        if args.client_ca is not None:
            context.load_verify_locations(args.client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except (OSError, ssl.SSLError) as why:
        raise SourceError(f"--cert {args.cert}: {why}") from why
    return context


def read_address(option: str, text: str, default_port: int) -> tuple[str, int]:
    """`[HOST:]PORT` or `HOST`. Raises `SourceError`."""
    host, colon, port = text.rpartition(":")
    if not colon and not text.isdecimal():
        host, port = text, str(default_port)
    if not port.isdecimal() or int(port) > 65535:
        raise SourceError(f"{option} {text}: write [HOST:]PORT")
    return host.strip("[]") or "127.0.0.1", int(port)


def _read(option: str, path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as why:
        raise SourceError(f"{option} {path}: {getattr(why, 'strerror', None) or why}") from why
