"""TOML that a person wrote: read, with words for what is wrong in it."""

import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from collectors.source import SourceError
from collectors.whole_file import read_whole

MOST_BYTES = 64 << 20


def read_toml(path: Path) -> dict[str, Any]:
    """Raises `SourceError` naming the file and, for what is no TOML, the place."""
    try:
        return tomllib.loads(read_whole(path, MOST_BYTES)[0].decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as why:
        raise SourceError(f"{path}: not TOML: {why}") from why


def only(table: Mapping[str, Any], keys: Collection[str], where: str) -> None:
    """Raises `SourceError` for a key that is none of these; a misspelt one must not be passed over."""
    if unknown := sorted(set(table) - set(keys)):
        raise SourceError(f"{where}: no such key {unknown[0]!r}; there are {', '.join(sorted(keys))}")


def positive_seconds(table: Mapping[str, Any], key: str, where: str) -> float | None:
    """None where the key is not there. Raises `SourceError`."""
    value = table.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        raise SourceError(f"{where}: {key} is a positive number of seconds, not {value!r}")
    return float(value)
