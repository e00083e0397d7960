"""A raw value of any form -> the number that a column holds, exactly, or the text that `named` keeps."""

import json
import math
import re
import struct
from collections.abc import Callable
from typing import Any

from collectors.fabric.vocabulary import Counter, state_codes

Raw = int | float | str | bytes | bool | list[Any] | dict[str, Any] | None
"""What arrives: gNMI's typed value or JSON, made a Python value."""
Value = int | float | str | None
Reader = Callable[[Raw], Value]

LONGEST = 4096
"""Characters of a text that are kept."""
_INTEGER = re.compile(r"[+-]?[0-9]+")
_PLAIN_INTEGER = re.compile(r"0|-?[1-9][0-9]*")
_SPEED = re.compile(r"(?:SPEED_)?(\d+)([MGT])B?")
_GBPS = {"M": 0.001, "G": 1.0, "T": 1000.0}


class Unreadable(ValueError):
    """The value is not of the counter's form."""


def number(raw: Raw) -> int | float:
    """Integers stay exact at any width, also as text; a fraction becomes a float. Raises `Unreadable`."""
    if isinstance(raw, bool):
        return int(raw)
    if isinstance(raw, int):
        if abs(raw) >= 2**128:
            raise Unreadable("a number beyond 128 bits")
        return raw
    if isinstance(raw, float):
        if not math.isfinite(raw):
            raise Unreadable(f"{raw} is no number")
        return int(raw) if raw.is_integer() and abs(raw) < 2**63 else raw
    if isinstance(raw, str):
        try:
            return number(int(raw) if _INTEGER.fullmatch(raw) else float(raw))
        except ValueError:  # `Unreadable` too: its words are of the number, not of what was sent
            raise Unreadable(f"{raw[:80]!r} is no number") from None
    if isinstance(raw, bytes) and len(raw) == 4:
        return number(float(struct.unpack(">f", raw)[0]))  # OpenConfig's ieeefloat32
    raise Unreadable(f"{str(raw)[:80]!r} is no number")


def ratio(raw: Raw) -> float:
    """As `number`, always a float: a column of ratios does not change type at zero."""
    return float(number(raw))


def flag(raw: Raw) -> int:
    """`true`/`false` in any dress -> 1/0. Raises `Unreadable`."""
    if isinstance(raw, str) and raw.lower() in ("true", "false"):
        return int(raw.lower() == "true")
    if raw in (0, 1):
        return int(bool(raw))
    raise Unreadable(f"{raw!r} is neither true nor false")


def text(raw: Raw) -> Value:
    """For `named`: numbers written as text become numbers if nothing is lost, anything else stays text."""
    if isinstance(raw, bool):
        return int(raw)
    if isinstance(raw, float):
        return raw if math.isfinite(raw) else str(raw)
    if isinstance(raw, str):
        return int(raw) if len(raw) < 19 and _PLAIN_INTEGER.fullmatch(raw) else raw[:LONGEST]
    if isinstance(raw, bytes):
        return raw[: LONGEST // 2].hex()
    if isinstance(raw, list | dict):
        try:
            return json.dumps(raw, separators=(",", ":"), default=str)[:LONGEST]
        except RecursionError:
            raise Unreadable("nested too deeply") from None
    return raw


def word(raw: Raw) -> Value:
    """A state without codes: its word, without a YANG module prefix (`openconfig-if-ethernet:SPEED_400GB`)."""
    return raw.rpartition(":")[2][:LONGEST] if isinstance(raw, str) else text(raw)


def reader(counter: Counter | None) -> tuple[Reader, bool]:
    """How values of a counter are read, and whether they are numbers that a column may hold."""
    if counter is None or counter.ignored:
        return text, False
    if counter.unit == "bool":
        return flag, True
    if counter.unit == "enum":
        codes = state_codes(counter.canonical)
        return (_coded(codes), True) if codes else (word, False)
    if counter.unit in ("text", "json", "event"):
        return text, False
    return (ratio if counter.unit in ("ratio", "dbm", "celsius", "ma") else number), True


def gbps(speed: Value) -> float | None:
    """`SPEED_400GB`, `400G` or 400000 (Mb/s) -> 400.0; None when the speed is not known."""
    if isinstance(speed, int | float):
        return speed / 1000 if speed > 0 else None
    found = _SPEED.fullmatch(speed) if isinstance(speed, str) else None
    if found is None:
        return None
    return int(found[1]) * _GBPS[found[2]]


def _coded(codes: dict[str, int]) -> Reader:
    def read(raw: Raw) -> int:
        if isinstance(raw, int):
            return int(raw)
        code = codes.get(raw.rpartition(":")[2].upper()) if isinstance(raw, str) else None
        if code is None:
            raise Unreadable(f"unknown state {raw!r}")
        return code

    return read
