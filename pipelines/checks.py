"""What must hold of every rollup; a failed check is seen in the Dagster UI on its asset."""

from datetime import datetime, timedelta

import dagster as dg

from pipelines.ask import Row, asking
from pipelines.assets import (
    effective_compute,
    fleet_health_hourly,
    gpu_inventory,
    job_inventory,
    mfu_hourly,
    reliability,
    usable_compute_hourly,
    whole_days,
)
from pipelines.buckets import share
from pipelines.partitions import window

PLAUSIBLE_MFU = 0.70
"""Above it a peak, a data type or a parameter count is almost surely wrong (jobs in public range from 20 to 57 %)."""


def wrong_sums(rows: list[Row]) -> list[str]:
    """Hours whose buckets do not sum to what was installed, stand twice or are negative."""
    return [
        f"{row['hour']:%Y-%m-%d %H:%M} {row['cluster']}: buckets sum to {row['gpu_us']} us of {row['installed_us']} us"
        for row in rows
        if row["gpu_us"] != row["installed_us"] or row["doubled"] or row["least"] < 0
    ]


def odd_mfu(rows: list[Row]) -> tuple[list[str], list[str]]:
    """(impossible, implausible) jobs."""
    impossible, implausible = [], []
    for row in rows:
        value = share(row["model_flop"], row["peak_flop"])
        if value is None:
            continue
        told = f"{row['job']}: {100 * value:.1f} %"
        if not 0 <= value <= 1:
            impossible.append(told)
        elif value > PLAUSIBLE_MFU:
            implausible.append(told)
    return impossible, implausible


def _rows(name: str, start: datetime, end: datetime) -> list[Row]:
    with asking() as ask:
        return ask(name, start=start, end=end)


def _told(wrong: list[str]) -> str:
    return "; ".join(wrong[:5]) + (f"; and {len(wrong) - 5} more" if len(wrong) > 5 else "")


@dg.asset_check(asset=gpu_inventory)
def some_gpu_was_seen(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
    """On every day: a day without any is a day without collectors, not a fleet without GPUs."""
    start, end = whole_days(*window(context))
    seen = {row["day"] for row in _rows("gpus_by_day", start, end)}
    days = [(start + timedelta(days=n)).date() for n in range((end - start).days)]
    wrong = [day.isoformat() for day in days if day not in seen]
    return dg.AssetCheckResult(
        passed=not wrong,
        severity=dg.AssetCheckSeverity.WARN,
        description=_told(wrong) or f"on each of {len(days)} days",
    )


@dg.asset_check(asset=job_inventory)
def jobs_with_steps_were_placed(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
    """Without a placement nobody knows which GPUs a job holds: they count as idle."""
    start, end = window(context)
    wrong = [f"{row['job']} ({row['ranks']} ranks)" for row in _rows("unplaced_jobs", start, end)]
    return dg.AssetCheckResult(
        passed=not wrong, severity=dg.AssetCheckSeverity.WARN, description=_told(wrong) or "every one of them"
    )


@dg.asset_check(asset=job_inventory)
def no_gpu_is_placed_twice(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
    """Two jobs on one GPU at one time: it is shared, or one of them ended untold. The later one counts."""
    start, end = window(context)
    wrong = [
        f"{row['gpu']}: {row['job']} and {row['other_job']} for {row['seconds']} s"
        for row in _rows("overlapping_placements", start, end)
    ]
    return dg.AssetCheckResult(
        passed=not wrong, severity=dg.AssetCheckSeverity.WARN, description=_told(wrong) or "none"
    )


@dg.asset_check(asset=usable_compute_hourly, blocking=True)
def buckets_sum_to_installed(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
    """To the microsecond."""
    start, end = window(context)
    rows = _rows("bucket_sums", start, end)
    wrong = wrong_sums(rows)
    return dg.AssetCheckResult(passed=not wrong, description=_told(wrong) or f"{len(rows)} hours sum exactly")


@dg.asset_check(asset=mfu_hourly)
def mfu_is_possible(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
    """0 to 100 %, with a warning above what is plausible."""
    start, end = window(context)
    impossible, implausible = odd_mfu(_rows("mfu_by_job", start, end))
    return dg.AssetCheckResult(
        passed=not impossible and not implausible,
        severity=dg.AssetCheckSeverity.ERROR if impossible else dg.AssetCheckSeverity.WARN,
        description=_told(impossible + implausible) or "every job is between 0 and 70 %",
    )


@dg.asset_check(asset=fleet_health_hourly)
def every_node_has_a_score_or_is_silent(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
    """Scores are 0 to 100, and no node is without both score and silence."""
    start, end = window(context)
    rows = _rows("health_by_node", start, end)
    wrong = [
        row["node"]
        for row in rows
        if (row["score"] is None and row["silent_h"] == 0)
        or (row["score"] is not None and not -1e-6 <= row["score"] <= 100 + 1e-6)
    ]
    return dg.AssetCheckResult(passed=not wrong, description=_told(wrong) or f"{len(rows)} nodes")


@dg.asset_check(asset=effective_compute)
def each_level_fits_in_the_one_above(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
    """productive <= allocated <= usable <= installed."""
    start, end = window(context)
    wrong = [
        f"{row['day']} {row['cluster']}"
        for row in _rows("effective_by_day", start, end)
        if not 0 <= row["productive_us"] <= row["allocated_us"] <= row["usable_us"] <= row["installed_us"]
    ]
    return dg.AssetCheckResult(passed=not wrong, description=_told(wrong) or "levels are nested")


@dg.asset_check(asset=reliability)
def what_is_mended_had_failed(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
    """No outage of negative length, and no more time lost than was installed."""
    start, end = window(context)
    wrong = [
        f"{row['day']} {row['cluster']}"
        for row in _rows("reliability_by_day", start, end)
        if row["repair_us"] < 0
        or (row["repairs"] == 0) != (row["repair_us"] == 0)
        or not 0 <= row["down_us"] + row["out_of_service_us"] <= row["installed_us"]
    ]
    return dg.AssetCheckResult(passed=not wrong, description=_told(wrong) or "outages fit into what was installed")


CHECKS = [
    some_gpu_was_seen,
    jobs_with_steps_were_placed,
    no_gpu_is_placed_twice,
    buckets_sum_to_installed,
    mfu_is_possible,
    every_node_has_a_score_or_is_silent,
    each_level_fits_in_the_one_above,
    what_is_mended_had_failed,
]
