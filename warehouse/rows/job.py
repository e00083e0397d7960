"""Job messages into `rank_steps`, `job_events`, `placements`, `collectives` and what stands beside those."""

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from collectors.contract.job import CollectiveWindow, JobEvent, ModelShape, StepReport
from warehouse.rows.arrow import Tables, build, check_parallel, from_rows

STEP = ("step_s", "compute_s", "wait_s", "transfer_s", "data_s", "checkpoint_s", "cpu_s")
STEP_OPTIONAL = (
    *(*STEP, "tokens", "sum_sq_len", "tflops_per_gpu"),
    *("global_batch_size", "microbatch_forward_s", "microbatch_backward_s"),
)
COLLECTIVE_OPTIONAL = {
    name: name.replace("_us", "_at") if name in ("created_us", "started_us", "completed_us") else name
    for name in (
        *("bytes", "exec_us", "algbw_gbs", "busbw_gbs", "timing", "peer", "state", "op_id", "created_us", "started_us"),
        *("completed_us", "dtype", "algo", "size_class", "variant", "wrong"),
    )
}
"""Column of the message -> column of the table."""
OF_MEMBERS = ("cluster", "job", "node", "ts", "source", "comm", "comm_size", "comm_name")
BESIDE = ("comm_ranks", "dropped", "last_enqueued", "last_started", "last_completed")
"""What a window tells of itself, not of an operation or a member."""
WINDOW = (
    *("cluster", "job", "node", "ts", "source", "comm", "comm_size", "comm_nodes", "comm_name"),
    *("pid", "job_rank", "gpu_uuid", *BESIDE),
)
MEMBER = ("rank", "host", "pid", "gpu", "nvml", "pci", "state", "error")
EVENT = (
    *("state", "reason", "step", "bytes", "seconds", "rank", "node", "pid", "flops_per_token", "source", "aliases"),
    "config_hash",
)
SHAPE = ("params", "active_params", "layers", "heads", "head_dim", "seq_len", "dtype")
EVENTS = ("cluster", "job", "attempt", "ts", "topic", "kind", "ranks", "model", *SHAPE, *EVENT)
PLACEMENTS = (
    "cluster",
    "job",
    "attempt",
    "ts",
    "topic",
    "rank",
    "node",
    "gpu_uuid",
    "gpu_model",
    "dp",
    "tp",
    "pp",
    "cp",
    "ep",
    "source",
    "gpu_index",
    "pod",
    "virtual_stages",
)


def step_tables(messages: Sequence[StepReport]) -> Tables:
    """A row a rank and step. Raises ValueError for columns of unequal length."""
    same = ("cluster", "job", "attempt", "node", "config_hash")
    columns: dict[str, list[Any]] = {
        name: [] for name in (*same, "ts", "rank", "step", "phase", "start_at", *STEP_OPTIONAL)
    }
    for message in messages:
        count = len(message.rank)
        for name in same:
            columns[name] += [getattr(message, name)] * count
        columns["ts"] += [message.ts_us] * count
        for name in ("rank", "step", "phase"):
            values = getattr(message, name)
            check_parallel(name, values, count)
            columns[name] += values
        columns["start_at"] += _optional("start_us", message.start_us, count)
        for name in STEP_OPTIONAL:
            columns[name] += _optional(name, getattr(message, name), count)
    return {"rank_steps": build("rank_steps", columns)} if columns["ts"] else {}


def collective_tables(messages: Sequence[CollectiveWindow]) -> Tables:
    """A row a rank and collective, a row a member told, and one for what else a window told.

    Raises ValueError for columns of unequal length.
    """
    of_comm = ("cluster", "job", "node", "comm", "comm_size", "comm_nodes", "comm_name")
    same = (*of_comm, "pid", "source", "job_rank", "gpu_uuid")
    own = ("rank", "seq", "coll", *COLLECTIVE_OPTIONAL.values())
    columns: dict[str, list[Any]] = {name: [] for name in (*same, "ts", *own)}
    for message in messages:
        count = len(message.rank)
        for name in same:
            columns[name] += [getattr(message, name)] * count
        columns["ts"] += [message.ts_us] * count
        for name in ("rank", "seq", "coll"):
            values = getattr(message, name)
            check_parallel(name, values, count)
            columns[name] += values
        for name, column in COLLECTIVE_OPTIONAL.items():
            columns[column] += _optional(name, getattr(message, name), count)
    members = [
        (*(m.cluster, m.job, m.node, m.ts_us, m.source, m.comm, m.comm_size, m.comm_name), *_named(member, MEMBER))
        for m in messages
        for member in m.members
    ]
    windows = [_named(m, ("ts_us" if name == "ts" else name for name in WINDOW)) for m in messages if _tells_more(m)]
    rows = {"collectives": build("collectives", columns)} if columns["ts"] else {}
    rows |= from_rows("comm_members", (*OF_MEMBERS, *MEMBER), members)
    return rows | from_rows("collective_windows", WINDOW, windows)


def _tells_more(window: CollectiveWindow) -> bool:
    """More than its operations and members; or nothing, which must not be lost either."""
    return not (window.rank or window.members) or any(getattr(window, name) is not None for name in BESIDE)


def _named(thing: Any, names: Iterable[str]) -> tuple[Any, ...]:
    return tuple(getattr(thing, name) for name in names)


def _optional(name: str, values: list[Any], count: int) -> list[Any]:
    if not values:
        return [None] * count
    check_parallel(name, values, count)
    return values


def job_tables(messages: Sequence[JobEvent], topic: str) -> Tables:
    """A row an event, and a row for each rank of a placed event."""
    events, placements = [], []
    for message in messages:
        of_event = (message.cluster, message.job, message.attempt, message.ts_us, topic)
        shape = message.model or ModelShape()
        events.append(
            (
                *of_event,
                message.kind,
                len(message.placement) if message.kind == "placed" else None,
                shape.name,
                *(getattr(shape, name) for name in SHAPE),
                *(getattr(message, name) for name in EVENT),
            )
        )
        for at in message.placement:
            c = at.coords
            where = (at.rank, at.node, at.gpu_uuid, at.gpu_model, c.dp, c.tp, c.pp, c.cp, c.ep)
            placements.append((*of_event, *where, message.source, at.gpu_index, at.pod, c.virtual_stages))
    return from_rows("job_events", EVENTS, events) | from_rows("placements", PLACEMENTS, placements)


event_tables = partial(job_tables, topic="job.events.v1")
placement_tables = partial(job_tables, topic="job.placements.v1")
