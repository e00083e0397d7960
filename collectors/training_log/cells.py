"""Numbers as frameworks print them."""

import re

_NUMBER = re.compile(r"\s*([+-]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?=[\s/%]|$)")
WHOLE = 1 << 53


def number(text: str | None) -> float | None:
    """The number that a cell begins with: `1,024.5`, `4.8E-05`, `402.1/401.9` (now/mean: the first); `99.2GB` is none.

    None for what is none, or not finite.
    """
    if text is None:
        return None
    found = _NUMBER.match(text)
    if found is None:
        return None
    value = float(found[1].replace(",", ""))
    return value if abs(value) < float("inf") else None


def positive(text: str | None) -> float | None:
    """As `number`, where zero or less says that nothing was measured."""
    value = number(text)
    return value if value is not None and value > 0 else None


def whole(text: str | None) -> int | None:
    """A count: `1,024`, `2560`, `128.0`. None for what is none."""
    value = number(text)
    return int(value) if value is not None and 0 <= value < WHOLE and value == int(value) else None
