"""The trend of corrected memory errors of one GPU: events and event-days, not raw counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from msgspec import Struct, field

from streams.detectors.memory_rate import Rate, shrunk
from streams.gpus import is_old

MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US

Reached = Literal["none", "burst", "storm"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendLimits:
    """Corrected errors: NVIDIA publishes no limit, and the driver's own notice (XID 92) has no number either."""

    storm_per_s: float = 100.0
    """A rate at which correcting itself costs time (own choice); a GPU at 17,700 a second stalls its DCGM."""
    storm_scrapes: int = 2
    """Scrapes in a row at that rate (own choice): a burst that fell into one scrape is no storm."""
    event_gap_us: int = HOUR_US
    """So long without growth ends an event (own choice): field data count events as runs split by a quiet gap."""
    event_errors: float = 10.0
    """Fewer in one event are strays (own choice): neither told nor counted as an event."""
    event_days: int = 3
    """Event-days that make a trend. Field data (arXiv 2508.03513): 95 % of GPUs have none in a year, more than one
    in a week is worth a look; one more than that, as a ticket is work (own choice)."""
    event_days_of: int = 7
    """... among so many days, today included."""
    event_days_slack: int = 1
    """A trend is over when more event-days than that are missing (own choice): it does not end and begin by turns."""
    doublings: int = 3
    """So often in a row the sum of a day at least doubled (own choice): worth a ticket however small the sums."""
    doubling_from: float = 2.0
    """The first of these days had at least so many errors (own choice): one error that becomes two is chance."""
    window_days: int = 14
    """The GPU's own past that its rate is taken from (own choice): bad GPUs stay active one to three weeks
    (arXiv 2508.03513)."""
    fleet_per_day: float = 0.0101
    """Event-days a GPU-day where the warehouse has told none: Delta, 3,324 events of 849 GPUs in 388 days
    (arXiv 2508.03513)."""
    prior_days: float = 5.0
    """Weight of the fleet's rate: 5.06 % of Delta's GPUs carry all its events, 0.2 a day each; a Gamma prior with
    that mean and spread is worth 1 / 0.2 days."""
    rate_ratio: float = 3.0
    """A trend is so many times over the fleet's rate (own choice): in a fleet where all are like that it is not
    this GPU."""


class Trend(Struct):
    """What is remembered of one GPU's corrected errors. Changes only when they grow, or when time ends something."""

    days: dict[int, float] = field(default_factory=dict)
    """Days since 1970 (UTC) -> errors, the window only."""
    in_events: dict[int, float] = field(default_factory=dict)
    """... of them those in events."""
    events: dict[int, int] = field(default_factory=dict)
    """Days since 1970 (UTC) -> events that came to light on that day."""
    started_us: int = 0
    last_us: int = 0
    """The last growth; what is not later was counted already."""
    by_field: dict[str, float] = field(default_factory=dict)
    """Of the present event, by counter: each may lose some (a reload, a lag), so the largest is the truth."""
    places: dict[str, float] = field(default_factory=dict)
    """Of the present event: `DRAM` and `SRAM`, where the source tells them apart."""
    reached: Reached = "none"
    """The gravest level of the present event."""
    fast: int = 0
    """Scrapes in a row at storm rate."""
    rate_per_s: float = 0.0
    """At the last growth."""
    held: bool = False
    """It was a trend when last judged on a reading: it ends later than it began."""
    energy_mj: float | None = None
    """Of the GPU at the last growth: a reading that still shows it is a stale one."""

    @property
    def errors(self) -> float:
        """Of the present event."""
        return max(self.by_field.values(), default=0.0)


def grow(trend: Trend, grown: Mapping[str, float], since_us: int, ts_us: int, limits: TrendLimits) -> None:
    """Take what each counter grew between two scrapes (`since_us`, `ts_us`]."""
    if is_old(ts_us, trend.last_us):
        return
    if not 0 < ts_us - trend.last_us < limits.event_gap_us:
        trend.started_us, trend.reached, trend.fast = ts_us, "none", 0
        trend.by_field, trend.places = {}, {}
    before = trend.errors
    for name, errors in grown.items():
        trend.by_field[name] = trend.by_field.get(name, 0.0) + errors
    now, in_a_row = trend.errors, since_us <= trend.last_us
    trend.last_us = ts_us
    if now <= before:
        return  # A counter that lags behind another told the same errors.
    trend.rate_per_s = (now - before) / max((ts_us - since_us) / 1e6, 1e-6)
    trend.fast = (trend.fast if in_a_row else 0) + 1 if trend.rate_per_s >= limits.storm_per_s else 0
    day = ts_us // DAY_US
    _add(trend.days, day, now - before)
    if now >= limits.event_errors:
        first = before < limits.event_errors
        _add(trend.in_events, day, now if first else now - before)
        if first:
            trend.events[day] = trend.events.get(day, 0) + 1
            trend.reached = "burst"
    if trend.fast >= limits.storm_scrapes:
        trend.reached = "storm"
    forget(trend, day, limits)


def remember(trend: Trend, days: Mapping[int, float], events: Mapping[int, int], limits: TrendLimits) -> None:
    """Take what the warehouse knows of the days: the larger of both, as either may have missed some.

    `events` have the days on which they began; the day after with as many errors as make one is the same event.
    """
    for day, errors in sorted(days.items()):
        trend.days[day] = max(errors, trend.days.get(day, 0.0))
        begun = events.get(day, 0)
        if begun > 0:
            trend.events[day] = max(begun, trend.events.get(day, 0))
        if begun > 0 or (day - 1 in trend.in_events and errors >= limits.event_errors):
            trend.in_events[day] = max(errors, trend.in_events.get(day, 0.0))


def forget(trend: Trend, today: int, limits: TrendLimits) -> None:
    """Let go of days out of the window, and of days to come, which a clock that ran ahead has told."""
    trend.days = {d: n for d, n in trend.days.items() if today - limits.window_days < d <= today}
    trend.in_events = {d: n for d, n in trend.in_events.items() if d in trend.days}
    trend.events = {d: n for d, n in trend.events.items() if d in trend.days}


def going_on(trend: Trend, now_us: int, limits: TrendLimits) -> Reached:
    """The level of the event that goes on at a time for which the counters are known."""
    return trend.reached if now_us - trend.last_us < limits.event_gap_us else "none"


def is_trend(trend: Trend, now_us: int, days: float, fleet_per_day: float, limits: TrendLimits) -> bool:
    """Do the days behind say more than chance, and more than the fleet? `days`: how long the GPU is known."""
    if doubled(trend, now_us, limits):
        return True
    needed = max(1, limits.event_days - limits.event_days_slack) if trend.held else limits.event_days
    if len(event_days(trend, now_us, limits.event_days_of, limits)) < needed:
        return False
    return rate(trend, now_us, days, fleet_per_day, limits).per_day >= limits.rate_ratio * fleet_per_day


def rate(trend: Trend, now_us: int, days: float, fleet_per_day: float, limits: TrendLimits) -> Rate:
    """The GPU's rate of event-days, shrunk to the fleet's."""
    known = len(event_days(trend, now_us, limits.window_days, limits))
    observed = min(max(days, known, 1.0), limits.window_days)
    return shrunk(known, observed, fleet_per_day, limits.prior_days)


def event_days(trend: Trend, now_us: int, of: int, limits: TrendLimits) -> list[int]:
    """The days with an event among the last `of`, today included."""
    today = now_us // DAY_US
    return sorted(d for d, n in trend.in_events.items() if today - of < d <= today and n >= limits.event_errors)


def doubled(trend: Trend, now_us: int, limits: TrendLimits) -> bool:
    """Did the sum of a day double so often in a row, up to a day of the last week?"""
    today, days = now_us // DAY_US, trend.days
    for last in range(today, today - limits.event_days_of, -1):
        sums = [days.get(d, 0.0) for d in range(last - limits.doublings, last + 1)]
        if sums[0] >= limits.doubling_from and all(b >= 2.0 * a for a, b in pairwise(sums)):
            return True
    return False


def due_us(trend: Trend, now_us: int, limits: TrendLimits) -> int:
    """The next time at which the level may fall though nothing grows."""
    if now_us - trend.last_us < limits.event_gap_us:
        return trend.last_us + limits.event_gap_us
    return (now_us // DAY_US + 1) * DAY_US


def is_over(trend: Trend, now_us: int, limits: TrendLimits) -> bool:
    """Nothing left to remember."""
    last = max(max(trend.days, default=0), trend.last_us // DAY_US)
    return now_us // DAY_US - last >= limits.window_days


def _add(days: dict[int, float], day: int, errors: float) -> None:
    days[day] = days.get(day, 0.0) + errors
