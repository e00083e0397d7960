"""Values of a result as people and programs read them."""

import base64
import datetime
import math
import struct
from decimal import Decimal
from typing import Any
from uuid import UUID

CUT = 60
"""Most characters of one cell when many columns stand side by side."""


def cell(value: Any) -> str:
    """A value in a table: times in UTC with Z, NULL said, line breaks shown."""
    if value is None:
        return "NULL"
    if isinstance(value, list):
        return "[" + ", ".join(map(cell, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {cell(part)}" for key, part in value.items()) + "}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, datetime.datetime):
        return plain(value).replace("T", " ")  # type: ignore[no-any-return]
    return str(plain(value)).replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")


def number(value: float) -> str:
    """Seven digits, as the single-precision columns hold; whole numbers in full."""
    if math.isfinite(value) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.7g}"


def single(value: float | None) -> float | None:
    """A single-precision number with the fewest digits that still mean it: 608.389, not 608.3889770507812."""
    if value is None or not math.isfinite(value):
        return None
    for digits in (6, 7, 8):
        short = float(f"{value:.{digits}g}")
        if struct.pack("f", short) == struct.pack("f", value):
            return short
    return value


def plain(value: Any) -> Any:
    """A value that JSON knows: ISO 8601 times, base64 bytes, null for what is not a number."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case datetime.datetime():
            return value.isoformat().replace("+00:00", "Z")
        case datetime.date() | datetime.time() | UUID():
            return str(value)
        case datetime.timedelta():
            return value.total_seconds()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case bytes():
            return base64.b64encode(value).decode()
        case list() | tuple():
            return [plain(part) for part in value]
        case dict():
            return {str(key): plain(part) for key, part in value.items()}
    return str(value)
