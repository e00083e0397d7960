"""JSON of `scontrol show job`, `squeue` and `sacct` -> a listing. Old and new data parsers, by their keys.

Forms: a number is bare, or `{"set", "infinite", "number"}` since data_parser/v0.0.40; a state is text or a list with
flags; `sacct` nests states, times and resources.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from collectors.contract.job import Placement
from collectors.discovery.hostlist import HostlistError, expand
from collectors.placement.listing import Ended, Held, Listing
from collectors.slurm.gres import MOST, GresError, gpus_of_tres, indexes
from collectors.slurm.values import complaint, moment, whole

MOST_NODES = 65536
ATTEMPTS = 1000
"""A requeue weighs so many restarts of the framework, as in the training client."""

HOLDS = frozenset({"RUNNING", "SUSPENDED", "STOPPED", "COMPLETING"})
OVER = frozenset(
    {
        "COMPLETED",
        "FAILED",
        "CANCELLED",
        "TIMEOUT",
        "NODE_FAIL",
        "PREEMPTED",
        "OUT_OF_MEMORY",
        "BOOT_FAIL",
        "DEADLINE",
        "REVOKED",
    }
)
"""Base states that end a job (slurm.h, enum job_states)."""


class ReplyError(ValueError):
    """Not an answer of Slurm, or one in which Slurm says that it failed."""


class JobError(ValueError):
    """One job that cannot be read."""


def read_reply(raw: bytes) -> Listing:
    """Jobs with GPUs, and all that ended. Raises `ReplyError`; a single bad job is said in `unread`."""
    try:
        document = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError) as why:
        raise ReplyError(f"not JSON: {why}") from why
    if not isinstance(document, dict) or not isinstance(document.get("jobs"), list):
        raise ReplyError("no list of jobs in it; it is not what squeue, sacct or scontrol write with --json")
    errors = [complaint(one) for one in document.get("errors") or ()]
    if errors:
        raise ReplyError("; ".join(errors[:3]))
    held: list[Held] = []
    ended: list[Ended] = []
    unread: list[str] = []
    for number, job in enumerate(document["jobs"], start=1):
        try:
            _read_job(job, held, ended)
        except (JobError, GresError, HostlistError) as why:
            unread.append(f"job {job.get('job_id', '?') if isinstance(job, dict) else f'number {number}'}: {why}")
    # Of a job that was requeued sacct lists every life, the last one last.
    lives = {one.job: one for one in held}
    ends = {one.job: one for one in ended}
    return Listing("slurm", tuple(lives.values()), tuple(ends.values()), not unread, tuple(unread))


def _read_job(job: Any, held: list[Held], ended: list[Ended]) -> None:
    if not isinstance(job, dict):
        raise JobError("not an object")
    number = whole(job.get("job_id"))
    if number is None:
        raise JobError("no job_id")
    name, state = str(number), _state(job)
    restarts = whole(job.get("restart_cnt")) or 0
    times = job.get("time") if isinstance(job.get("time"), dict) else job
    if state in HOLDS:
        since_s = moment(_first(times, "start_time", "start"))
        if since_s is None:
            raise JobError(f"{state} without a start time")
        placement = tuple(_placement(job))
        if placement:
            since_us = since_s * 1_000_000
            aliases = tuple(_aliases(job, name))
            held.append(
                Held(job=name, attempt=ATTEMPTS * restarts, since_us=since_us, placement=placement, aliases=aliases)
            )
    elif state in OVER:
        end_s = moment(_first(times, "end_time", "end"))
        if end_s is not None:
            why, ts_us = _reason(job), end_s * 1_000_000
            ended.append(Ended(job=name, attempt=ATTEMPTS * restarts, ts_us=ts_us, state=state.lower(), reason=why))
    elif restarts and (again_s := moment(_first(times, "submit_time", "submission"))):
        # It waits to run again: a requeue sets the time of submission.
        attempt = ATTEMPTS * (restarts - 1)
        ended.append(Ended(job=name, attempt=attempt, ts_us=again_s * 1_000_000, state="requeued", reason=_reason(job)))


def _placement(job: dict[str, Any]) -> Iterator[Placement]:
    nodes = _nodes(job)
    rows = [(node, index) for node, found in zip(nodes, _gpus(job, len(nodes)), strict=True) for index in found]
    for place, (node, index) in enumerate(rows, start=1):
        yield Placement(rank=-place, node=node, gpu_index=index)


def _nodes(job: dict[str, Any]) -> list[str]:
    nodes = job.get("nodes")
    if isinstance(nodes, dict):
        nodes = nodes.get("list") or nodes.get("name")
    return expand(nodes, MOST_NODES) if isinstance(nodes, str) and nodes not in ("", "None assigned") else []


def _gpus(job: dict[str, Any], nodes: int) -> list[list[int | None]]:
    """Of each node, in the order of the node list."""
    detail = job.get("gres_detail")
    if isinstance(detail, list) and detail:
        if len(detail) != nodes:
            raise JobError(f"gres_detail of {len(detail)} nodes, {nodes} nodes")
        return [indexes(str(one)) for one in detail]
    count = _gpu_count(job)
    if count == 0 or nodes == 0:
        return [[] for _ in range(nodes)]
    if count % nodes or count // nodes > MOST:
        raise JobError(f"{count} GPUs on {nodes} nodes, and no gres_detail that says which")
    return [[None] * (count // nodes) for _ in range(nodes)]


def _gpu_count(job: dict[str, Any]) -> int:
    tres = job.get("tres")
    if isinstance(tres, dict) and isinstance(tres.get("allocated"), list):
        rows = [one for one in tres["allocated"] if isinstance(one, dict) and one.get("type") == "gres"]
        plain = [whole(one.get("count")) or 0 for one in rows if one.get("name") == "gpu"]
        return (
            plain[0]
            if plain
            else sum(whole(r.get("count")) or 0 for r in rows if str(r.get("name")).startswith("gpu:"))
        )
    text = job.get("tres_alloc_str")
    return gpus_of_tres(text) if isinstance(text, str) else 0


def _aliases(job: dict[str, Any], name: str) -> Iterator[str]:
    """`4711_7` for a task of an array, as people write it."""
    array = job.get("array")
    array = array if isinstance(array, dict) else {}
    parent = whole(job.get("array_job_id", array.get("job_id")))
    task = whole(job.get("array_task_id", array.get("task_id")))
    if parent and task is not None and f"{parent}_{task}" != name:
        yield f"{parent}_{task}"


def _state(job: dict[str, Any]) -> str:
    """The base state; flags such as COMPLETING or REQUEUED follow it."""
    state = job.get("job_state", job.get("state"))
    if isinstance(state, dict):
        state = state.get("current")
    words = [str(word).upper() for word in (state if isinstance(state, list) else str(state or "").split())]
    return next((word for word in words if word in HOLDS | OVER), words[0] if words else "")


def _reason(job: dict[str, Any]) -> str | None:
    state = job.get("state")
    reason = job.get("state_reason") or (state.get("reason") if isinstance(state, dict) else None)
    parts = [str(reason)] if reason and str(reason) != "None" else []
    code = job.get("exit_code")
    if isinstance(code, dict):
        signal = code.get("signal")
        killed = signal.get("name") if isinstance(signal, dict) else None
        returned = whole(code.get("return_code"))
        if killed and killed != "NONE":
            parts.append(f"signal {killed}")
        elif returned:
            parts.append(f"exit code {returned}")
    return ", ".join(parts) or None


def _first(times: Any, *names: str) -> Any:
    return next((times[name] for name in names if times.get(name) is not None), None)
