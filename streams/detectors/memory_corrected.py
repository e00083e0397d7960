"""Corrected errors on a ladder: a lone burst for the record, a trend a ticket, a trend with wear or a storm a page."""

from collections.abc import Mapping, Sequence
from statistics import median

from streams.contract import Evidence
from streams.detectors.memory_condition import Condition
from streams.detectors.memory_rate import Rate
from streams.detectors.memory_state import GpuMemory, Level
from streams.detectors.memory_trend import (
    DAY_US,
    Trend,
    TrendLimits,
    doubled,
    event_days,
    going_on,
    rate,
)
from streams.detectors.memory_wear import WearLimits, outlook, signs, words

AHEAD_DAYS = 7
MOST_DAYS_TOLD = 7


def level(gpu: GpuMemory, now_us: int, trending: bool, limits: TrendLimits, wear: WearLimits) -> Level:
    """Where the GPU stands at a time for which its counters are known. `trending`: its days are a trend."""
    if gpu.trend is None:
        return "none"
    event = going_on(gpu.trend, now_us, limits)
    if event == "storm":
        return "storm"
    worn = bool(words(gpu.wear, now_us, wear))
    if trending:
        return "degrading" if worn else "growth"
    return "growth" if worn and event == "burst" else event


def corrected(
    gpu: GpuMemory,
    trend: Trend,
    now: Mapping[str, float],
    now_us: int,
    days: float,
    fleet_per_day: float,
    limits: TrendLimits,
    wear: WearLimits,
) -> Condition | None:
    """The condition at the level that was judged. `now`: field -> reading of this GPU."""
    if gpu.corrected == "none":
        return None
    if gpu.corrected == "burst":
        return Condition(
            cause="correctable_ecc_burst",
            severity="info",
            value=trend.errors,
            limit=limits.event_errors,
            unit="errors",
            words=f"one burst of {trend.errors:,.0f} corrected memory errors",
            action="none: a lone burst says nothing of the GPU",
            ts_us=trend.last_us,
            facts=lambda: [*_places(trend), *signs(gpu.wear, now_us, wear)],
        )
    belief = rate(trend, now_us, days, fleet_per_day, limits)

    def facts() -> list[Evidence]:
        return [
            *_places(trend),
            *signs(gpu.wear, now_us, wear),
            *_past(trend, now_us, belief, fleet_per_day, limits),
            *outlook(gpu.wear, now, now_us, days, wear),
        ]

    if gpu.corrected == "storm":
        return Condition(
            cause="correctable_ecc_storm",
            severity="critical",
            value=trend.rate_per_s,
            limit=limits.storm_per_s,
            unit="errors/s",
            words=f"{trend.rate_per_s:,.0f} corrected memory errors a second",
            action="drain and reset the GPU; if it comes back, run the field diagnostic",
            ts_us=trend.last_us,
            facts=facts,
        )
    if gpu.corrected == "degrading":
        return Condition(
            cause="memory_degrading",
            severity="critical",
            value=float(len(event_days(trend, now_us, limits.event_days_of, limits))),
            limit=float(limits.event_days),
            unit="event-days",
            words=f"{_trend_words(trend, now_us, belief, fleet_per_day, limits, ())}, and "
            + " and ".join(words(gpu.wear, now_us, wear)),
            action="move the job at its next checkpoint, drain and reset the GPU, then run the field diagnostic; "
            "replace it by its result",
            ts_us=trend.last_us,
            facts=facts,
        )
    return Condition(
        cause="correctable_ecc_growth",
        severity="warning",
        value=float(len(event_days(trend, now_us, limits.event_days_of, limits))),
        limit=float(limits.event_days),
        unit="event-days",
        words=_trend_words(trend, now_us, belief, fleet_per_day, limits, words(gpu.wear, now_us, wear)),
        action="reset the GPU at the next gap in the work and watch it; replace it only with further evidence "
        "(XID 92, new row remaps, failure flags)",
        ts_us=trend.last_us,
        confidence="medium",
        facts=facts,
    )


def _trend_words(
    trend: Trend, now_us: int, belief: Rate, fleet_per_day: float, limits: TrendLimits, worn: Sequence[str]
) -> str:
    days = event_days(trend, now_us, limits.event_days_of, limits)
    if len(days) < limits.event_days and doubled(trend, now_us, limits):
        sums = ", ".join(f"{trend.days[day]:.0f}" for day in sorted(trend.days)[-limits.doublings - 1 :])
        return f"corrected memory errors at least double from day to day: {sums}"
    if len(days) > 1:
        total = sum(trend.in_events[day] for day in days)
        low, high = belief.counts(AHEAD_DAYS)
        return (
            f"corrected memory errors on {len(days)} of the last {limits.event_days_of} days, {total:,.0f} in all, "
            f"{belief.per_day / fleet_per_day:.0f} times the fleet's rate; "
            f"{_span(low, high)} more such days expected in the next {AHEAD_DAYS}"
        )
    burst = f"a burst of {trend.errors:,.0f} corrected memory errors"
    return f"{burst}, and {' and '.join(worn)}" if worn else burst


def _past(trend: Trend, now_us: int, belief: Rate, fleet_per_day: float, limits: TrendLimits) -> list[Evidence]:
    known = event_days(trend, now_us, limits.window_days, limits)
    found = [
        Evidence(what=f"event-days in the last {limits.window_days} days", value=float(len(known)), unit="days"),
        Evidence(what="events on them", value=float(sum(trend.events.values())), unit="events"),
        Evidence(what="the fleet's rate (prior)", value=fleet_per_day, unit="event-days a GPU-day"),
        Evidence(what="this GPU's rate, shrunk to it (posterior)", value=belief.per_day, unit="event-days a day"),
    ]
    if len(known) > 1:
        low, high = belief.counts(AHEAD_DAYS)
        sizes = [trend.in_events[day] for day in known]
        found += [
            Evidence(
                what=f"forecast: event-days in the next {AHEAD_DAYS} days (5 % to 95 %: {_span(low, high)})",
                value=belief.per_day * AHEAD_DAYS,
                unit="event-days",
            ),
            Evidence(what=f"errors of a usual event-day (most: {max(sizes):.0f})", value=median(sizes), unit="errors"),
        ]
    today = now_us // DAY_US
    found += [
        Evidence(
            what="errors today" if day == today else f"errors {today - day} day{'s' if today - day > 1 else ''} ago",
            value=trend.days[day],
            unit="errors",
            ts_us=day * DAY_US,
        )
        for day in sorted(trend.days)[-MOST_DAYS_TOLD:]
    ]
    return found


def _places(trend: Trend) -> list[Evidence]:
    return [
        Evidence(what=f"corrected errors in {place}, this event", value=errors, unit="errors")
        for place, errors in sorted(trend.places.items())
    ]


def _span(low: int, high: int) -> str:
    return f"{low}" if low == high else f"{low} to {high}"
