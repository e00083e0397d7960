"""Times as people write them, and the windows that an import is cut into."""

import datetime
import re
from collections.abc import Iterator
from itertools import pairwise

from collectors.contract.message import END_US
from collectors.source import SourceError

_AGO = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d|w)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}


def read_time(option: str, text: str, now_s: float) -> float:
    """Unix seconds before the year 10000, from `now`, `30d` (ago; also s, m, h, w), ISO 8601 (UTC where it names no
    zone) or Unix seconds.

    Raises `SourceError`.
    """
    if text == "now":
        return now_s
    moment = _seconds(option, text, now_s)
    if not 0.0 <= moment < END_US / 1e6:
        raise SourceError(f"{option} {text}: no time between 1970 and the year 10000")
    return moment


def _seconds(option: str, text: str, now_s: float) -> float:
    ago = _AGO.fullmatch(text)
    if ago is not None:
        return now_s - float(ago[1]) * _SECONDS[ago[2]]
    if _NUMBER.fullmatch(text):
        return float(text)
    try:
        moment = datetime.datetime.fromisoformat(text)
    except ValueError:
        raise SourceError(f"{option} {text}: write 2026-10-01, 2026-10-01T12:00Z, 30d (ago) or now") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)).timestamp()


def grid(from_s: float, to_s: float, step_s: float) -> tuple[int, int]:
    """The first step and the one after the last, counted from 1970: servers that move times to multiples of the step
    (VictoriaMetrics, the query front ends of Thanos and Mimir) then have nothing to move."""
    first = -int(-from_s // step_s)
    return first, max(first, -int(-to_s // step_s))


def native_step(times_s: list[float]) -> float | None:
    """The usual distance of a series' samples in whole seconds, or in milliseconds below one; None: too few."""
    gaps = sorted(later - sooner for sooner, later in pairwise(times_s))
    if len(gaps) < 2:
        return None
    gap = gaps[len(gaps) // 2]
    return max(1.0, round(gap)) if gap >= 0.75 else max(0.001, round(gap, 3))


def groups(values: list[str], size: int) -> Iterator[list[str]]:
    """So many at a time."""
    for start in range(0, len(values), size):
        yield values[start : start + size]
