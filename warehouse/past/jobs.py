"""`rank_steps`, `job_events` with `placements`, `collectives` with what stands beside them as their messages again."""

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
from warehouse.rows.job import BESIDE, COLLECTIVE_OPTIONAL, MEMBER, SHAPE, STEP_OPTIONAL

REPORT = ("ts_us", "cluster", "job", "attempt", "node", "config_hash")
OF_MEMBERS = ("ts_us", "cluster", "job", "node", "source", "comm")
WINDOW = (*OF_MEMBERS, "pid", "job_rank")
OF_WINDOW = (*OF_MEMBERS, "comm_size", "comm_name")
OF_RECORDER = ("comm_nodes", "pid", "job_rank", "gpu_uuid")
PLACED = ("ts_us", "cluster", "job", "topic", "source")
Key = tuple[Any, ...]
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
    """A window a communicator and recorder; those without operations come with members or with what else they told."""
    members: dict[Key, list[Row]] = defaultdict(list)
    for row in rows(connection, "comm_members", start_us, end_us):
        members[_key(row, OF_MEMBERS)].append(row)
    beside = {_key(row, WINDOW): row for row in rows(connection, "collective_windows", start_us, end_us)}
    for key, found in runs(rows(connection, "collectives", start_us, end_us), WINDOW):
        yield _window(found[0], found, members.pop(_key(found[0], OF_MEMBERS), []), beside.pop(key, {}))
    for row in beside.values():
        yield _window(row, [], members.pop(_key(row, OF_MEMBERS), []), row)
    for told in members.values():
        yield _window(told[0], [], told, {})


def _key(row: Row, names: Sequence[str]) -> Key:
    return tuple(row[name] for name in names)


def _window(of: Row, found: list[Row], members: list[Row], beside: Row) -> CollectiveWindow:
    """`of`: any of its rows. One of `comm_members` does not know the recorder, and a window of members has none."""
    columns: dict[str, Any] = {
        name: sent([row[name if name in row else column] for row in found])
        for name, column in COLLECTIVE_OPTIONAL.items()
    }
    columns |= {name: of[name] for name in OF_WINDOW} | {name: of.get(name) for name in OF_RECORDER}
    columns |= {name: beside.get(name) for name in BESIDE}
    return CollectiveWindow(
        members=[CommMember(**{name: row[name] for name in MEMBER}) for row in members],
        rank=[row["rank"] for row in found],
        seq=[row["seq"] for row in found],
        coll=[row["coll"] for row in found],
        **columns,
    )


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
