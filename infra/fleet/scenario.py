"""A scenario file: a fleet, its jobs, and what goes wrong, with the truth about it."""

import math
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collectors.contract.errors import UserError
from infra.fleet.fault import KINDS, XID_WORDS, Fault
from infra.fleet.layout import Layout
from infra.fleet.reading import Table
from infra.fleet.telemetry import PERFECT, Telemetry


class ScenarioError(UserError):
    """A scenario that cannot be used; the text names the file, the key and what to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobPlan:
    """One synchronous training job. The default shape is an 8B Llama-like model."""

    name: str
    nodes: tuple[str, ...]
    tp: int = 2
    pp: int = 1
    step_s: float = 1.0
    """Wished step time; whole sequences make the true one differ a little."""
    mfu: float = 0.42
    """Of a step without faults."""
    params: float = 8.03e9
    layers: int = 32
    heads: int = 32
    head_dim: int = 128
    seq_len: int = 4096
    dtype: str = "bf16"
    microbatches: int = 8
    checkpoint_every: int = 0
    """Steps; 0: never."""
    checkpoint_s: float = 2.0
    start_s: float = 0.0
    end_s: float = math.inf
    """When it is done and leaves its nodes."""
    restart_s: float = 8.0
    """From the failure of an attempt to the first step of the next."""
    elastic: bool = True
    """Goes on without a lost node if the rest can hold its parallel layout; else it ends."""
    sigma: float = 0.005
    """Of the logarithm of a rank's own compute, from step to step, on top of what all ranks share."""
    reports: bool = True
    """Its ranks report their steps, and their life."""
    inspector: bool = True
    """It runs with the NCCL Inspector."""
    ras: bool = False
    """NCCL's RAS is asked how far its ranks are."""


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """What a fleet does for `seconds`."""

    name: str
    about: str = ""
    seconds: float = 120.0
    interval_s: float = 1.0
    seed: int = 1
    noise: float = 1.0
    nvlinks: bool = False
    """The exporter shows the state of each NVLink."""
    layout: Layout
    jobs: tuple[JobPlan, ...] = ()
    faults: tuple[Fault, ...] = field(default_factory=tuple)
    telemetry: Telemetry = PERFECT

    def plan(self, job: str) -> JobPlan:
        """The job of that name."""
        return next(plan for plan in self.jobs if plan.name == job)


def load(path: Path) -> Scenario:
    """Read one file. Raises `ScenarioError` naming the file, the key and what is wrong with it."""
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as why:
        raise ScenarioError(f"{path}: cannot be read: {why}") from why
    return parse(text, str(path), path.stem)


def named(text: str) -> Path:
    """A path, or the name of a scenario that comes with Lockstep (`demo`)."""
    path = Path(text)
    own = Path(__file__).parent / "scenarios" / f"{text}.toml"
    return own if not path.exists() and own.exists() else path


def parse(text: str, where: str, name: str) -> Scenario:
    """A scenario from TOML text. Raises `ScenarioError`."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as why:
        raise ScenarioError(f"{where}: not TOML: {why}") from why
    top = Table(document, where, "", ScenarioError)
    fleet = top.table("fleet")
    nodes = fleet.whole("nodes", 8, 1, 4096)
    layout = Layout(
        nodes=nodes,
        gpus=fleet.whole("gpus", 8, 1, 16),
        switches=fleet.whole("switches", 4, 0, 1024),
        racks=fleet.whole("racks", min(2, nodes), 1, 4096),
        model=fleet.text("model", "NVIDIA H100 80GB HBM3"),
        spines=fleet.whole("spines", 0, 0, 64),
    )
    if layout.racks > layout.nodes:
        raise fleet.wrong("racks", f"{layout.racks} racks for {layout.nodes} nodes; write {layout.nodes} or less")
    jobs = tuple(_job(table, layout) for table in top.tables("jobs"))
    _no_shared_nodes(jobs, top)
    scenario = Scenario(
        name=top.text("name", name),
        about=top.text("about", ""),
        seconds=top.number("seconds", 120.0, 1.0, 1e8),
        interval_s=fleet.number("interval_s", 1.0, 0.1, 3600.0),
        seed=fleet.whole("seed", 1, 0, 2**31),
        noise=fleet.number("noise", 1.0, 0.0, 20.0),
        nvlinks=fleet.flag("nvlinks", False),
        layout=layout,
        jobs=jobs,
        faults=tuple(_fault(table, layout, jobs) for table in top.tables("faults")),
        telemetry=_telemetry(top.table("telemetry")),
    )
    fleet.finish()
    top.finish()
    return scenario


def _job(table: Table, layout: Layout) -> JobPlan:
    plan = JobPlan(
        name=table.text("name"),
        nodes=_nodes(table, layout),
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


def _nodes(table: Table, layout: Layout) -> tuple[str, ...]:
    """Names of nodes; `node-01..node-64` is all from the one to the other."""
    known = layout.node_names
    out: list[str] = []
    for item in table.texts("nodes"):
        ends = [table.one_of("nodes", name, known) for name in item.split("..", 1)]
        first, last = known.index(ends[0]), known.index(ends[-1])
        if last < first:
            raise table.wrong("nodes", f"{item}: the last node comes before the first")
        out += known[first : last + 1]
    return tuple(out)


def _telemetry(table: Table) -> Telemetry:
    restarts = table.numbers("restarts_s", [])
    telemetry = Telemetry(
        missing=table.number("missing", 0.0, 0.0, 1.0),
        duplicates=table.number("duplicates", 0.0, 0.0, 1.0),
        late=table.number("late", 0.0, 0.0, 1.0),
        late_s=table.number("late_s", 3.0, 0.0, 3600.0),
        jitter_s=table.number("jitter_s", 0.0, 0.0, 60.0),
        unreadable=table.number("unreadable", 0.0, 0.0, 1.0),
        restarts_s=tuple(sorted(restarts)),
    )
    table.finish()
    return telemetry


def _fault(table: Table, layout: Layout, jobs: tuple[JobPlan, ...]) -> Fault:
    name = table.one_of("kind", table.text("kind"), tuple(KINDS))
    kind = KINDS[name]
    target = table.one_of("target", table.text("target"), _targets(kind.target, layout, jobs))
    code = table.whole("code", 0, 1, 1000) if name == "xid" else None
    if name == "xid" and code == 0:
        raise table.wrong("code", "missing; write the XID number")
    page = table.flag("page", kind.page)
    words = (f"xid_{code}", *XID_WORDS.get(code, ())) if name == "xid" and code is not None else kind.expect
    expect = tuple(table.texts("expect", list(words)))
    if page and not expect:
        raise table.wrong("expect", "missing; write the cause words, one of which must be named")
    from_s = table.number("from_s", 0.0, 0.0, 1e8)
    fault = Fault(
        kind=name,
        target=target,
        from_s=from_s,
        to_s=table.number("to_s", math.inf, 0.0, math.inf),
        size=table.number("size", kind.size, kind.low, kind.high),
        code=code,
        every_s=table.number("every_s", math.inf, 0.1, 1e8),
        for_s=table.number("for_s", math.inf, 0.1, 1e8),
        expect=expect,
        page=page,
        optional=table.flag("optional", False),
        within_s=table.number("within_s", 60.0, 1.0, 1e7),
    )
    if fault.to_s <= fault.from_s:
        raise table.wrong("to_s", f"{fault.to_s} is not after from_s {fault.from_s}")
    if (fault.every_s == math.inf) != (fault.for_s == math.inf):
        raise table.wrong("every_s", "stands with for_s or not at all")
    table.finish()
    return fault


def _targets(kind: str, layout: Layout, jobs: tuple[JobPlan, ...]) -> tuple[str, ...]:
    known: dict[str, Any] = {
        "gpu": layout.gpu_by_name,
        "node": layout.node_names,
        "port": layout.cable_by_name,
        "rack": layout.rack_nodes,
        "switch": layout.switch_names,
        "job": [plan.name for plan in jobs],
        "stage": [f"{plan.name}/stage-{i}" for plan in jobs for i in range(plan.pp)],
    }
    return tuple(known[kind])


def _no_shared_nodes(jobs: tuple[JobPlan, ...], top: Table) -> None:
    for i, plan in enumerate(jobs):
        for other in jobs[:i]:
            shared = set(plan.nodes) & set(other.nodes)
            if shared and plan.start_s < other.end_s and other.start_s < plan.end_s:
                raise top.wrong("jobs", f"{min(shared)} is given to both {other.name} and {plan.name}")
            if plan.name == other.name:
                raise top.wrong("jobs", f"two jobs are called {plan.name}")
