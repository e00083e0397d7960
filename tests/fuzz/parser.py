"""What a parser declares to be fuzzed."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Parser:
    """A source's own way from bytes to messages, with its handling of bad input.

    `parse` must never raise. `numbers` gives place -> value of what it returned: an input that was cut off must
    not yield a number that differs from the whole input's at the same place.
    """

    name: str
    seeds: tuple[bytes, ...]
    parse: Callable[[bytes], Any]
    numbers: Callable[[Any], Mapping[Hashable, float | None]] | None = None
