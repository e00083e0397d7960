"""The HTTP endpoint of UFM telemetry, bounded in time and size."""

import os
import ssl
from dataclasses import dataclass
from pathlib import Path

from collectors.source import SourceError

MOST_BYTES = 512 << 20
"""A JSON sample of 40 k ports with 60 counters each is some 100 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a UFM answers. `tls` None: as the system trusts."""

    url: str
    tls: ssl.SSLContext | None = None
    username: str | None = None
    password: str | None = None
    timeout_s: float = 60.0
    most_bytes: int = MOST_BYTES

    async def fetch(self) -> bytes:
        """The body. Raises `OSError` with what went wrong."""
        import aiohttp

        from collectors.http_trouble import said

        login = None if self.username is None else aiohttp.BasicAuth(self.username, self.password or "")
        limit = aiohttp.ClientTimeout(total=self.timeout_s)
        try:
            async with (
                aiohttp.ClientSession(timeout=limit, auth=login) as session,
                session.get(self.url, ssl=self.tls if self.tls is not None else True) as answer,
            ):
                if answer.status != 200:
                    raise OSError(f"HTTP {answer.status} {answer.reason or ''}".rstrip() + _hint(answer.status))
                body = bytearray()
                async for part in answer.content.iter_chunked(1 << 18):
                    body += part
                    if len(body) > self.most_bytes:
                        raise OSError(f"the answer is larger than {self.most_bytes >> 20} MiB")
                return bytes(body)
        except TimeoutError:
            raise OSError(f"no whole answer within {self.timeout_s:g} s") from None
        except aiohttp.ClientConnectorError as why:
            # asyncio hides the system's words behind its own.
            number = why.os_error.errno
            raise OSError(
                (os.strerror(number) if number and number > 0 else why.os_error.strerror) or str(why)
            ) from why
        except (aiohttp.ClientError, ValueError) as why:
            raise OSError(said(why)) from why


def context(ca: Path | None, *, insecure: bool) -> ssl.SSLContext | None:
    """Raises `SourceError` for a file that holds no certificates."""
    if insecure:
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        return trusting
    if ca is None:
        return None
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as why:
        raise SourceError(f"--ca {ca}: {why}") from why


def _hint(status: int) -> str:
    if status in (401, 403):
        return ": set LOCKSTEP_UFM_USERNAME and LOCKSTEP_UFM_PASSWORD"
    return ": is the path right, such as /metrics, /json or /csv?" if status == 404 else ""
