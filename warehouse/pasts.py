"""What the warehouse knows of every GPU's memory, for the detectors: event-days outlive Kafka's retention."""

from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import duckdb

from streams.contract import GpuPast, NodePast

FOLDER = Path(__file__).parent / "sql" / "pasts"
DAYS = 28
"""How far back: sick GPUs stay active one to three weeks (arXiv 2508.03513)."""
GAP_US = 3_600_000_000
"""So long without growth ends an event."""
LEAST_ERRORS = 10
"""Fewer in one run of growth are strays, no event: as the memory detector counts."""
DAY_US = 86_400_000_000

Row = dict[str, Any]


def node_pasts(connection: duckdb.DuckDBPyConnection, end_us: int, days: int = DAYS) -> list[NodePast]:
    """One message a node that was seen in the days before `end_us`, with the fleet's rates of its cluster."""
    start_us = (end_us // DAY_US - days + 1) * DAY_US
    span = {"start": start_us, "end": end_us}
    seen = _rows(connection, "presence", span)
    by_gpu: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in _rows(connection, "memory_days", span | {"gap": GAP_US, "least": LEAST_ERRORS}):
        by_gpu[row["cluster"], row["gpu_uuid"]].append(row)
    gpu_days: dict[str, int] = defaultdict(int)
    nodes: dict[tuple[str, str], list[GpuPast]] = defaultdict(list)
    events: dict[str, int] = defaultdict(int)
    event_days: dict[str, int] = defaultdict(int)
    for gpu in seen:
        cluster, uuid = gpu["cluster"], gpu["gpu_uuid"]
        past = _gpu_past(uuid, gpu["days"], by_gpu.get((cluster, uuid), []))
        nodes[cluster, gpu["node"]].append(past)
        gpu_days[cluster] += gpu["days"]
        events[cluster] += sum(past.events.values())
        event_days[cluster] += len(past.events)
    return [
        NodePast(
            cluster=cluster,
            ts_us=end_us,
            node=node,
            gpus=gpus,
            fleet_gpu_days=float(gpu_days[cluster]),
            fleet_events=float(events[cluster]),
            fleet_event_days=float(event_days[cluster]),
        )
        for (cluster, node), gpus in nodes.items()
    ]


def _gpu_past(uuid: str, days: int, rows: list[Row]) -> GpuPast:
    return GpuPast(
        uuid=uuid,
        days={row["day"]: row["errors"] for row in rows if row["errors"] > 0.0},
        events={row["day"]: row["events"] for row in rows if row["events"] > 0},
        correctable_remaps={row["day"]: row["remaps"] for row in rows if row["remaps"] is not None},
        seen_days=days,
    )


@cache
def _text(name: str) -> str:
    return (FOLDER / f"{name}.sql").read_text()


def _rows(connection: duckdb.DuckDBPyConnection, name: str, bound: dict[str, int]) -> list[Row]:
    found: list[Row] = connection.execute(_text(name), bound).to_arrow_table().to_pylist()
    return found
