"""`rank_steps`, `job_events` with `placements`, `collectives` with `comm_members` as their messages again."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb

from collectors.contract.job import (
    CollectiveWindow,
    CommMember,
    Coords,
    JobEvent,
    ModelShape,
    Placement,
    StepReport,
)
from warehouse.past.reading import Row, rows, runs, sent
from warehouse.rows.job import COLLECTIVE_OPTIONAL, MEMBER, SHAPE, STEP_OPTIONAL

REPORT = ("ts_us", "cluster", "job", "attempt", "node", "config_hash")
WINDOW = ("ts_us", "cluster", "job", "node", "source", "comm", "pid", "job_rank")
PLACED = ("ts_us", "cluster", "job", "topic", "source")
OF_EVENT = (
    "state",
    "reason",
    "step",
    "bytes",
    "seconds",
    "rank",
    "node",
    "pid",
    "flops_per_token",
    "source",
    "config_hash",
)


def step_messages(connection: duckdb.DuckDBPyConnection, start_us: int, end_us: int) -> Iterator[StepReport]:
    """A report a node and time of closing."""
    for key, found in runs(rows(connection, "rank_steps", start_us, end_us), REPORT):
        steps = list({(row["rank"], row["step"]): row for row in found}.values())
        told: dict[str, Any] = dict(zip(REPORT, key, strict=True))
        told |= {name: sent([row[name] for row in steps]) for name in STEP_OPTIONAL}
        yield StepReport(
            **told,
            rank=[row["rank"] for row in steps],
            step=[row["step"] for row in steps],
            phase=[row["phase"] for row in steps],
            start_us=sent([row["start_us"] for row in steps]),
        )


def job_messages(connection: duckdb.DuckDBPyConnection, start_us: int, end_us: int) -> Iterator[tuple[str, JobEvent]]:
    """(topic, event); a placed event has its whole placement."""
    placed = {key: _placement(found) for key, found in runs(rows(connection, "placements", start_us, end_us), PLACED)}
    for row in rows(connection, "job_events", start_us, end_us):
        shape = {name: row[name] for name in SHAPE} | {"name": row["model"]}
        yield (
            row["topic"],
            JobEvent(
                cluster=row["cluster"],
                ts_us=row["ts_us"],
                job=row["job"],
                attempt=row["attempt"],
                kind=row["kind"],
                placement=placed.get(tuple(row[part] for part in PLACED), []) if row["kind"] == "placed" else [],
                model=ModelShape(**shape) if any(value is not None for value in shape.values()) else None,
                aliases=row["aliases"] or [],
                **{name: row[name] for name in OF_EVENT},
            ),
        )


def placed_before(found: Sequence[Row]) -> Iterator[JobEvent]:
    """Placements that stood already: as `placed` events."""
    for (ts_us, cluster, job, _, source), those in runs(found, PLACED):
        yield JobEvent(
            cluster=cluster,
            ts_us=ts_us,
            job=job,
            attempt=those[0]["attempt"],
            kind="placed",
            placement=_placement(those),
            source=source,
        )


def window_messages(connection: duckdb.DuckDBPyConnection, start_us: int, end_us: int) -> Iterator[CollectiveWindow]:
    """A window a communicator and recorder; members that were told without operations come as windows of no rows."""
    of = ("ts_us", "cluster", "job", "node", "source", "comm")
    members: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows(connection, "comm_members", start_us, end_us):
        members[tuple(row[part] for part in of)].append(row)
    for _, found in runs(rows(connection, "collectives", start_us, end_us), WINDOW):
        first = found[0]
        told = members.pop(tuple(first[part] for part in of), [])
        columns: dict[str, Any] = {
            name: sent([row[name if name in row else column] for row in found])
            for name, column in COLLECTIVE_OPTIONAL.items()
        }
        yield CollectiveWindow(
            **_of_window(first),
            comm_nodes=first["comm_nodes"],
            pid=first["pid"],
            job_rank=first["job_rank"],
            gpu_uuid=first["gpu_uuid"],
            members=_members(told),
            rank=[row["rank"] for row in found],
            seq=[row["seq"] for row in found],
            coll=[row["coll"] for row in found],
            **columns,
        )
    for told in members.values():
        yield CollectiveWindow(**_of_window(told[0]), members=_members(told), rank=[], seq=[], coll=[])


def _of_window(row: Row) -> dict[str, Any]:
    names = ("cluster", "ts_us", "job", "node", "comm", "comm_size", "comm_name", "source")
    return {name: row[name] for name in names}


def _members(found: list[Row]) -> list[CommMember]:
    return [CommMember(**{name: row[name] for name in MEMBER}) for row in found]


def _placement(found: Sequence[Row]) -> list[Placement]:
    return [
        Placement(
            rank=row["rank"],
            node=row["node"],
            gpu_uuid=row["gpu_uuid"],
            gpu_index=row["gpu_index"],
            pod=row["pod"],
            gpu_model=row["gpu_model"],
            coords=Coords(
                **{name: row[name] for name in ("dp", "tp", "pp", "cp", "ep")},
                virtual_stages=None if row["virtual_stages"] is None else tuple(row["virtual_stages"]),
            ),
        )
        for row in {row["rank"]: row for row in found}.values()
    ]
