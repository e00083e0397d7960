"""What the warehouse knows of every GPU's memory, for the detectors: event-days outlive Kafka's retention."""

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from operator import itemgetter
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
ROWS = 2_000_000
"""Put in order at a time, so that memory does not grow with the fleet: some hundred megabytes."""
DAY_US = 86_400_000_000

Row = dict[str, Any]


def node_pasts(
    connection: duckdb.DuckDBPyConnection, end_us: int, days: int = DAYS, most: int = ROWS
) -> list[NodePast]:
    """One message a node that was seen in the days before `end_us`, with the fleet's rates of its cluster.

    `days`: at most 64, today included. Reads every scrape of them; `most` bounds the memory that it takes.
    """
    start_us = (end_us // DAY_US - days + 1) * DAY_US
    span = {"start": start_us, "end": end_us}
    seen = _rows(connection, "seen", span)
    by_gpu: dict[tuple[str, str], list[Row]] = defaultdict(list)
    limits = {"gap": GAP_US, "least": LEAST_ERRORS}
    for cluster, gpus in _portions([gpu for gpu in seen if gpu["moved"]], most):
        for row in _rows(connection, "memory_days", span | limits | {"cluster": cluster, "gpus": gpus}):
            by_gpu[cluster, row["gpu_uuid"]].append(row)
    gpu_days: dict[str, int] = defaultdict(int)
    nodes: dict[tuple[str, str], list[GpuPast]] = defaultdict(list)
    events: dict[str, int] = defaultdict(int)
    event_days: dict[str, int] = defaultdict(int)
    for gpu in sorted(seen, key=itemgetter("cluster", "node", "gpu_uuid")):
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


def _portions(gpus: list[Row], most: int) -> Iterator[tuple[str, list[str]]]:
    """Neighbours in the files' order, of one cluster, that have at most so many rows together or are one."""
    for cluster, those in groupby(gpus, key=itemgetter("cluster")):
        names: list[str] = []
        held = 0
        for gpu in those:
            if names and held + gpu["n"] > most:
                yield cluster, names
                names, held = [], 0
            names.append(gpu["gpu_uuid"])
            held += gpu["n"]
        if names:
            yield cluster, names


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


def _rows(connection: duckdb.DuckDBPyConnection, name: str, bound: dict[str, Any]) -> list[Row]:
    found: list[Row] = connection.execute(_text(name), bound).to_arrow_table().to_pylist()
    return found
