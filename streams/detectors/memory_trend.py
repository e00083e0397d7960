"""The trend of corrected memory errors of one GPU: events and event-days, not raw counts."""

import math
from dataclasses import dataclass
from typing import Literal

from msgspec import Struct, field

from streams.gpus import is_old

MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US

TrendLevel = Literal["none", "burst", "growth", "storm"]
_ORDER: tuple[TrendLevel, ...] = ("none", "burst", "growth", "storm")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendLimits:
    """NVIDIA publishes no limit for corrected errors; the driver's own notice (Xid 92) has no number either.

    Field data: 95 % of Ampere GPUs have none, the rest about 0.01 events a GPU-day with bursts up to 1e5 a day
    (arXiv 2508.03513), so a count alone says little, and three event-days in a week are no chance. Numbers
    without a source are this project's choice, made to tell one burst from errors that keep coming.
    """

    storm_per_s: float = 100.0
    """A rate at which correcting itself costs time; two scrapes in a row, so one burst is not it."""
    storm_scrapes: int = 2
    window_us: int = 5 * MINUTE_US
    bucket_us: int = 5_000_000
    buckets: int = 4
    """Growth must show in so many buckets of the window: one burst fills one or two."""
    steady_errors: float = 100.0
    steady_span_us: int = 30_000_000
    speeding_errors: float = 30.0
    speeding_ratio: float = 1.5
    """Errors of the second half of the growth over those of the first."""
    speeding_sigma: float = 3.0
    """The difference of the halves in Poisson standard deviations: a steady rate seldom looks like this."""
    speeding_span_us: int = 20_000_000
    event_gap_us: int = HOUR_US
    """So long without growth ends an event."""
    burst_errors: float = 10.0
    """Fewer in one event are not worth a word."""
    day_errors: float = 10.0
    """Fewer on one day do not make it an event-day."""
    event_days: int = 3
    event_days_of: int = 7
    doubling_errors: float = 100.0
    """A day's sum that doubles counts from so many on the day before."""


class Trend(Struct):
    """What is remembered of one GPU's corrected errors. Changes only when they grow, or when time ends something."""

    days: dict[int, float] = field(default_factory=dict)
    """Days since 1970 (UTC) -> errors, the last days only."""
    started_us: int = 0
    last_us: int = 0
    """The last growth; what is not later was counted already."""
    errors: float = 0.0
    """Of the present event."""
    reached: TrendLevel = "none"
    """The gravest level of the present event."""
    recent: list[tuple[int, float]] = field(default_factory=list)
    """Bucket -> errors, within the window."""
    fast: int = 0
    """Scrapes in a row at storm rate."""
    rate_per_s: float = 0.0
    """At the last growth."""


def grow(trend: Trend, errors: float, since_us: int, ts_us: int, limits: TrendLimits) -> None:
    """Take errors that came between two scrapes (`since_us`, `ts_us`]."""
    if is_old(ts_us, trend.last_us):
        return
    if not 0 < ts_us - trend.last_us < limits.event_gap_us:
        trend.started_us, trend.errors, trend.reached, trend.recent, trend.fast = ts_us, 0.0, "none", [], 0
    trend.errors += errors
    trend.rate_per_s = errors / max((ts_us - since_us) / 1e6, 1e-6)
    in_a_row = since_us <= trend.last_us
    trend.fast = (trend.fast if in_a_row else 0) + 1 if trend.rate_per_s >= limits.storm_per_s else 0
    day = ts_us // DAY_US
    trend.days[day] = trend.days.get(day, 0.0) + errors
    trend.days = {d: n for d, n in trend.days.items() if day - limits.event_days_of <= d <= day}
    bucket = ts_us - ts_us % limits.bucket_us
    if trend.recent and trend.recent[-1][0] == bucket:
        trend.recent[-1] = (bucket, trend.recent[-1][1] + errors)
    else:
        trend.recent = [r for r in trend.recent if r[0] > ts_us - limits.window_us]
        trend.recent.append((bucket, errors))
    trend.last_us = ts_us
    trend.reached = max(trend.reached, _now(trend, limits), key=_ORDER.index)


def level(trend: Trend, now_us: int, limits: TrendLimits) -> TrendLevel:
    """The level at a time for which the counters are known: of the event that goes on, or of the days behind."""
    here: TrendLevel = trend.reached if now_us - trend.last_us < limits.event_gap_us else "none"
    if _ORDER.index(here) < _ORDER.index("growth") and (
        event_days(trend, now_us, limits) >= limits.event_days or doubled(trend, now_us, limits)
    ):
        return "growth"
    return here


def due_us(trend: Trend, now_us: int, limits: TrendLimits) -> int:
    """The next time at which `level` may fall though nothing grows."""
    if now_us - trend.last_us < limits.event_gap_us:
        return trend.last_us + limits.event_gap_us
    return (now_us // DAY_US + 1) * DAY_US


def event_days(trend: Trend, now_us: int, limits: TrendLimits) -> int:
    """Days with errors among the last `event_days_of`."""
    first = now_us // DAY_US - limits.event_days_of + 1
    return sum(1 for d, n in trend.days.items() if d >= first and n >= limits.day_errors)


def doubled(trend: Trend, now_us: int, limits: TrendLimits) -> bool:
    """Has the sum of today at least doubled that of yesterday?"""
    day = now_us // DAY_US
    before = trend.days.get(day - 1, 0.0)
    return before >= limits.doubling_errors and trend.days.get(day, 0.0) >= 2.0 * before


def is_over(trend: Trend, now_us: int, limits: TrendLimits) -> bool:
    """Nothing left to remember."""
    return now_us // DAY_US - trend.last_us // DAY_US > limits.event_days_of


def _now(trend: Trend, limits: TrendLimits) -> TrendLevel:
    if trend.fast >= limits.storm_scrapes:
        return "storm"
    if len(trend.recent) >= limits.buckets:
        total = sum(n for _, n in trend.recent)
        first, last = trend.recent[0][0], trend.recent[-1][0]
        if total >= limits.steady_errors and last - first >= limits.steady_span_us:
            return "growth"
        if total >= limits.speeding_errors and last - first >= limits.speeding_span_us:
            early = sum(n for ts, n in trend.recent if 2 * ts <= first + last)
            late = total - early
            if late >= limits.speeding_ratio * early and late - early >= limits.speeding_sigma * math.sqrt(total):
                return "growth"
    return "burst" if trend.errors >= limits.burst_errors else "none"
