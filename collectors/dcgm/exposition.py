"""Prometheus' text form and OpenMetrics, one line at a time: the slow and right way, where a page's shape is new."""

import re
from typing import NamedTuple

from collectors.contract.message import END_US

_SERIES = re.compile(r"\s*([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(?:\{(.*)\})?\s*", re.DOTALL)
_LABEL = re.compile(r'\s*+([a-zA-Z_][a-zA-Z0-9_]*+)\s*+=\s*+"((?:[^"\\]++|\\.)*+)"\s*+(?:,|$)')
_HEAD = r'[a-zA-Z_:][a-zA-Z0-9_:]*+(?:\s*+\{(?:[^"}]++|"(?:[^"\\]++|\\.)*+")*+\}|(?=\s))'
_FULL = re.compile(rf"({_HEAD})\s*(\S+)(?:\s+(-?[0-9][0-9.eE+]*))?(?:\s+#\s.*)?")
"""Name and labels, the value, then perhaps a timestamp and perhaps an exemplar."""
_ESCAPED = re.compile(r"\\(.)")


class Line(NamedTuple):
    """A line in parts: what stands before the value, the value, the timestamp as it is written."""

    head: str
    text: str
    time: str | None = None


def read_line(line: str) -> Line:
    """The parts of a sample's line. Of one that is no sample they are parts of no meaning."""
    line = line.strip()
    head, _, text = line.rpartition(" ")
    if head.endswith("}") and " # " not in line:
        return Line(head, text)
    found = _FULL.fullmatch(line)
    return Line(head, text) if found is None else Line(found[1], found[2], found[3])


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


def read_time_us(text: str, openmetrics: bool) -> int | None:
    """A timestamp in microseconds: seconds in OpenMetrics, milliseconds in Prometheus' form.

    None: no time, or none that a message may have.
    """
    try:
        time_us = int(float(text) * 1e6) if openmetrics else int(text) * 1000
    except (ValueError, OverflowError):
        return None
    return time_us if 0 <= time_us < END_US else None


def is_sample(line: str) -> bool:
    """Neither blank nor a comment."""
    return bool(line) and not line.isspace() and not line.lstrip().startswith("#")


def is_openmetrics(lines: list[str]) -> bool:
    """OpenMetrics ends with `# EOF`; Prometheus' form knows no such line."""
    return next((line for line in reversed(lines) if line and not line.isspace()), "").rstrip() == "# EOF"


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
