"""One TOML file with every limit of the detectors: read, checked, and explained with the sources of the numbers.

A section is a detector (`[memory]`), a table in it a group of limits (`[memory.trend]`); `shadow = true` judges and
stores but tells nobody, `on = false` does not judge at all. Times stand in seconds (`hold_s` for `hold_us`).
"""

import dataclasses
import difflib
import math
import tomllib
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from collectors.contract.errors import UserError
from streams.correlator_limits import CorrelatorLimits
from streams.detectors.all import SPECS, Choice
from streams.fabric_joins_state import JoinLimits
from streams.health_limits import HealthLimits
from streams.node_states import FleetLimits

SWITCHES = ("shadow", "on")
JUDGES: dict[str, Callable[[], Any]] = {
    "correlator": CorrelatorLimits,
    "fabric_joins": JoinLimits,
    "health": HealthLimits,
    "fleet": FleetLimits,
}
"""What judges findings: sections without switches."""
SECTIONS: dict[str, Callable[[], Any]] = {spec.section: spec.limits for spec in SPECS} | JUDGES
"""Section -> its limits by default."""


class LimitsError(UserError):
    """A limits file that cannot be used; the text names the file, the key and what to write."""


def load(path: Path) -> dict[str, Choice]:
    """Every section of a file; sections that it leaves out keep their defaults. Raises `LimitsError`."""
    try:
        document = tomllib.loads(path.read_text())
    except (OSError, UnicodeDecodeError) as why:
        raise LimitsError(f"{path}: cannot be read: {why}") from why
    except tomllib.TOMLDecodeError as why:
        raise LimitsError(f"{path}: not TOML: {why}") from why
    return parse(document, str(path))


def parse(document: Mapping[str, Any], where: str) -> dict[str, Choice]:
    """The sections of a document. Raises `LimitsError`."""
    out: dict[str, Choice] = {}
    for section, values in document.items():
        if section not in SECTIONS:
            raise LimitsError(f"{where}: [{section}]: no such section{_near(section, SECTIONS)}")
        if not isinstance(values, dict):
            raise LimitsError(f"{where}: {section}: not a section; write [{section}]")
        switches = {name: values[name] for name in SWITCHES if name in values and section not in JUDGES}
        for name, value in switches.items():
            if not isinstance(value, bool):
                raise LimitsError(f"{where}: {section}.{name}: {value!r} is not true or false")
        rest = {name: value for name, value in values.items() if name not in switches}
        limits = _read(SECTIONS[section](), rest, f"{where}: {section}")
        out[section] = Choice(limits=limits, **switches)
    return out


def seconds_name(name: str) -> str:
    """How a limit is called in the file: `hold_us` is `hold_s`."""
    return f"{name.removesuffix('_us')}_s" if name.endswith("_us") else name


def seconds(name: str, value: Any) -> Any:
    """A limit as the file shows it."""
    if not name.endswith("_us") or not isinstance(value, int):
        return value
    return value // 1_000_000 if value % 1_000_000 == 0 else value / 1e6


def _read(default: Any, values: Mapping[str, Any], where: str) -> Any:
    """A limits dataclass with some of its values replaced."""
    kinds = typing.get_type_hints(type(default))
    known = {seconds_name(f.name): f.name for f in dataclasses.fields(default)}
    changed: dict[str, Any] = {}
    for key, value in values.items():
        if key not in known:
            raise LimitsError(f"{where}.{key}: no such limit{_near(key, known)}")
        name = known[key]
        now = getattr(default, name)
        if dataclasses.is_dataclass(now):
            if not isinstance(value, dict):
                raise LimitsError(f"{where}.{key}: not a table; write [{where.rpartition(': ')[2]}.{key}]")
            changed[name] = _read(now, value, f"{where}.{key}")
        else:
            changed[name] = _value(kinds[name], value, name, f"{where}.{key}")
    return dataclasses.replace(default, **changed)


def _value(kind: Any, value: Any, name: str, where: str) -> Any:
    origin, inside = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return _value(next(k for k in inside if k is not type(None)), value, name, where)
    if origin in (tuple, frozenset, list, set):
        if not isinstance(value, list):
            raise LimitsError(f"{where}: {value!r} is not a list; write [1, 2]")
        return origin(_value(inside[0], item, name, where) for item in value)
    if origin is dict:
        if not isinstance(value, dict):
            raise LimitsError(f"{where}: {value!r} is not a table; write [{where.rpartition(': ')[2]}]")
        return {str(key): _value(inside[1], item, name, f"{where}.{key}") for key, item in value.items()}
    if kind is bool:
        if not isinstance(value, bool):
            raise LimitsError(f"{where}: {value!r} is not true or false")
        return value
    if kind is str:
        if not isinstance(value, str):
            raise LimitsError(f"{where}: {value!r} is not a text; write it in quotes")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        raise LimitsError(f"{where}: {value!r} is not a number of 0 or more")
    if name.endswith("_us"):
        return round(value * 1_000_000)
    if kind is int:
        if value != int(value):
            raise LimitsError(f"{where}: {value!r} is not a whole number")
        return int(value)
    return float(value)


def _near(word: str, known: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(word, known, 1)
    return f"; did you mean {close[0]}?" if close else f"; there is {', '.join(sorted(known))}"
