"""The switches to read: from options and from a file of targets."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collectors.fabric.series import Site
from collectors.fabric.site import lossless_priorities, site_of
from collectors.snmp.login import LOGIN_KEYS, Login, login
from collectors.snmp.presets import Preset, chosen, presets
from collectors.source import SourceError
from collectors.toml_file import only, read_toml

PORT = 161


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One switch."""

    name: str
    host: str
    port: int = PORT
    preset: Preset
    site: Site = field(default_factory=Site)
    login: Login

    @property
    def address(self) -> str:
        """As a person writes it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


_TEXT = ("name", "address", "preset", *LOGIN_KEYS)
_KEYS = {*_TEXT, "lossless"}


def targets(args: argparse.Namespace) -> list[Target]:
    """Every switch that the options name. Raises `SourceError`."""
    known = presets(args.presets)
    given = {key: getattr(args, key) for key in LOGIN_KEYS}
    site = site_of(args.lossless, ())
    preset = chosen(known, args.preset, "--preset")
    found: list[Target] = []
    if args.target:
        opened = login(given, "")
        for text in args.target:
            name, host, port = _named(text, f"--target {text}")
            found.append(Target(name=name, host=host, port=port, preset=preset, site=site, login=opened))
    if args.targets is not None:
        found += _read(args.targets, known, given, preset, site)
    if not found:
        raise SourceError("give --target HOST or --targets FILE; --file FILE with --once reads a walk")
    names = [target.name for target in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise SourceError(f"two targets are called {twice[0]!r}; write --target NAME=HOST")
    return found


def _named(text: str, where: str) -> tuple[str, str, int]:
    """`leaf1=10.0.0.1:161`, `10.0.0.1`, `[fd00::1]:1161` -> name, host and port."""
    name, sep, address = text.rpartition("=")
    host, port = address, str(PORT)
    if address.startswith("["):
        host, _, rest = address[1:].partition("]")
        port = rest.removeprefix(":") or port
    elif address.count(":") == 1:
        host, _, port = address.partition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536 or (sep and not name):
        raise SourceError(f"{where}: write [NAME=]HOST[:PORT], such as leaf1=10.0.0.1")
    return name or host, host, int(port)


def _read(
    path: Path, known: Mapping[str, Preset], given: Mapping[str, Any], preset: Preset, site: Site
) -> list[Target]:
    document = read_toml(path)
    tables = document.get("target")
    if not isinstance(tables, list) or len(document) != 1:
        raise SourceError(f"{path}: write a [[target]] table for each switch, and nothing else")
    out = []
    for number, table in enumerate(tables, start=1):
        where = f"{path}: [[target]] number {number}"
        if not isinstance(table, dict):
            raise SourceError(f"{where}: not a table")
        only(table, _KEYS, where)
        for key in _TEXT:
            if key in table and not isinstance(table[key], str):
                raise SourceError(f"{where}: {key} is text, not {table[key]!r}")
        out.append(_from_table(table, known, given, preset, site, where))
    return out


def _from_table(
    table: dict[str, Any],
    known: Mapping[str, Preset],
    given: Mapping[str, Any],
    preset: Preset,
    site: Site,
    where: str,
) -> Target:
    host_name, host, port = _named(table.get("address", ""), f"{where}: address")
    lossless = table.get("lossless")
    if not isinstance(lossless, list | None):
        raise SourceError(f"{where}: lossless is a list such as [3, 4]")
    if lossless is not None:
        site = Site(lossless=lossless_priorities(lossless, f"{where}: lossless"))
    own = {key: table[key] for key in LOGIN_KEYS if key in table}
    # A table that names a user has no use for a community given for the others, and the other way round.
    base = given if not {"user", "community_file"} & own.keys() else {**given, "user": None, "community_file": None}
    return Target(
        name=table.get("name", host_name),
        host=host,
        port=port,
        preset=chosen(known, table["preset"], f"{where}: preset") if "preset" in table else preset,
        site=site,
        login=login({**base, **own}, f"{where}: "),
    )
