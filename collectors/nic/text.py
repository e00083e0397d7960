"""The text of `ethtool -S` -> names and values."""

import re

_LINE = re.compile(r"\s+(?P<name>\S.*?):\s+(?P<value>-?\d+)\s*")
HEADER = "NIC statistics:"


def read_ethtool(text: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """(name, value) in their order, and (why, line) of what is neither. A last line without its end is not believed."""
    values: list[tuple[str, str]] = []
    unread: list[tuple[str, str]] = []
    *lines, rest = text.split("\n")
    for line in lines:
        if found := _LINE.fullmatch(line.rstrip("\r")):
            values.append((found["name"], found["value"]))
        elif line.strip() and line.strip() != HEADER:
            unread.append(("not `name: value`", line))
    if rest.strip():
        unread.append(("the last line has no end: it was cut", rest))
    return values, unread
