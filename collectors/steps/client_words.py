"""How the client's numbers and objects are written. Part of the training client.

Steps are put together by hand, number by number: that is what keeps one at some microseconds.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any


def number(name: str, value: float | None) -> str:
    """`,"name":1.5`; nothing for None, infinity and NaN, which JSON does not have. Raises for what is no number."""
    if value is None:
        return ""
    value = float(value)
    return f',"{name}":{value!r}' if value - value == 0.0 else ""


def count(name: str, value: int | None) -> str:
    """`,"name":15`; nothing for None. Raises for what is no number."""
    return "" if value is None else f',"{name}":{int(value)}'


def numbers(name: str, values: Iterable[float] | None) -> str:
    """`,"name":[1.5,2.0]`, to the microsecond; nothing for None or where one is not finite. Raises for no number."""
    if values is None:
        return ""
    said = [float(value) for value in values]
    return "" if any(v - v != 0.0 for v in said) else f',"{name}":{[round(v, 6) for v in said]!r}'


def word(name: str, value: str | None) -> str:
    """`,"name":"text"`; nothing for None."""
    return "" if value is None else f',"{name}":{json.dumps(value)}'


def label(value: object) -> str | None:
    """A short name as it is told; None for None and for nothing."""
    return None if value is None else str(value)[:256] or None


def body(fields: Mapping[str, Any]) -> str:
    """The fields of an object without its braces. Raises for what JSON cannot hold."""
    return json.dumps(fields, separators=(",", ":"), allow_nan=False)[1:-1]


def reason(why: BaseException) -> str:
    """An error in one line."""
    return f"{type(why).__name__}: {why}"[:300]
