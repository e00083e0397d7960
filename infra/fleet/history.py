"""A past week of the fleet, coarse and deterministic: what rollups and reports have to chew on."""

import heapq
import math
from collections.abc import Iterator
from dataclasses import dataclass

from collectors.contract.job import JobEvent
from collectors.contract.topics import (
    FABRIC_LINKS,
    FABRIC_SCRAPES,
    GPU_SCRAPES,
    JOB_EVENTS,
    JOB_PLACEMENTS,
    JOB_STEPS,
    KERNEL_EVENTS,
)
from infra.fleet import kernel_log
from infra.fleet.calendar import KernelLine
from infra.fleet.fault import KINDS, Fault
from infra.fleet.job_plan import JobPlan
from infra.fleet.layout import Layout
from infra.fleet.past_words import spoken
from infra.fleet.scenario import Scenario
from infra.fleet.scrapes import gpu_scrape, port_scrape, report
from infra.fleet.telemetry import Pair
from infra.fleet.virtual import kernel_reader
from infra.fleet.world import World

DAY_S = 86_400.0
HOUR_S = 3_600.0
FABRIC_EVERY = 5
"""Scrapes of GPUs to one of the switches."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A fault of the week: kind, target, hours from the week's start, hours it lasts, size."""

    kind: str
    target: str
    at_h: float
    for_h: float
    size: float | None = None


WEEK = (
    Trouble("thermal_throttle", "node-02/3", 9.0, 5.0, 0.25),
    Trouble("gpu_lost", "node-06/5", 20.0, 7.5),
    Trouble("ecc_growth", "node-03/6", 30.0, 60.0, 0.02),
    Trouble("power_brake", "rack-1", 41.0, 0.7, 0.45),
    Trouble("node_silent", "node-08", 52.0, 3.0),
    Trouble("ecc_uncorrectable", "node-01/1", 66.0, 0.1),
    Trouble("lossless_drop", "leaf-3/Ethernet24", 77.0, 1.5, 30.0),
    Trouble("job_hang", "pretrain-70b", 90.0, 0.6),
    Trouble("slow_host", "node-05", 110.0, 9.0, 0.18),
    Trouble("thermal_throttle", "node-07/0", 131.0, 4.0, 0.45),
    Trouble("gpu_lost", "node-03/2", 145.0, 6.0),
    Trouble("xid", "node-06/2", 150.0, 0.1),
)


def week(days: float, interval_s: float, seed: int) -> Scenario:
    """The fleet of the past days as a scenario; a longer past than a week repeats the week's troubles."""
    layout = Layout(nodes=8, gpus=8, switches=4, racks=2, model="NVIDIA H100 80GB HBM3")
    nodes = layout.node_names
    seconds = days * DAY_S
    turn = min(3.4 * DAY_S, seconds / 2)
    plans = (
        JobPlan(
            name="pretrain-70b",
            nodes=nodes[:4],
            tp=8,
            pp=2,
            step_s=58.0,
            mfu=0.41,
            params=70.55e9,
            layers=80,
            heads=64,
            seq_len=8192,
            checkpoint_every=90,
            checkpoint_s=38.0,
            restart_s=540.0,
        ),
        JobPlan(
            name="finetune-8b",
            nodes=nodes[4:7],
            tp=2,
            step_s=44.0,
            mfu=0.38,
            seq_len=8192,
            checkpoint_every=120,
            checkpoint_s=9.0,
            restart_s=300.0,
            end_s=turn,
        ),
        JobPlan(
            name="distil-13b",
            nodes=nodes[4:7],
            tp=4,
            pp=2,
            step_s=52.0,
            mfu=0.44,
            params=13.0e9,
            layers=40,
            heads=40,
            checkpoint_every=100,
            checkpoint_s=14.0,
            restart_s=300.0,
            start_s=turn + 1.5 * HOUR_S,
        ),
    )
    jobs = tuple(plan for plan in plans if plan.start_s < seconds)
    faults = tuple(
        Fault(
            kind=trouble.kind,
            target=trouble.target,
            from_s=week_s + trouble.at_h * HOUR_S,
            to_s=week_s + (trouble.at_h + trouble.for_h) * HOUR_S,
            size=KINDS[trouble.kind].size if trouble.size is None else trouble.size,
            code=13 if trouble.kind == "xid" else None,
            expect=KINDS[trouble.kind].expect,
            page=trouble.kind != "xid",
        )
        for week_s in (w * 7 * DAY_S for w in range(math.ceil(days / 7)))
        for trouble in WEEK
        if week_s + trouble.at_h * HOUR_S < seconds
    )
    return Scenario(
        name="past", seconds=seconds, interval_s=interval_s, seed=seed, layout=layout, jobs=jobs, faults=faults
    )


def messages(
    days: float = 7.0,
    interval_s: float = 60.0,
    *,
    end_us: int,
    seed: int = 11,
    cluster: str = "default",
) -> Iterator[Pair]:
    """The days before `end_us` in time order: scrapes, steps, job events, kernel events, findings, incidents, health.

    Without heartbeats, beats and collectives, which no rollup reads. Equal arguments give equal messages.
    """
    scenario = week(days, interval_s, seed)
    start_us = end_us - round(scenario.seconds * 1e6)
    said = spoken(scenario, start_us, cluster)
    yield from heapq.merge(_sources(scenario, start_us, end_us, cluster), said, key=lambda pair: pair[1].ts_us)


def _sources(scenario: Scenario, start_us: int, end_us: int, cluster: str) -> Iterator[Pair]:
    world = World(scenario, start_us, cluster)
    log = kernel_reader(world)
    for link in world.layout.links(cluster, start_us):
        yield FABRIC_LINKS, link
    step_us = round(scenario.interval_s * 1e6)
    for tick_us in range(start_us, end_us, step_us):
        for happening in world.advance(tick_us):
            if isinstance(happening, JobEvent):
                if happening.kind == "placed":
                    yield JOB_PLACEMENTS, happening
                yield JOB_EVENTS, happening
            elif isinstance(happening, KernelLine):
                event = log.read(kernel_log.line(happening.ts_us, happening.node, happening.text))
                if event is not None and not world.silent(happening.node, happening.ts_us):
                    yield KERNEL_EVENTS, event
            else:
                for node in dict.fromkeys(member.slot.node for member in happening.members):
                    if not world.silent(node, happening.end_us):
                        yield JOB_STEPS, report(happening, node, cluster)
        for node in world.layout.node_names:
            if not world.silent(node, tick_us):
                yield GPU_SCRAPES, gpu_scrape(world, node)
        if (tick_us - start_us) % (FABRIC_EVERY * step_us) == 0:
            for device in world.layout.switch_names:
                yield FABRIC_SCRAPES, port_scrape(world, device)
