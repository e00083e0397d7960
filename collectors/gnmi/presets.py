"""Presets: what to subscribe to on a kind of switch, and the request that says so."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from collectors.fabric.series import Every
from collectors.gnmi.mapping import Subscribed
from collectors.gnmi.path import PathSyntax, parse_path
from collectors.source import SourceError

BUILT_IN = Path(__file__).with_name("presets.toml")
MODES = {"TARGET_DEFINED": 0, "ON_CHANGE": 1, "SAMPLE": 2}
ENCODINGS = {"JSON": 0, "BYTES": 1, "PROTO": 2, "ASCII": 3, "JSON_IETF": 4}
_KEYS = {"encoding", "target", "origin", "subscribe"}
_SUBSCRIBE_KEYS = {"path", "mode", "interval", "refresh"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """One subscribed path. `interval_s` None: the collector's own interval."""

    path: str
    mode: str = "SAMPLE"
    interval_s: float | None = None
    refresh_s: float | None = None


@dataclass(frozen=True, slots=True)
class Preset:
    """A kind of switch."""

    name: str
    encoding: str
    subscribe: tuple[Wanted, ...]
    target: str = ""
    origin: str = ""

    def request(self, interval_s: float) -> bytes:
        """The SubscribeRequest: STREAM."""
        from collectors.gnmi import wire
        from collectors.gnmi.path import GnmiPath, write_path

        request = wire.SubscribeRequest()
        listed = request.subscribe
        listed.encoding = ENCODINGS[self.encoding]
        if self.target:
            listed.prefix = write_path(GnmiPath(target=self.target))
        for wanted in self.subscribe:
            path = parse_path(wanted.path)
            added = listed.subscription.add(
                path=write_path(GnmiPath(path.elems, path.origin or self.origin)), mode=MODES[wanted.mode]
            )
            if wanted.mode == "SAMPLE":
                added.sample_interval = round((wanted.interval_s or interval_s) * 1e9)
        return bytes(request.SerializeToString())

    def subscribed(self, interval_s: float) -> tuple[Subscribed, ...]:
        """How often values of each path come."""
        return tuple(
            Subscribed(
                parse_path(wanted.path),
                Every(
                    _us(wanted.interval_s or interval_s) if wanted.mode == "SAMPLE" else None,
                    None if wanted.refresh_s is None else _us(wanted.refresh_s),
                ),
            )
            for wanted in self.subscribe
        )


def presets(path: Path | None) -> dict[str, Preset]:
    """The built-in presets, under those of a site's own file. Raises `SourceError` naming the file and key."""
    found = _read(BUILT_IN)
    return found if path is None else {**found, **_read(path)}


def _read(path: Path) -> dict[str, Preset]:
    try:
        document = tomllib.loads(path.read_text())
    except OSError as why:
        raise SourceError(f"{path}: {why.strerror}") from why
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as why:
        raise SourceError(f"{path}: not TOML: {why}") from why
    return {name: _preset(name, table, f"{path}: [{name}]") for name, table in document.items()}


def _preset(name: str, table: Any, where: str) -> Preset:
    if not isinstance(table, dict) or not isinstance(table.get("subscribe"), list):
        raise SourceError(f"{where}: write a table with subscribe = [{{ path = ... }}, ...]")
    _known(table, _KEYS, where)
    encoding = table.get("encoding", "PROTO")
    if encoding not in ENCODINGS:
        raise SourceError(f"{where}: encoding {encoding!r}; there are {', '.join(ENCODINGS)}")
    return Preset(
        name=name,
        encoding=encoding,
        subscribe=tuple(
            _wanted(entry, f"{where}: subscribe number {n}") for n, entry in enumerate(table["subscribe"], start=1)
        ),
        target=str(table.get("target", "")),
        origin=str(table.get("origin", "")),
    )


def _wanted(entry: Any, where: str) -> Wanted:
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
        raise SourceError(f"{where}: write {{ path = ... }}")
    _known(entry, _SUBSCRIBE_KEYS, where)
    try:
        parse_path(entry["path"])
    except PathSyntax as why:
        raise SourceError(f"{where}: {why}") from why
    mode = entry.get("mode", "SAMPLE")
    if mode not in MODES:
        raise SourceError(f"{where}: mode {mode!r}; there are {', '.join(MODES)}")
    return Wanted(entry["path"], mode, _seconds(entry, "interval", where), _seconds(entry, "refresh", where))


def _seconds(entry: dict[str, Any], key: str, where: str) -> float | None:
    value = entry.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise SourceError(f"{where}: {key} is a positive number of seconds, not {value!r}")
    return float(value)


def _known(table: dict[str, Any], keys: set[str], where: str) -> None:
    if unknown := sorted(set(table) - keys):
        raise SourceError(f"{where}: no such key {unknown[0]!r}; there are {', '.join(sorted(keys))}")


def _us(seconds: float) -> int:
    return round(seconds * 1e6)
