"""The switches to read: from options and from a file of targets."""

import argparse
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collectors.fabric.series import Site
from collectors.fabric.site import lossless_priorities, queue_numbers, site_of
from collectors.gnmi.presets import Preset, presets
from collectors.gnmi.settings import gnmi_settings
from collectors.source import SourceError


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """How a switch is reached. Without `insecure` its certificate is checked."""

    insecure: bool = False
    ca: bytes | None = None
    cert: bytes | None = None
    key: bytes | None = None
    tls_name: str | None = None
    username: str | None = None
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One switch."""

    name: str
    address: str
    preset: Preset
    site: Site = field(default_factory=Site)
    access: Access = field(default_factory=Access)


_TEXT = ("name", "address", "preset", "tls_name", "username", "password_file", "ca", "cert", "key")
_TABLE_KEYS = {*_TEXT, "lossless", "queues", "insecure"}


def targets(args: argparse.Namespace) -> list[Target]:
    """Every switch that the options name. Raises `SourceError`."""
    known = presets(args.presets)
    access = _access({key: getattr(args, key) for key in (*_ACCESS_FILES, *_ACCESS_PLAIN)}, "")
    site = site_of(args.lossless, args.queue)
    preset = _preset(known, args.preset, "--preset")
    found = [
        Target(name=name, address=address, preset=preset, site=site, access=access)
        for name, address in map(_named, args.target)
    ]
    if args.targets is not None:
        found += _read(args.targets, known, Target(name="", address="", preset=preset, site=site, access=access))
    if not found:
        raise SourceError("give --target HOST:PORT or --targets FILE")
    names = [target.name for target in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise SourceError(f"two targets are called {twice[0]!r}; write --target NAME=HOST:PORT")
    return found


_ACCESS_FILES = ("ca", "cert", "key", "password_file")
_ACCESS_PLAIN = ("insecure", "tls_name", "username")


def _access(given: Mapping[str, Any], where: str) -> Access:
    held = {key: _file(given.get(key), where or f"--{key.replace('_', '-')} ") for key in _ACCESS_FILES}
    if (held["cert"] is None) != (held["key"] is None):
        raise SourceError(f"{where}a client certificate and its key are given together")
    password = held.pop("password_file")
    settings = gnmi_settings()
    return Access(
        insecure=bool(given.get("insecure")),
        tls_name=given.get("tls_name"),
        username=given.get("username") or settings.username,
        password=settings.password if password is None else password.decode().rstrip("\r\n"),
        **held,
    )


def _file(path: Any, where: str) -> bytes | None:
    if path is None:
        return None
    try:
        return Path(path).read_bytes()
    except OSError as why:
        raise SourceError(f"{where}{path}: {why.strerror}") from why


def _named(text: str) -> tuple[str, str]:
    """`leaf1=10.0.0.1:6030` -> name and address; without a name the host is the name."""
    name, sep, address = text.rpartition("=")
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536 or (sep and not name):
        raise SourceError(f"--target {text}: write [NAME=]HOST:PORT, such as leaf1=10.0.0.1:6030")
    return name or host.strip("[]"), address


def _preset(known: Mapping[str, Preset], name: str, where: str) -> Preset:
    if name not in known:
        raise SourceError(f"{where} {name}: no such preset; there are {', '.join(known)}")
    return known[name]


def _read(path: Path, known: Mapping[str, Preset], default: Target) -> list[Target]:
    try:
        document = tomllib.loads(path.read_text())
    except OSError as why:
        raise SourceError(f"{path}: {why.strerror}") from why
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as why:
        raise SourceError(f"{path}: not TOML: {why}") from why
    tables = document.get("target")
    if not isinstance(tables, list) or len(document) != 1:
        raise SourceError(f"{path}: write a [[target]] table for each switch, and nothing else")
    return [
        _from_table(table, known, default, f"{path}: [[target]] number {number}")
        for number, table in enumerate(tables, start=1)
    ]


def _from_table(table: dict[str, Any], known: Mapping[str, Preset], default: Target, where: str) -> Target:
    if unknown := sorted(set(table) - _TABLE_KEYS):
        raise SourceError(f"{where}: no such key {unknown[0]!r}; there are {', '.join(sorted(_TABLE_KEYS))}")
    for key in _TEXT:
        if key in table and not isinstance(table[key], str):
            raise SourceError(f"{where}: {key} is text, not {table[key]!r}")
    try:
        host, address = _named(table.get("address", ""))
    except SourceError:
        raise SourceError(f'{where}: write address = "HOST:PORT"') from None
    lossless, queues = table.get("lossless"), table.get("queues")
    if not isinstance(lossless, list | None) or not isinstance(queues, dict | None):
        raise SourceError(f"{where}: lossless is a list such as [3, 4], queues a table such as {{ RDMA = 3 }}")
    site = Site(
        lossless=default.site.lossless if lossless is None else lossless_priorities(lossless, f"{where}: lossless"),
        queues=default.site.queues if queues is None else queue_numbers(queues, f"{where}: queues"),
    )
    own = {key for key in (*_ACCESS_FILES, *_ACCESS_PLAIN) if key in table}
    return Target(
        name=table.get("name", host),
        address=address,
        preset=_preset(known, table["preset"], f"{where}: preset") if "preset" in table else default.preset,
        site=site,
        access=_merged(default.access, table, own, where) if own else default.access,
    )


def _merged(default: Access, table: dict[str, Any], own: set[str], where: str) -> Access:
    given = _access(table, f"{where}: ")
    keep = {
        key: getattr(given if key in own else default, key)
        for key in ("insecure", "tls_name", "username", "ca", "cert", "key")
    }
    return Access(**keep, password=given.password if "password_file" in own else default.password)
