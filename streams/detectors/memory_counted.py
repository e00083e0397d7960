"""What moved in a GPU's memory counters, taken into what is remembered of it."""

from collections.abc import Collection, Iterable
from itertools import pairwise

from streams import counters
from streams.contract import GpuPast
from streams.detectors.memory_columns import Step
from streams.detectors.memory_fields import (
    BANKS,
    CORRECTED,
    CORRECTED_PLACES,
    CORRECTED_ROWS,
    LEVELS,
    PAGES_UNCORRECTED,
    REMAP_PENDING,
    UNCORRECTED,
    UNCORRECTED_PLACES,
    UNCORRECTED_ROWS,
    VOLATILE,
)
from streams.detectors.memory_state import WEAR_DAYS, GpuMemory, Uncorrected, Wear
from streams.detectors.memory_trend import DAY_US, Trend, TrendLimits, forget, grow, remember
from streams.gpus import is_old


def take_steps(
    gpu: GpuMemory,
    steps: Iterable[Step],
    owned: Collection[str],
    ts_us: int,
    energy_mj: float | None,
    limits: TrendLimits,
) -> bool:
    """The steps of one GPU in one scrape; was it reset? `owned`: fields whose growth this source may count."""
    corrected: dict[str, float] = {}
    uncorrected: dict[str, float] = {}
    rows: dict[str, float] = {}
    since_us, reset, down = ts_us, False, 0.0
    for step in steps:
        if step.field in LEVELS:
            reset |= step.field == REMAP_PENDING and step.now == 0.0 and step.field in gpu.levels
            if step.now == 0.0:
                gpu.levels.pop(step.field, None)
            else:
                gpu.levels[step.field] = step.now
        if step.field in BANKS:
            if step.before is not None and step.field in owned:
                down += BANKS[step.field] * (step.now - step.before)
            continue
        grown, fell = growth(step, ts_us)
        reset |= fell
        if grown == 0.0 or step.field not in owned:
            continue
        if step.field in CORRECTED or step.field in CORRECTED_PLACES:
            corrected[step.field], since_us = grown, min(since_us, step.since_us)
        elif step.field in (UNCORRECTED_ROWS, CORRECTED_ROWS):
            rows[step.field] = grown
        elif step.field == PAGES_UNCORRECTED:
            day = ts_us // DAY_US
            gpu.retired = {d: n for d, n in gpu.retired.items() if d > day - 7}
            gpu.retired[day] = gpu.retired.get(day, 0.0) + grown
        if step.field in UNCORRECTED or step.field in UNCORRECTED_PLACES:
            uncorrected[step.field] = grown
    if corrected:
        _grow(gpu, corrected, since_us, ts_us, energy_mj, limits)
    if uncorrected:
        _lose(gpu, uncorrected, ts_us)
    if rows or down > 0.0:
        _wear(gpu, rows, down, ts_us)
    return reset


def take_past(gpu: GpuMemory, past: GpuPast, until_us: int, limits: TrendLimits) -> None:
    """What the warehouse knows; days that were seen here too count once."""
    today = until_us // DAY_US
    days = {d: n for d, n in past.days.items() if n > 0.0 and today - limits.window_days < d <= today}
    if days:
        gpu.trend = gpu.trend or Trend()
        remember(gpu.trend, days, past.events, limits)
        forget(gpu.trend, max(today, gpu.trend.last_us // DAY_US), limits)
    known = sorted(past.correctable_remaps.items())
    for (_, before), (day, now) in pairwise(known):
        if now > before and today - WEAR_DAYS < day <= today:
            gpu.wear = gpu.wear or Wear()
            rows = gpu.wear.corrected_rows
            rows[day] = max(rows.get(day, 0.0), now - before)


def growth(step: Step, ts_us: int) -> tuple[float, bool]:
    """What a step stands for, and whether the counter began again."""
    if step.before is None:
        return 0.0, False
    _, change = counters.advance(counters.Past(step.before, step.since_us, step.since_us), step.now, ts_us)
    if change is None or change.delta is None:
        return 0.0, False
    if change.reset and step.field in VOLATILE:
        # It began again at zero, so all that it shows came after.
        return step.now, True
    return float(change.delta), False


def _grow(
    gpu: GpuMemory, by_field: dict[str, float], since_us: int, ts_us: int, energy_mj: float | None, limits: TrendLimits
) -> None:
    gpu.trend = trend = gpu.trend or Trend()
    if is_old(ts_us, trend.last_us):
        return
    grow(trend, by_field, since_us, ts_us, limits)
    trend.energy_mj = energy_mj
    for name, place in CORRECTED_PLACES.items():
        if name in trend.by_field:
            trend.places[place] = max(trend.places.get(place, 0.0), trend.by_field[name])


def _lose(gpu: GpuMemory, by_field: dict[str, float], ts_us: int) -> None:
    lost = gpu.uncorrected
    if lost is None:
        lost = gpu.uncorrected = Uncorrected(started_us=ts_us, last_us=ts_us)
    if is_old(ts_us, lost.counted_us):
        return
    for name, errors in by_field.items():
        lost.by_field[name] = lost.by_field.get(name, 0.0) + errors
    lost.counted_us, lost.last_us = ts_us, max(ts_us, lost.last_us)


def _wear(gpu: GpuMemory, rows: dict[str, float], down: float, ts_us: int) -> None:
    gpu.wear = wear = gpu.wear or Wear()
    if is_old(ts_us, wear.counted_us):
        return
    wear.counted_us = ts_us
    day = ts_us // DAY_US
    for by_day, grown in (
        (wear.corrected_rows, rows.get(CORRECTED_ROWS, 0.0)),
        (wear.uncorrected_rows, rows.get(UNCORRECTED_ROWS, 0.0)),
        (wear.banks, down),
    ):
        if grown > 0.0:
            by_day[day] = by_day.get(day, 0.0) + grown
    wear.forget(day)
