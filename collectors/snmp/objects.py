"""What can be read: a column of a table, how its rows name a port, and the counter that it stands for."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from collectors.fabric.series import Every, Series
from collectors.fabric.vocabulary import Counter, counter_table
from collectors.snmp.oid import Numbers, encode

_FILE = Path(__file__).with_name("objects.csv")


class IndexSyntax(ValueError):
    """How rows name their port is not written as it must be."""


@dataclass(frozen=True, slots=True)
class Object:
    """One column. `index`: what the numbers behind its identifier mean, in order.

    `if` the ifIndex; `n` a priority, queue or group; `n-1` the same counted from one; `=2` that number and no other.
    """

    name: str
    oid: bytes
    index: tuple[str, ...]
    counter: Counter | None

    def place(self, suffix: Numbers) -> tuple[int, str | None] | None:
        """ifIndex and index of an instance; None where it is none of ours."""
        if len(suffix) != len(self.index):
            return None
        port, index = 0, None if self.counter is None else self.counter.index
        for meaning, number in zip(self.index, suffix, strict=True):
            if meaning == "if":
                port = number
            elif meaning == "n":
                index = str(number)
            elif meaning == "n-1":
                index = str(number - 1)
            elif int(meaning[1:]) != number:
                return None
        return port, index

    def series(self, port: str, index: str | None, every: Every) -> Series:
        """The series of one instance."""
        return Series(port, self.name, index, self.counter, every)


def read_index(text: str) -> tuple[str, ...]:
    """`if.n` and the like. Raises `IndexSyntax`."""
    parts = tuple(text.split("."))
    good = all(part in ("if", "n", "n-1") or (part[:1] == "=" and part[1:].isdecimal()) for part in parts)
    if not good or parts.count("if") != 1:
        raise IndexSyntax(f"index {text!r}: write if, if.n or such as if.=2.n-1.=5")
    return parts


@cache
def objects() -> dict[str, Object]:
    """Every built-in object by its name, such as `IF-MIB::ifHCInOctets`."""
    return {found.name: found for found in _read()}


def _read() -> Iterator[Object]:
    table = counter_table("snmp")
    with _FILE.open(newline="") as lines:
        for row in csv.DictReader(lines):
            yield Object(row["name"], encode(row["oid"]), read_index(row["index"]), table.find(row["name"]))
