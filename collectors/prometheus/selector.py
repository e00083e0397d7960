"""PromQL selectors: all metrics in one query, of some hosts at a time."""

import re
from collections.abc import Sequence

from collectors.source import SourceError

_MATCH = re.compile(r"\s*\{?(.*?)\}?\s*", re.DOTALL)
_META = re.compile(r"([.+*?()|\[\]{}^$\\])")


def quote(text: str) -> str:
    """A string of PromQL."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def one_of(label: str, values: Sequence[str]) -> str:
    """A matcher for any of these values."""
    if len(values) == 1:
        return f"{label}={quote(values[0])}"
    joined = "|".join(_META.sub(r"\\\1", value) for value in values)
    return f"{label}=~{quote(joined)}"


def matchers(match: str) -> str:
    """What stands between the braces of `--match`. Raises `SourceError`."""
    inner = _MATCH.fullmatch(match)
    text = "" if inner is None else inner[1].strip().rstrip(",")
    if not text or "{" in text.split('"')[0] or "=" not in text:
        raise SourceError(f"--match {match}: write label matchers, such as '{{cluster=\"prod\"}}'")
    return text


def select(*parts: str, match: Sequence[str] = ()) -> list[str]:
    """Selectors that have these matchers in common, one for each `match`: what any of them selects is wanted."""
    each = [",".join((*parts, more)) for more in match] or [",".join(parts)]
    return [f"{{{text}}}" for text in each]
