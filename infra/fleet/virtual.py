"""The fleet in virtual time: every message that its collectors would write, in time order."""

from collections import deque
from collections.abc import Iterable, Iterator

from collectors.contract.job import CollectiveWindow, JobEvent
from collectors.contract.topics import (
    COLLECTOR_BEATS,
    FABRIC_LINKS,
    FABRIC_SCRAPES,
    GPU_SCRAPES,
    JOB_EVENTS,
    JOB_PLACEMENTS,
    JOB_STEPS,
    KERNEL_EVENTS,
    NCCL_WINDOWS,
)
from collectors.kernel.log import KernelLog
from infra.fleet import kernel_log, pipes, planned, ras, recorder
from infra.fleet.calendar import Happening, KernelLine
from infra.fleet.inspector import window
from infra.fleet.rank import pid
from infra.fleet.scenario import Scenario
from infra.fleet.scrapes import beat, gpu_scrape, own_beat, port_scrape, report
from infra.fleet.step import Step
from infra.fleet.telemetry import Pair
from infra.fleet.world import World
from streams.contract import ORDERS

DEFAULT_START_US = 1_790_000_000_000_000
"""A fixed moment, so that two runs agree to the byte."""
HEARTBEAT_S = 10.0
TOLD_BY_SCHEDULER = ("placed", "started", "ended")
"""Of a job that says nothing of itself."""


def messages(
    scenario: Scenario,
    *,
    start_us: int = DEFAULT_START_US,
    seconds: float | None = None,
    cluster: str = "default",
) -> Iterator[Pair]:
    """All messages of the contract that the scenario brings about in `seconds` (default: the scenario's)."""
    world = World(scenario, start_us, cluster)
    log = kernel_reader(world)
    for link in world.layout.links(cluster, start_us):
        yield FABRIC_LINKS, link
    step_us = round(scenario.interval_s * 1e6)
    end_us = start_us + round((scenario.seconds if seconds is None else seconds) * 1e6)
    beat_us = poll_us = start_us
    told = deque(_told(world))
    for tick_us in range(start_us, end_us + 1, step_us):
        while told and told[0][1].ts_us <= tick_us:
            yield told.popleft()
        for happening in world.advance(tick_us):
            yield from seen(world, happening, log)
        yield from sweep(world)
        if tick_us >= beat_us:
            beat_us += round(HEARTBEAT_S * 1e6)
            yield from heartbeats(world)
        yield from ((NCCL_WINDOWS, dump) for dump in _dumps(world))
        if tick_us >= poll_us:
            poll_us += round(ras.POLL_S * 1e6)
            for run in world.runs.values():
                if run.plan.ras:
                    yield from ((NCCL_WINDOWS, poll) for poll in ras.polls(run, tick_us, cluster))


def _dumps(world: World) -> Iterator[CollectiveWindow]:
    """The flight recorders of jobs that have hung for so long as their watchdogs wait, once a hang."""
    for run in world.runs.values():
        if run.hung and run.dumped_us != run.hung_us and world.now_us >= run.hung_us + run.plan.dump_s * 1e6:
            run.dumped_us = run.hung_us
            for dump in recorder.dumps(run, world.now_us, world.cluster):
                if not world.silent(dump.node, world.now_us):
                    yield dump


def _told(world: World) -> list[Pair]:
    """What people and schedulers say; a fleet without a scheduler that talks has its planned work at most."""
    scenario = world.scenario
    pairs = planned.told(world.layout, scenario.works, scenario.cordons, world.start_us, world.cluster)
    return pairs if scenario.states or scenario.cordons else [p for p in pairs if p[0] is ORDERS]


def kernel_reader(world: World) -> KernelLog:
    """The collector's own reader of kernel lines, so that virtual time and real time cannot disagree."""
    return KernelLog(
        cluster=world.cluster,
        this_node="simulation",
        now_us=lambda: world.now_us,
        boot_us=lambda: world.start_us,
    )


def seen(world: World, happening: Happening, log: KernelLog) -> Iterator[Pair]:
    """What collectors make of one happening; nothing gets out of a silent node."""
    if isinstance(happening, JobEvent):
        if happening.kind == "placed":
            yield JOB_PLACEMENTS, happening
        if happening.kind in TOLD_BY_SCHEDULER or world.runs[happening.job].plan.reports:
            yield JOB_EVENTS, happening
    elif isinstance(happening, KernelLine):
        node, ts_us = happening.node, happening.ts_us
        if world.scenario.kernel and not world.silent(node, ts_us) and not world.uncollected(node, ts_us):
            event = log.read(kernel_log.line(happening.ts_us, happening.node, happening.text))
            if event is not None:
                yield KERNEL_EVENTS, event
    else:
        plan = world.runs[happening.job].plan
        told = plan.reports and not world.unreported(plan.name, happening.end_us)
        for node in happening.rows_of if told else ():
            if not world.silent(node, happening.end_us) and not world.uncollected(node, happening.end_us):
                yield JOB_STEPS, report(happening, node, world.cluster)
        for made in windows(world, happening) if plan.inspector else ():
            yield NCCL_WINDOWS, made


def sweep(world: World) -> Iterator[Pair]:
    """One sweep of every collector over every target, with its beats."""
    now, cluster = world.now_us, world.cluster
    for node in world.layout.node_names:
        quiet = world.silent(node, now)
        stalled = quiet or world.stalled(node, now)
        if not stalled:
            yield GPU_SCRAPES, gpu_scrape(world, node)
        yield COLLECTOR_BEATS, beat(world, "dcgm", node, not stalled)
        if world.nics and not quiet and not world.uncollected(node, now):
            yield FABRIC_SCRAPES, world.nics[node].scrape(now, cluster)
        if not quiet and not world.uncollected(node, now):
            for source in ("steps", "kernel") if world.scenario.kernel else ("steps",):
                yield COLLECTOR_BEATS, own_beat(world, source, node)
    for device in (*world.layout.switch_names, *world.layout.spine_names):
        quiet = world.silent(device, now)
        if not quiet:
            yield FABRIC_SCRAPES, port_scrape(world, device)
        yield COLLECTOR_BEATS, beat(world, "gnmi", device, not quiet)


def windows(world: World, step: Step) -> Iterable[CollectiveWindow]:
    """The gradients' all-reduce of a step, and what its pipelines sent: each rank's own."""
    job = world.runs[step.job].job
    if job is None or job.members is not step.members:
        return
    for node, rows in step.rows_of.items():
        if not world.silent(node, step.end_us) and not world.uncollected(node, step.end_us):
            yield from (window(job, step, row, world.cluster) for row in rows)
    for sent in pipes.windows(job, step, world.scenario.seed, world.cluster):
        if not world.silent(sent.node, step.end_us) and not world.uncollected(sent.node, step.end_us):
            yield sent


def heartbeats(world: World) -> Iterator[Pair]:
    """Every rank that is alive says so, a hung one too."""
    for run in world.runs.values():
        if run.job is None or not run.plan.reports or world.unreported(run.plan.name, world.now_us):
            continue
        for member in run.job.members:
            node = member.slot.node
            if run.absent.get(member.rank) == "process_dead":
                continue
            if not world.silent(node, world.now_us) and not world.uncollected(node, world.now_us):
                yield (
                    JOB_EVENTS,
                    JobEvent(
                        cluster=world.cluster,
                        ts_us=world.now_us,
                        job=run.plan.name,
                        attempt=run.attempt,
                        kind="heartbeat",
                        step=run.next_step,
                        rank=member.rank,
                        node=node,
                        pid=pid(run.plan.name, run.attempt, member.rank),
                    ),
                )
