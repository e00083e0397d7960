"""What each partition says of itself in numbers: Dagster plots them over the partitions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from pipelines.ask import Ask, Row
from pipelines.buckets import share, sums

Key = Callable[[date], str]
"""A moment -> the partition that holds it."""
Told = dict[str, dict[str, float]]
"""Partition -> name -> value. What is not known is left out."""
Numbers = Callable[[Ask, datetime, datetime, Key], Told]


def grouped(rows: Iterable[Row], key: Key) -> dict[str, list[Row]]:
    """Rows of hours or days by partition."""
    out: dict[str, list[Row]] = {}
    for row in rows:
        out.setdefault(key(row.get("hour") or row["day"]), []).append(row)
    return out


def known(values: Mapping[str, float | None]) -> dict[str, float]:
    """Without those that are not known."""
    return {name: value for name, value in values.items() if value is not None}


def percent_of(part: float | None, whole: float | None) -> float | None:
    """A share in percent, or None."""
    ratio = share(part, whole)
    return None if ratio is None else round(100 * ratio, 3)


def by_bucket(rows: Iterable[Row]) -> dict[str, int]:
    """GPU-microseconds by bucket over all rows."""
    out: dict[str, int] = {}
    for row in rows:
        out[row["bucket"]] = out.get(row["bucket"], 0) + row["gpu_us"]
    return out


def flop(rows: Iterable[Row]) -> tuple[float | None, float | None]:
    """(model FLOP, peak FLOP) over the rows that know both; (None, None) where none does."""
    both = [row for row in rows if row["model_flop"] is not None and row["peak_flop"] is not None]
    if not both:
        return None, None
    return sum(row["model_flop"] for row in both), sum(row["peak_flop"] for row in both)


def usable_numbers(ask: Ask, start: datetime, end: datetime, key: Key) -> Told:
    """The levels of the accounting tree as shares of the one above."""
    out: Told = {}
    for partition, rows in grouped(ask("buckets_by_hour", start=start, end=end), key).items():
        total = sums(by_bucket(rows))
        out[partition] = known(
            {
                "usable_pct": percent_of(total.usable, total.installed),
                "occupancy_pct": percent_of(total.allocated, total.usable),
                "goodput_pct": percent_of(total.productive, total.allocated),
            }
        )
    return out


def mfu_numbers(ask: Ask, start: datetime, end: datetime, key: Key) -> Told:
    """MFU over all jobs, and how many told steps."""
    return {
        partition: known({"mfu_pct": percent_of(*flop(rows)), "jobs": len({(r["cluster"], r["job"]) for r in rows})})
        for partition, rows in grouped(ask("mfu_by_hour", start=start, end=end), key).items()
    }


def health_numbers(ask: Ask, start: datetime, end: datetime, key: Key) -> Told:
    """Mean and lowest score, and nodes that were out of service or silent at any moment."""
    out: Told = {}
    for partition, rows in grouped(ask("health_by_hour", start=start, end=end), key).items():
        mean = share(sum(row["score_us"] for row in rows), sum(row["known_us"] for row in rows))
        lowest = [row["lowest_score"] for row in rows if row["lowest_score"] is not None]
        out[partition] = known(
            {
                "mean_score": None if mean is None else round(mean, 2),
                "lowest_score": min(lowest) if lowest else None,
                "most_nodes_out_of_service": max(row["unschedulable_nodes"] for row in rows),
                "most_nodes_silent": max(row["silent_nodes"] for row in rows),
            }
        )
    return out


def effective_numbers(ask: Ask, start: datetime, end: datetime, key: Key) -> Told:
    """The headline, and the time it knows nothing of."""
    return {
        partition: known(
            {
                "effective_pct": percent_of(effective(rows), 1),
                "gpu_hours_of_unknown_mfu": round(sum(row["unknown_gpu_s"] for row in rows) / 3600, 2),
            }
        )
        for partition, rows in grouped(ask("effective_by_day", start=start, end=end), key).items()
    }


def effective(rows: list[Row]) -> float | None:
    """productive / installed x MFU, as a fraction."""
    productive = share(sum(row["productive_us"] for row in rows), sum(row["installed_us"] for row in rows))
    used = share(*flop(rows))
    return None if productive is None or used is None else productive * used


@dataclass(frozen=True, slots=True)
class Reliability:
    """Availability of GPUs as a fraction; mean times of nodes in hours. None: nothing installed, failed or mended."""

    availability: float | None
    failures: int
    mtbf_h: float | None
    mttr_h: float | None


def reliability(rows: Sequence[Row]) -> Reliability:
    """Of all the days and clusters of rows of `reliability_daily` together."""
    names = ("installed_us", "down_us", "out_of_service_us", "up_us", "failures", "repairs", "repair_us")
    total = {name: sum(row[name] for row in rows) for name in names}
    lost = share(total["down_us"] + total["out_of_service_us"], total["installed_us"])
    return Reliability(
        availability=None if lost is None else 1 - lost,
        failures=total["failures"],
        mtbf_h=share(total["up_us"] / 3.6e9, total["failures"]),
        mttr_h=share(total["repair_us"] / 3.6e9, total["repairs"]),
    )


def reliability_numbers(ask: Ask, start: datetime, end: datetime, key: Key) -> Told:
    """Availability and failures of each day; the mean times need more than a day."""
    out: Told = {}
    for partition, rows in grouped(ask("reliability_by_day", start=start, end=end), key).items():
        of = reliability(rows)
        out[partition] = known({"availability_pct": percent_of(of.availability, 1), "failures": of.failures})
    return out


def gpu_numbers(ask: Ask, start: datetime, end: datetime, key: Key) -> Told:
    """GPUs and nodes seen on the day of the partition."""
    days: dict[date, Row] = {}
    for row in ask("gpus_by_day", start=start, end=end):
        was = days.get(row["day"], {"gpus": 0, "nodes": 0})
        days[row["day"]] = {name: was[name] + row[name] for name in ("gpus", "nodes")}
    # Its partitions are hours: the day's numbers stand at its last one.
    return {key(datetime(day.year, day.month, day.day, 23)): dict(row) for day, row in days.items()}
