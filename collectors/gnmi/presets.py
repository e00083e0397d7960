"""Presets: what to subscribe to on a kind of switch."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from collectors.fabric.series import Every
from collectors.gnmi.mapping import Subscribed
from collectors.gnmi.path import PathSyntax, parse_path
from collectors.source import SourceError

BUILT_IN = Path(__file__).with_name("presets.toml")
Mode = Literal["STREAM", "POLL", "ONCE"]
"""Of the whole subscription: the switch sends by itself, when it is asked again, or once a call."""
PathMode = Literal["SAMPLE", "ON_CHANGE", "TARGET_DEFINED"]
Encoding = Literal["PROTO", "JSON_IETF", "JSON", "BYTES", "ASCII"]
_KEYS = {"encoding", "target", "origin", "mode", "subscribe"}
_SUBSCRIBE_KEYS = {"path", "mode", "interval", "refresh", "heartbeat", "suppress", "target", "beside"}


@dataclass(frozen=True, slots=True)
class Wanted:
    """One subscribed path. `interval_s` None: the collector's own interval; `target` None: the preset's."""

    path: str
    mode: PathMode = "SAMPLE"
    interval_s: float | None = None
    refresh_s: float | None = None
    heartbeat_s: float | None = None
    suppress: bool = False
    target: str | None = None
    beside: bool = False
    """Asked for on a call of its own, which may fail alone; so is every path of another target."""

    def every_s(self, interval_s: float) -> float | None:
        """How often a value comes even if it does not change; None: only when it does."""
        if self.mode == "SAMPLE" and not self.suppress:
            return self.interval_s or interval_s
        return self.heartbeat_s


@dataclass(frozen=True, slots=True)
class Preset:
    """A kind of switch."""

    name: str
    encoding: Encoding
    subscribe: tuple[Wanted, ...]
    target: str = ""
    origin: str = ""
    mode: Mode = "STREAM"

    def call_of(self, wanted: Wanted) -> tuple[str, bool]:
        """The prefix target under which a path is asked for, and whether on a call beside that of the counters."""
        target = self.target if wanted.target is None else wanted.target
        return target, wanted.beside or target != self.target

    def subscribed(self, interval_s: float) -> tuple[Subscribed, ...]:
        """How often values of each path come."""
        return tuple(
            Subscribed(
                parse_path(wanted.path),
                Every(_us(wanted.every_s(interval_s)), _us(wanted.refresh_s)),
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
    return Preset(
        name=name,
        encoding=cast(Encoding, _one_of(table, "encoding", get_args(Encoding), where)),
        subscribe=tuple(
            _wanted(entry, f"{where}: subscribe number {n}") for n, entry in enumerate(table["subscribe"], start=1)
        ),
        target=str(table.get("target", "")),
        origin=str(table.get("origin", "")),
        mode=cast(Mode, _one_of(table, "mode", get_args(Mode), where)),
    )


def _wanted(entry: Any, where: str) -> Wanted:
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str):
        raise SourceError(f"{where}: write {{ path = ... }}")
    _known(entry, _SUBSCRIBE_KEYS, where)
    try:
        parse_path(entry["path"])
    except PathSyntax as why:
        raise SourceError(f"{where}: {why}") from why
    target = entry.get("target")
    for key in ("suppress", "beside"):
        if not isinstance(entry.get(key, False), bool):
            raise SourceError(f"{where}: {key} is true or false, not {entry[key]!r}")
    if not isinstance(target, str | None):
        raise SourceError(f"{where}: target is text, not {target!r}")
    return Wanted(
        entry["path"],
        cast(PathMode, _one_of(entry, "mode", get_args(PathMode), where)),
        _seconds(entry, "interval", where),
        _seconds(entry, "refresh", where),
        _seconds(entry, "heartbeat", where),
        entry.get("suppress", False),
        target,
        entry.get("beside", False),
    )


def _one_of(table: dict[str, Any], key: str, known: tuple[str, ...], where: str) -> str:
    """The first where it is not given."""
    given = table.get(key, known[0])
    if given not in known:
        raise SourceError(f"{where}: {key} {given!r}; there are {', '.join(known)}")
    return str(given)


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


def _us(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1e6)
