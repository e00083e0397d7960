"""The tables of a scenario file, one by one."""

import math
from typing import Any

from infra.fleet import rollout
from infra.fleet.fault import KINDS, XID_WORDS, Fault
from infra.fleet.job_plan import JobPlan
from infra.fleet.kernel_log import RECOVERIES
from infra.fleet.layout import Layout
from infra.fleet.planned import Cordon, Work
from infra.fleet.reading import ANY, Table
from infra.fleet.telemetry import Telemetry


def job(table: Table, layout: Layout) -> JobPlan:
    """One of `[[jobs]]`. Raises the table\'s error."""
    plan = JobPlan(
        name=table.text("name"),
        nodes=node_names(table, "nodes", layout.node_names),
        tp=table.whole("tp", 2, 1, 64),
        pp=table.whole("pp", 1, 1, 64),
        step_s=table.number("step_s", 1.0, 0.05, 3600.0),
        mfu=table.number("mfu", 0.42, 0.01, 0.9),
        params=table.number("params", 8.03e9, 1e6, 1e14),
        layers=table.whole("layers", 32, 1, 1000),
        heads=table.whole("heads", 32, 1, 1000),
        head_dim=table.whole("head_dim", 128, 1, 1024),
        seq_len=table.whole("seq_len", 4096, 1, 2**21),
        dtype=table.text("dtype", "bf16"),
        microbatches=table.whole("microbatches", 8, 1, 4096),
        checkpoint_every=table.whole("checkpoint_every", 0, 0, 10**7),
        checkpoint_s=table.number("checkpoint_s", 2.0, 0.0, 3600.0),
        start_s=table.number("start_s", 0.0, 0.0, 1e8),
        end_s=table.number("end_s", math.inf, 0.0, math.inf),
        restart_s=table.number("restart_s", 8.0, 3.0, 1e6),
        elastic=table.flag("elastic", True),
        sigma=table.number("sigma", 0.005, 0.0, 1.0),
        reports=table.flag("reports", True),
        inspector=table.flag("inspector", True),
        ras=table.flag("ras", False),
        dump_s=table.number("dump_s", math.inf, 1.0, math.inf),
    )
    world = len(plan.nodes) * layout.gpus
    if len(set(plan.nodes)) != len(plan.nodes):
        raise table.wrong("nodes", "a node stands twice")
    if world == 0 or world % (plan.tp * plan.pp):
        raise table.wrong("tp", f"tp {plan.tp} x pp {plan.pp} does not divide the job's {world} GPUs")
    if plan.end_s <= plan.start_s:
        raise table.wrong("end_s", f"{plan.end_s} is not after start_s {plan.start_s}")
    table.finish()
    return plan


def node_names(table: Table, key: str, known: tuple[str, ...], absent: Any = ANY) -> tuple[str, ...]:
    """Names of nodes under a key; `node-01..node-64` is all from the one to the other."""
    out: list[str] = []
    for item in table.texts(key, absent):
        ends = [table.one_of(key, name, known) for name in item.split("..", 1)]
        first, last = known.index(ends[0]), known.index(ends[-1])
        if last < first:
            raise table.wrong(key, f"{item}: the last node comes before the first")
        out += known[first : last + 1]
    return tuple(out)


def work(table: Table) -> Work:
    """One of `[[maintenance]]`. Raises the table\'s error."""
    made = Work(
        parts=tuple(table.texts("parts")),
        from_s=table.number("from_s", 0.0, 0.0, 1e8),
        to_s=table.number("to_s", math.inf, 0.0, 1e8),
    )
    for part in made.parts:
        if ":" not in part:
            raise table.wrong("parts", f"{part!r} is not of the form kind:id; write node:node-01")
    if not made.from_s < made.to_s < math.inf:
        raise table.wrong("to_s", "missing, or not after from_s")
    table.finish()
    return made


def cordon(table: Table, layout: Layout) -> Cordon:
    """One of `[[cordons]]`. Raises the table\'s error."""
    made = Cordon(
        node=table.one_of("node", table.text("node"), layout.node_names),
        from_s=table.number("from_s", 0.0, 0.0, 1e8),
    )
    table.finish()
    return made


def telemetry(table: Table) -> Telemetry:
    """`[telemetry]`. Raises the table\'s error."""
    restarts = table.numbers("restarts_s", [])
    made = Telemetry(
        missing=table.number("missing", 0.0, 0.0, 1.0),
        duplicates=table.number("duplicates", 0.0, 0.0, 1.0),
        late=table.number("late", 0.0, 0.0, 1.0),
        late_s=table.number("late_s", 3.0, 0.0, 3600.0),
        jitter_s=table.number("jitter_s", 0.0, 0.0, 60.0),
        unreadable=table.number("unreadable", 0.0, 0.0, 1.0),
        restarts_s=tuple(sorted(restarts)),
    )
    table.finish()
    return made


def faults(table: Table, layout: Layout, jobs: tuple[JobPlan, ...]) -> list[Fault]:
    """One of `[[faults]]`: one fault, of a rollout one more for each node. Raises the table's error."""
    name = table.one_of("kind", table.text("kind"), tuple(KINDS))
    kind = KINDS[name]
    target = table.one_of("target", table.text("target"), _targets(kind.target, layout, jobs))
    code = table.whole("code", 0, 1, 1000) if name == "xid" else None
    if name == "xid" and code == 0:
        raise table.wrong("code", "missing; write the XID number")
    recovery = table.text("recovery", "") if name == "xid" else ""
    if recovery:
        table.one_of("recovery", recovery, RECOVERIES)
    page = table.flag("page", kind.page)
    words = (f"xid_{code}", *XID_WORDS.get(code, ())) if name == "xid" and code is not None else kind.expect
    expect = tuple(table.texts("expect", list(words)))
    if page and not expect:
        raise table.wrong("expect", "missing; write the cause words, one of which must be named")
    from_s = table.number("from_s", 0.0, 0.0, 1e8)
    made = Fault(
        kind=name,
        target=target,
        from_s=from_s,
        to_s=table.number("to_s", math.inf, 0.0, math.inf),
        size=table.number("size", kind.size, kind.low, kind.high),
        code=code,
        text=table.text("text", "") or None if name == "xid" else None,
        recovery=recovery or None,
        every_s=table.number("every_s", math.inf, 0.1, 1e8),
        for_s=table.number("for_s", math.inf, 0.1, 1e8),
        expect=expect,
        page=page,
        optional=table.flag("optional", False),
        within_s=table.number("within_s", 60.0, 1.0, 1e7),
    )
    if made.to_s <= made.from_s:
        raise table.wrong("to_s", f"{made.to_s} is not after from_s {made.from_s}")
    if name == "gpu_missing" and from_s > 0.0:
        raise table.wrong("from_s", "a GPU that never came up is missing from the start: leave it out")
    if name != "bad_rollout" and (made.every_s == math.inf) != (made.for_s == math.inf):
        raise table.wrong("every_s", "stands with for_s or not at all")
    table.finish()
    return rollout.parts(made, layout) if name == "bad_rollout" else [made]


def _targets(kind: str, layout: Layout, jobs: tuple[JobPlan, ...]) -> tuple[str, ...]:
    known: dict[str, Any] = {
        "gpu": layout.gpu_by_name,
        "node": layout.node_names,
        "port": layout.cable_by_name,
        "rack": layout.rack_nodes,
        "switch": layout.switch_names,
        "fleet": ("fleet",),
        "job": [plan.name for plan in jobs],
        "stage": [f"{plan.name}/stage-{i}" for plan in jobs for i in range(plan.pp)],
    }
    return tuple(known[kind])
