"""Prometheus' text form, one line at a time: the slow and right way, used where a page's shape is new."""

import re

_SERIES = re.compile(r"\s*([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(?:\{(.*)\})?\s*")
_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(?:,|$)')
_TIMED = re.compile(r"(\s*[a-zA-Z_:][a-zA-Z0-9_:]*\s*(?:\{.*\})?)\s+(\S+)\s+-?\d+\s*")
_ESCAPED = re.compile(r"\\(.)")


def read_name(head: str) -> tuple[str, str] | None:
    """The name and the text between the braces of what stands before a value; None where it is neither."""
    found = _SERIES.fullmatch(head)
    return None if found is None else (found[1], found[2] or "")


def read_labels(block: str) -> dict[str, str] | None:
    """`label="value",...` without the braces; None where it is not that."""
    labels: dict[str, str] = {}
    place = 0
    while place < len(block):
        label = _LABEL.match(block, place)
        if label is None:
            return None if block[place:].strip() else labels
        labels[label[1]] = _unescape(label[2]) if "\\" in label[2] else label[2]
        place = label.end()
    return labels


def untimed(line: str) -> str:
    """The line without the timestamp that may stand after its value, and without space around it."""
    line = line.strip()
    head = line.rpartition(" ")[0]
    if head.endswith("}"):
        return line
    found = _TIMED.fullmatch(line)
    return line if found is None else f"{found[1]} {found[2]}"


def is_sample(line: str) -> bool:
    """Neither blank nor a comment."""
    return bool(line) and not line.isspace() and not line.lstrip().startswith("#")


def show_series(name: str, labels: dict[str, str]) -> str:
    """`NAME` or `NAME{a="1",b="2"}` with the labels sorted."""
    if not labels:
        return name
    inner = ",".join(f'{key}="{_escape(labels[key])}"' for key in sorted(labels))
    return f"{name}{{{inner}}}"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _unescape(value: str) -> str:
    return _ESCAPED.sub(lambda m: "\n" if m[1] == "n" else m[1], value)
