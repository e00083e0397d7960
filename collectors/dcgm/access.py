"""How targets are reached: login and TLS, from files that may be replaced while the collector runs."""

import argparse
import ssl
from pathlib import Path

from collectors.dcgm.http import basic
from collectors.source import SourceError

Stamp = tuple[int, int, int] | None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Login and TLS."""
    parser.add_argument("--header", action="append", default=[], metavar="'NAME: VALUE'", help="sent with each request")
    parser.add_argument("--username", metavar="USER", help="login name, with --password-file")
    parser.add_argument("--password-file", type=Path, metavar="FILE", help="file with the password of --username")
    parser.add_argument(
        "--bearer-token-file", type=Path, metavar="FILE", help="file with a token; read again when it changes"
    )
    parser.add_argument("--ca", type=Path, metavar="FILE", help="certificates that sign those of https targets, PEM")
    parser.add_argument("--cert", type=Path, metavar="FILE", help="client certificate for mutual TLS, PEM")
    parser.add_argument("--key", type=Path, metavar="FILE", help="private key of --cert, PEM")
    parser.add_argument(
        "--tls-name", metavar="NAME", help="name in the targets' certificates, where it is not the host"
    )
    parser.add_argument("--insecure", action="store_true", help="do not check the certificates of https targets")


class Access:
    """Header lines and the TLS context. `refresh` looks whether a file changed; new connections take what is new."""

    def __init__(self, args: argparse.Namespace) -> None:
        """Raises `SourceError` naming the option."""
        self._args = args
        for header in args.header:
            if ":" not in header or not header.isprintable():
                raise SourceError(f"--header {header}: write 'Name: value'")
        if (args.username is None) != (args.password_file is None):
            raise SourceError("--username and --password-file are given together")
        if args.username is not None and args.bearer_token_file is not None:
            raise SourceError("--username and --bearer-token-file: give one of them")
        if args.key is not None and args.cert is None:
            raise SourceError("--key: give --cert too")
        self.tls_name: str | None = args.tls_name
        files = (args.password_file, args.bearer_token_file, args.ca, args.cert, args.key)
        self._files: list[Path] = [path for path in files if path is not None]
        self._stamps = [stamp(path) for path in self._files]
        self.lines: tuple[str, ...] = ()
        self.tls = self._read()

    def refresh(self) -> None:
        """Read again what changed. Raises `SourceError`; then everything stays as it was until the next change."""
        fresh = [stamp(path) for path in self._files]
        if fresh != self._stamps:
            self._stamps = fresh
            self.tls = self._read()

    def _read(self) -> ssl.SSLContext:
        args = self._args
        tls = _context(args)
        login: tuple[str, ...] = ()
        if args.password_file is not None:
            login = (basic(args.username, _secret("--password-file", args.password_file)),)
        elif args.bearer_token_file is not None:
            login = (f"Authorization: Bearer {_secret('--bearer-token-file', args.bearer_token_file)}",)
        self.lines = (*args.header, *login)
        return tls


def _secret(option: str, path: Path) -> str:
    try:
        text = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as why:
        raise SourceError(f"{option} {path}: {getattr(why, 'strerror', None) or 'not text'}") from why
    if not text or not text.isprintable():
        raise SourceError(f"{option} {path}: not one line of text")
    return text


def _context(args: argparse.Namespace) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=args.ca)
    except (OSError, ssl.SSLError) as why:
        raise SourceError(f"--ca {args.ca}: {told(why)}") from why
    if args.cert is not None:
        try:
            context.load_cert_chain(args.cert, args.key)
        except (OSError, ssl.SSLError) as why:
            raise SourceError(f"--cert {args.cert}: {told(why)}") from why
    if args.insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def told(why: OSError) -> str:
    """What OpenSSL or the system says, in words."""
    if isinstance(why, ssl.SSLCertVerificationError):
        return f"certificate: {why.verify_message}"
    if isinstance(why, ssl.SSLError):
        reason = (why.reason or str(why)).replace("_", " ").lower()
        return "no TLS on that port" if reason in ("wrong version number", "http request") else f"TLS: {reason}"
    return why.strerror or str(why)


def stamp(path: Path) -> Stamp:
    """What changes when a file is written or replaced; None: there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
