"""gNMI's typed value -> a Python value. Each arm of the oneof is read as itself: another arm reads as 0."""

from typing import Any

import msgspec

from collectors.fabric.reading import Raw

_json = msgspec.json.Decoder()


class ValueForm(ValueError):
    """A value that cannot be taken apart, such as broken JSON."""


def plain(value: Any) -> Raw:
    """Integers of any width exactly; JSON taken apart; None where nothing is set. Raises `ValueForm`."""
    arm = value.WhichOneof("value")
    if arm is None:
        return None
    held = getattr(value, arm)
    if arm in ("string_val", "ascii_val"):
        return bytes(held).decode("utf-8", "replace")
    if arm in ("json_ietf_val", "json_val"):
        return read_json(held)
    if arm == "decimal_val":
        return decimal(held.digits, held.precision)
    if arm == "leaflist_val":
        return [plain(element) for element in held.element]
    if arm == "any_val":
        raise ValueForm("a protobuf Any, whose type is not known here")
    return held  # type: ignore[no-any-return]


def read_json(raw: bytes) -> Raw:
    """Raises `ValueForm`."""
    try:
        return _json.decode(raw)  # type: ignore[no-any-return]
    except (msgspec.DecodeError, UnicodeDecodeError) as why:
        raise ValueForm(f"broken JSON: {why}") from why
    except RecursionError:
        raise ValueForm("JSON nested too deeply") from None


def decimal(digits: int, precision: int) -> int | float:
    """Decimal64: `digits` / 10^`precision`."""
    return digits if precision == 0 else digits / 10**precision
