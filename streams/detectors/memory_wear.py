"""Spare rows that go, and the driver's own complaint: what makes a trend of corrected errors more than a trend."""

from collections.abc import Mapping
from dataclasses import dataclass

from streams.contract import Evidence
from streams.detectors.memory_fields import BANKS, CORRECTED_ROWS, UNCORRECTED_ROWS
from streams.detectors.memory_rate import Rate
from streams.detectors.memory_state import WEAR_DAYS, Wear
from streams.detectors.memory_trend import DAY_US


@dataclass(frozen=True, slots=True, kw_only=True)
class WearLimits:
    """How long the signs count, and what there is to use up."""

    days: int = 7
    """So long a notice of the driver or a lost spare row speaks with the trend (own choice: a trend's own span)."""
    rows: float = 512.0
    """NVIDIA GPU Memory Error Management: the most rows that a GPU remaps."""
    slope_rows: float = 2.0
    """Rows or steps in 28 days that make a slope worth telling (own choice): one is no pace."""


def signs(wear: Wear | None, now_us: int, limits: WearLimits) -> list[Evidence]:
    """What the last days show, each with its number."""
    if wear is None:
        return []
    notices = recent(wear.notices, now_us, limits.days)
    rows, banks = recent(wear.corrected_rows, now_us, limits.days), recent(wear.banks, now_us, limits.days)
    found = []
    if notices > 0:
        found.append(Evidence(what="XID 92: the driver finds the rate high", value=notices, unit="times"))
    if rows > 0:
        found.append(Evidence(what="rows newly remapped for corrected errors", value=rows, unit="rows"))
    if banks > 0:
        found.append(Evidence(what="steps that memory banks went down in spare rows", value=banks, unit="steps"))
    return found


def words(wear: Wear | None, now_us: int, limits: WearLimits) -> list[str]:
    """The same signs for a headline."""
    if wear is None:
        return []
    said: dict[str, Mapping[int, float]] = {
        "the driver finds their rate high (XID 92)": wear.notices,
        "rows are remapped for them": wear.corrected_rows,
        "memory banks lose spare rows": wear.banks,
    }
    return [said_so for said_so, by_day in said.items() if recent(by_day, now_us, limits.days) > 0]


def outlook(
    wear: Wear | None, now: Mapping[str, float], now_us: int, days: float, limits: WearLimits
) -> list[Evidence]:
    """How long the spare rows last at the pace of the last weeks. `now`: field -> reading; `days`: how long known."""
    if wear is None:
        return []
    span = min(max(days, 1.0), WEAR_DAYS)
    found = []
    gone = recent(wear.corrected_rows, now_us, WEAR_DAYS) + recent(wear.uncorrected_rows, now_us, WEAR_DAYS)
    used = now.get(CORRECTED_ROWS, 0.0) + now.get(UNCORRECTED_ROWS, 0.0)
    if gone >= limits.slope_rows and used < limits.rows:
        found.append(_left(f"the {limits.rows:.0f} rows that may be remapped", limits.rows - used, gone, span))
    steps = recent(wear.banks, now_us, WEAR_DAYS)
    worst = max((step for field, step in BANKS.items() if now.get(field, 0.0) > 0.0), default=0)
    left = max(BANKS.values()) - worst
    if steps >= limits.slope_rows and left > 0:
        found.append(_left("the spare rows of the worst bank, were it hit alone,", float(left), steps, span))
    return found


def recent(by_day: Mapping[int, float], now_us: int, days: int) -> float:
    """The sum of the last days, today included."""
    today = now_us // DAY_US
    return float(sum(n for day, n in by_day.items() if today - days < day <= today))


def _left(what: str, left: float, gone: float, days: float) -> Evidence:
    rate = Rate(gone + 0.5, days)  # Jeffreys' prior: little is known of the pace of a single GPU
    slow, fast = rate.bounds()
    return Evidence(
        what=f"forecast: days that {what} last at this pace (5 % to 95 %: {left / fast:.0f} to {left / slow:.0f})",
        value=left / rate.per_day,
        unit="days",
    )
