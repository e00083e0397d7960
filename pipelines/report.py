"""The daily report: one HTML file for the owner of a fleet, plots inside, no network."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from collectors.contract.errors import UserError
from pipelines.ask import Ask, Row, asking
from pipelines.buckets import BUCKETS, Sums, share, sums
from pipelines.numbers import by_bucket, flop, reliability
from pipelines.picture import gpus_by_hour, hours, mfu_series, percent
from pipelines.plots import figure, lines, stacked_buckets, svg
from pipelines.settings import pipeline_settings

TEMPLATE = Path(__file__).with_name("report.html.j2")
MOST_ROWS = 40
LONG = timedelta(days=28)
"""Failures are rare: a mean time between them needs weeks."""


@dataclass(frozen=True, slots=True)
class Headline:
    """One number at the top, what it is of, and what it was the day before."""

    name: str
    value: float | None
    before: float | None
    of: str

    @property
    def change(self) -> str:
        """`+1.2 points on the day before`, or nothing where one of the two is not known."""
        if self.value is None or self.before is None:
            return ""
        points = 100 * (self.value - self.before)
        return "as the day before" if abs(points) < 0.05 else f"{points:+.1f} points on the day before"


def write_report(day: date, out: Path | None = None) -> Path:
    """Write the report of one UTC day; returns its path. Raises `UserError` without a warehouse or a place to write."""
    path = out or pipeline_settings().reports_folder / f"{day.isoformat()}.html"
    if path.is_dir():
        raise UserError(f"{path} is a folder: name the file to write, such as {path / f'{day.isoformat()}.html'}")
    text = render(day)
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(text)
        part.replace(path)
    except OSError as why:
        raise UserError(f"cannot write the report to {path}: {why.strerror}") from why
    return path


def render(day: date) -> str:
    """The HTML of one UTC day."""
    import jinja2

    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    end = start + timedelta(days=1)
    with asking() as ask:
        buckets = ask("buckets_by_hour", start=start, end=end)
        values: dict[str, Any] = {
            "day": day,
            "written": datetime.now(UTC),
            "empty": not buckets,
            "incidents": [_incident(row, end) for row in ask("incidents_of_day", start=start, end=end)],
            "failures": ask("failures_of_day", start=start, end=end),
            "quality": [row for row in ask("data_quality", start=start, end=end) if row["n"]],
        }
        if buckets:
            values |= _use(ask, start, end, buckets)
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    environment.filters["percent"] = percent
    environment.filters["hours"] = hours
    return environment.from_string(TEMPLATE.read_text()).render(values)


def _use(ask: Ask, start: datetime, end: datetime, buckets: Sequence[Row]) -> dict[str, Any]:
    before = ask("buckets_by_hour", start=start - timedelta(days=1), end=start)
    jobs = ask("mfu_by_job", start=start, end=end)
    nodes = ask("health_by_node", start=start, end=end)
    gpu_us = by_bucket(buckets)
    hours = len({row["hour"] for row in buckets})
    return {
        "hours": hours,
        "gpus": sum(gpu_us.values()) / 3.6e9 / hours,
        "headlines": headlines(
            sums(gpu_us),
            share(*flop(jobs)),
            sums(by_bucket(before)) if before else None,
            share(*flop(ask("mfu_by_job", start=start - timedelta(days=1), end=start))),
        ),
        "bucket_rows": [
            (bucket, gpu_us[bucket.name] / 3.6e9, share(gpu_us[bucket.name], sum(gpu_us.values())))
            for bucket in BUCKETS
            if gpu_us.get(bucket.name)
        ],
        "bucket_plot": svg(figure(stacked_buckets(*gpus_by_hour(buckets)), height=3.4)),
        "jobs": [{**row, "mfu": share(row["model_flop"], row["peak_flop"])} for row in jobs],
        "mfu_plot": svg(figure(lines(mfu_series(ask("mfu_by_hour", start=start, end=end)), "MFU, %"), height=2.6))
        if jobs
        else None,
        "reliability": reliability(long := ask("reliability_by_day", start=end - LONG, end=end)),
        "long_days": len({row["day"] for row in long}),
        "nodes": nodes[:MOST_ROWS],
        "more_nodes": max(0, len(nodes) - MOST_ROWS),
        "well": sum(1 for row in nodes if row["score"] is not None and row["score"] > 99.95 and not row["silent_h"]),
    }


def headlines(now: Sums, used: float | None, before: Sums | None, used_before: float | None) -> list[Headline]:
    """The four factors and their product, beside those of the day before."""

    def was(part: str, whole: str) -> float | None:
        return None if before is None else share(getattr(before, part), getattr(before, whole))

    def useful(of: Sums | None, mfu: float | None) -> float | None:
        made = None if of is None else share(of.productive, of.installed)
        return None if made is None or mfu is None else made * mfu

    return [
        Headline("effective compute", useful(now, used), useful(before, used_before), "useful FLOP of installed peak"),
        Headline("usable", share(now.usable, now.installed), was("usable", "installed"), "healthy and schedulable"),
        Headline("occupancy", share(now.allocated, now.usable), was("allocated", "usable"), "held by jobs, of usable"),
        Headline("goodput", share(now.productive, now.allocated), was("productive", "allocated"), "kept work, of held"),
        Headline("MFU", used, used_before, "of peak, inside steps"),
    ]


def _incident(row: Row, end: datetime) -> Row:
    until = row["cleared_at"] or end
    minutes = (until - row["opened_at"]).total_seconds() / 60
    lasted = f"{minutes:.0f} min" if minutes < 120 else f"{minutes / 60:.1f} h"
    return {**row, "lasted": lasted if row["cleared_at"] else f"{lasted}, still open"}
