"""What a materialization shows in the Dagster UI: a plot or a table of the time up to the partition just built."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

import dagster as dg

from pipelines.ask import Ask, Row
from pipelines.buckets import BUCKETS, share
from pipelines.numbers import by_bucket, reliability
from pipelines.plots import figure, lines, png_markdown, stacked_buckets

Picture = Callable[[Ask, datetime, datetime], dict[str, Any]]
"""[start, end) -> Dagster's metadata."""


def percent(value: float | None) -> str:
    """`41.3 %`, or a dash where it is not known."""
    return "–" if value is None else f"{100 * value:.1f} %"


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table."""
    head = f"| {' | '.join(columns)} |\n|{'|'.join('---' for _ in columns)}|\n"
    return head + "\n".join(f"| {' | '.join(str(cell) for cell in row)} |" for row in rows)


def gpus_by_hour(rows: Sequence[Row]) -> tuple[list[datetime], dict[str, list[float]]]:
    """(hours, mean GPUs in each bucket hour by hour)."""
    hours = sorted({row["hour"] for row in rows})
    at = {hour: i for i, hour in enumerate(hours)}
    gpus = {bucket.name: [0.0] * len(hours) for bucket in BUCKETS}
    for row in rows:
        gpus[row["bucket"]][at[row["hour"]]] += row["gpu_us"] / 3.6e9
    return hours, gpus


def mfu_series(rows: Sequence[Row]) -> dict[str, tuple[list[datetime], list[float | None]]]:
    """Job -> (hours, MFU in percent or None)."""
    series: dict[str, tuple[list[datetime], list[float | None]]] = {}
    for row in rows:
        times, values = series.setdefault(row["job"], ([], []))
        value = share(row["model_flop"], row["peak_flop"])
        times.append(row["hour"])
        values.append(None if value is None else 100 * value)
    return series


def mfu_plot(ask: Ask, start: datetime, end: datetime) -> dict[str, Any]:
    """MFU by job over the hours, and a table of the jobs."""
    rows = ask("mfu_by_job", start=start, end=end)
    cells = [
        (r["job"], r["gpu_model"], r["gpus"], percent(share(r["model_flop"], r["peak_flop"])), r["reason"] or "")
        for r in rows
    ]
    plot = figure(lines(mfu_series(ask("mfu_by_hour", start=start, end=end)), "MFU, %"))
    return {
        "jobs": dg.MetadataValue.md(table(("job", "GPU", "GPUs", "MFU", "not known because"), cells)),
        "plot": dg.MetadataValue.md(png_markdown(plot, "MFU by job")),
    }


def usable_plot(ask: Ask, start: datetime, end: datetime) -> dict[str, Any]:
    """Buckets over the hours."""
    rows = ask("buckets_by_hour", start=start, end=end)
    if not rows:
        return {"note": "no GPU was installed"}
    gpu_us = by_bucket(rows)
    cells = [
        (bucket.name, f"{us / 3.6e9:,.1f}", percent(share(us, sum(gpu_us.values()))))
        for bucket in BUCKETS
        if (us := gpu_us.get(bucket.name)) is not None
    ]
    return {
        "buckets": dg.MetadataValue.md(table(("bucket", "GPU-hours", "share"), cells)),
        "plot": dg.MetadataValue.md(png_markdown(figure(stacked_buckets(*gpus_by_hour(rows))), "GPUs by bucket")),
    }


def health_table(ask: Ask, start: datetime, end: datetime) -> dict[str, Any]:
    """Nodes, worst first."""
    rows = ask("health_by_node", start=start, end=end)
    cells = [
        (
            r["node"],
            "–" if r["score"] is None else f"{r['score']:.0f}",
            r["last_state"],
            ", ".join(r["causes"]).replace("_", " "),
        )
        for r in rows[:50]
    ]
    return {"nodes": dg.MetadataValue.md(table(("node", "mean score", "state at the end", "causes"), cells))}


def effective_table(ask: Ask, start: datetime, end: datetime) -> dict[str, Any]:
    """The four factors and their product, by day."""
    rows = ask("effective_by_day", start=start, end=end)
    cells = [(day(row["day"]), row["cluster"], *map(percent, factors(row))) for row in rows]
    columns = ("day", "cluster", "usable", "occupancy", "goodput", "MFU", "effective")
    return {"effective": dg.MetadataValue.md(table(columns, cells))}


def reliability_table(ask: Ask, start: datetime, end: datetime) -> dict[str, Any]:
    """Availability, failures and mean times over the days together, by cluster."""
    by_cluster: dict[str, list[Row]] = {}
    for row in ask("reliability_by_day", start=start, end=end):
        by_cluster.setdefault(row["cluster"], []).append(row)
    cells = [
        (cluster, len(rows), percent(of.availability), of.failures, hours(of.mtbf_h), hours(of.mttr_h))
        for cluster, rows in by_cluster.items()
        for of in (reliability(rows),)
    ]
    columns = ("cluster", "days", "availability", "failures of nodes", "MTBF of a node", "MTTR")
    return {"reliability": dg.MetadataValue.md(table(columns, cells))}


def hours(value: float | None) -> str:
    """`7.5 h`, or a dash where it is not known."""
    return "–" if value is None else f"{value:,.1f} h"


def factors(row: Row) -> tuple[float | None, float | None, float | None, float | None, float | None]:
    """(usable, occupancy, goodput, MFU, effective) of one row of `effective_compute_daily`, as fractions."""
    usable = share(row["usable_us"], row["installed_us"])
    occupancy = share(row["allocated_us"], row["usable_us"])
    goodput = share(row["productive_us"], row["allocated_us"])
    used = share(row["model_flop"], row["peak_flop"])
    productive = share(row["productive_us"], row["installed_us"])
    return usable, occupancy, goodput, used, None if used is None or productive is None else productive * used


def day(value: date) -> str:
    """`2026-03-02`."""
    return value.isoformat()
