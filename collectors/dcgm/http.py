"""Where a page is, and what is wrong with an answer that is none."""

import base64
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit


class HttpError(OSError):
    """The server answered, but not with a page."""


@dataclass(frozen=True, slots=True)
class Url:
    """Where a page is."""

    host: str
    port: int
    path: str
    secure: bool
    headers: tuple[str, ...] = ()


def read_url(text: str, default_port: int, headers: tuple[str, ...] = ()) -> Url:
    """`http[s]://[user:password@]host[:port][/path]`. Raises `ValueError` that says what is wrong."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https"):
        raise ValueError("write http:// or https://")
    if not parts.hostname:
        raise ValueError("no host in it")
    if any(sign.isspace() or not sign.isprintable() for sign in text):
        raise ValueError("a space or an unprintable sign in it")
    user = parts.username
    if user is not None:
        headers = (*headers, basic(unquote(user), unquote(parts.password or "")))
    path = (parts.path or "/metrics") + (f"?{parts.query}" if parts.query else "")
    port = parts.port or (443 if parts.scheme == "https" else default_port)
    return Url(parts.hostname, port, path, parts.scheme == "https", headers)


def basic(user: str, password: str) -> str:
    """The header line of a login."""
    return f"Authorization: Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"
