"""Values as Slurm's data parsers write them, old and new."""

from typing import Any

from collectors.contract.message import END_US


def whole(value: Any) -> int | None:
    """Bare, or in the shape of newer data parsers; None: not set, infinite, or no number."""
    if isinstance(value, dict):
        value = value.get("number") if value.get("set") and not value.get("infinite") else None
    if isinstance(value, str) and value.isdecimal() and len(value) < 19:
        value = int(value)
    is_whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53
    return value if is_whole else None


def moment(value: Any) -> int | None:
    """Seconds since 1970; Slurm writes 0 where there is no time yet."""
    found = whole(value)
    return found if found and found * 1_000_000 < END_US else None


def complaint(one: Any) -> str:
    """One entry of `errors`."""
    if not isinstance(one, dict):
        return str(one)[:200]
    return str(one.get("description") or one.get("error") or "Slurm reports an error")[:200]


def words(value: Any) -> list[str]:
    """A list of texts, or one text with commas or blanks."""
    if isinstance(value, list):
        return [one for one in value if isinstance(one, str) and one]
    return value.replace(",", " ").split() if isinstance(value, str) else []
