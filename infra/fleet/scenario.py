"""A scenario file: a fleet, its jobs, and what goes wrong, with the truth about it."""

import tomllib
from dataclasses import dataclass, field, replace
from pathlib import Path

from collectors.contract.errors import UserError
from infra.fleet.fault import Fault
from infra.fleet.job_plan import JobPlan
from infra.fleet.layout import Layout
from infra.fleet.planned import Cordon, Work
from infra.fleet.reading import Table
from infra.fleet.scenario_tables import cordon, faults, job, node_names, telemetry, work
from infra.fleet.telemetry import PERFECT, Telemetry


class ScenarioError(UserError):
    """A scenario that cannot be used; the text names the file, the key and what to write."""


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
    works: tuple[Work, ...] = ()
    cordons: tuple[Cordon, ...] = ()
    states: bool = False
    """A scheduler tells of nodes and racks."""
    kernel: bool = True
    """The kernel logs of the nodes are read."""
    nics: bool = False
    """The NICs of the hosts are read too."""

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
        second_model=fleet.text("second_model", ""),
        second_speed=fleet.number("second_speed", 1.0, 0.05, 20.0),
    )
    second = frozenset(node_names(fleet, "second_nodes", layout.node_names, []))
    layout = replace(layout, second_nodes=second)
    if bool(layout.second_model) != bool(second):
        raise fleet.wrong("second_model", "stands with second_nodes or not at all")
    if layout.racks > layout.nodes:
        raise fleet.wrong("racks", f"{layout.racks} racks for {layout.nodes} nodes; write {layout.nodes} or less")
    jobs = tuple(job(table, layout) for table in top.tables("jobs"))
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
        faults=tuple(one for table in top.tables("faults") for one in faults(table, layout, jobs)),
        telemetry=telemetry(top.table("telemetry")),
        works=tuple(work(table) for table in top.tables("maintenance")),
        cordons=tuple(cordon(table, layout) for table in top.tables("cordons")),
        states=fleet.flag("states", False),
        nics=fleet.flag("nics", False),
        kernel=fleet.flag("kernel", True),
    )
    fleet.finish()
    top.finish()
    return scenario


def _no_shared_nodes(jobs: tuple[JobPlan, ...], top: Table) -> None:
    for i, plan in enumerate(jobs):
        for other in jobs[:i]:
            shared = set(plan.nodes) & set(other.nodes)
            if shared and plan.start_s < other.end_s and other.start_s < plan.end_s:
                raise top.wrong("jobs", f"{min(shared)} is given to both {other.name} and {plan.name}")
            if plan.name == other.name:
                raise top.wrong("jobs", f"two jobs are called {plan.name}")
