"""The jobs of a fleet in time: attempts begin, steps start and end, hangs hold them up, deaths end them."""

import math
from collections.abc import Iterator
from functools import partial

from msgspec import structs

from infra.fleet.calendar import THEN_JOBS, Happening
from infra.fleet.fault import Fault
from infra.fleet.ground import Ground
from infra.fleet.job import ALGBW_GBS, TRANSFER_SHARE, Job
from infra.fleet.layout import GpuSlot
from infra.fleet.rank import Member, RankStress
from infra.fleet.run import Run
from infra.fleet.step import Step
from infra.fleet.strain import UNSLOWED, Slowed, rank_stress, transfers

DEATH_S = 2.0
"""From the death of a rank to the end of its job's other processes."""


class Jobs:
    """Every job of the scenario, and which of them holds a node."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self.runs = {plan.name: Run(plan=plan) for plan in ground.scenario.jobs}
        self._run_of: dict[str, Run] = {}
        self._slows_transfers = any(
            f.kind in ("slow_link", "nvlink_down", "pause_storm") for f in ground.scenario.faults
        )
        for plan in ground.scenario.jobs:
            run = self.runs[plan.name]
            ground.at(plan.start_s, THEN_JOBS, partial(self._begin, run))
            if plan.end_s < math.inf:
                ground.at(plan.end_s, THEN_JOBS, partial(self._finish, run))

    def on(self, node: str) -> Run | None:
        """The job that holds a node."""
        return self._run_of.get(node)

    def rate(self, slot: GpuSlot) -> float:
        """Bytes a second that the NIC of a GPU sends, on average."""
        run = self._run_of.get(slot.node)
        if run is None or run.job is None or run.flight is None or run.hung or slot.name not in run.places:
            return 0.0
        return ALGBW_GBS * 1e9 * TRANSFER_SHARE * run.job.nominal_s / run.flight.step_s

    def _begin(self, run: Run) -> Iterator[Happening]:
        """First attempt, or the next one after a failure."""
        if run.ended:
            return
        slots = run.slots(self._ground.layout, self._ground.lost)
        if not slots:
            self._leave(run)
            run.attempt = max(run.attempt, 0)
            yield structs.replace(run.event("ended", self._ground.now_us, self._ground.cluster), state="node_fail")
            return
        first = run.attempt < 0
        seed, noise = self._ground.scenario.seed, self._ground.scenario.noise
        run.begin(Job(run.plan, slots, seed, noise, run.attempt + 1))
        self._run_of = {node: other for node, other in self._run_of.items() if other is not run}
        self._run_of.update(dict.fromkeys(run.held, run))
        if not first:
            yield run.event("restarted", self._ground.now_us, self._ground.cluster)
        yield run.event("placed", self._ground.now_us, self._ground.cluster)
        if first:
            yield run.event("started", self._ground.now_us, self._ground.cluster)
        self._launch(run)

    def _finish(self, run: Run) -> Iterator[Happening]:
        """The job is done."""
        if not run.ended:
            self._leave(run)
            yield structs.replace(run.event("ended", self._ground.now_us, self._ground.cluster), state="completed")

    def _leave(self, run: Run) -> None:
        """The job gives its nodes back."""
        run.ended, run.held = True, frozenset()
        run.job = run.flight = None
        run.places = {}
        self._run_of = {node: other for node, other in self._run_of.items() if other is not run}

    def _launch(self, run: Run) -> None:
        """Start the next step of the running attempt."""
        job = run.job
        if job is None:
            return
        spread = sum(f.size for f in self._ground.active(run.plan.name) if f.kind == "data_imbalance")
        slower = transfers(job.members, self._ground.active, self._ground.cable_of) if self._slows_transfers else {}
        step = job.step(
            run.next_step, self._ground.now_us, lambda member: self._rank_stress(run, member, slower), spread
        )
        run.flight = step
        self._ground.calendar.at(step.end_us, THEN_JOBS, partial(self._land, run, step))

    def _land(self, run: Run, step: Step) -> Iterator[Happening]:
        """A step's end; a hang holds it up, a dead attempt has none."""
        if run.flight is not step:
            return
        hangs = self._hangs(run)
        if hangs:
            run.hung, run.hung_us = True, self._ground.now_us
            until = max(fault.to_s for fault in hangs)
            if until < self._ground.scenario.seconds:
                late_s = until - self._ground.now_s
                step.hold(late_s, {run.job.members[rank].dp for rank in run.gone} if run.job is not None else set())
                self._ground.calendar.at(step.end_us, THEN_JOBS, partial(self._land, run, step))
            return
        run.hung = False
        run.next_step = step.number + 1
        yield step
        if step.phase == "checkpoint":
            yield run.saved(step, self._ground.cluster)
        self._launch(run)

    def _hangs(self, run: Run) -> list[Fault]:
        """What keeps a job's step from ending: a hang of all, a rank that is not there, a switch that is gone."""
        stops = self._ground.troubles.stops(self._ground.now_s)
        run.absent = {}
        out = [fault for fault in self._ground.active(run.plan.name) if fault.kind in ("job_hang", "storage_hang")]
        run.idle = any(fault.kind == "storage_hang" for fault in out)
        for member in run.job.members if run.job is not None and stops else ():
            node = member.slot.node
            for place in (
                self._ground.device_of.get(member.slot.name, ""),
                member.slot.name,
                node,
                self._ground.rack_of[node],
            ):
                if place in stops:
                    out.append(stops[place])
                    run.absent[member.rank] = stops[place].kind
        return out

    def kill(self, run: Run, reason: str) -> None:
        """A rank is dead: no step ends any more, the job finds out, and another attempt begins after a pause."""
        if run.flight is None:
            return
        run.reason = reason
        run.flight = None
        self._ground.after(DEATH_S, THEN_JOBS, partial(self._die, run))
        self._ground.after(run.plan.restart_s, THEN_JOBS, partial(self._begin, run))

    def _die(self, run: Run) -> Iterator[Happening]:
        """The attempt's processes end."""
        if run.job is not None:
            run.job = None
            run.places = {}
            yield structs.replace(run.event("ended", self._ground.now_us, self._ground.cluster), state="failed")

    def _rank_stress(self, run: Run, member: Member, slower: dict[int, Slowed]) -> RankStress:
        name = member.slot.name
        return rank_stress(
            self._ground.gpus[name].clock_share,
            slower.get(member.rank, UNSLOWED),
            own=self._ground.active(name),
            host=self._ground.active(member.slot.node),
            cable=self._ground.active(self._ground.cable_of.get(name, "")),
            stage=self._ground.active(f"{run.plan.name}/stage-{member.pp}"),
            job=self._ground.active(run.plan.name),
        )

    def give_up(self, run: Run, attempt: int, reason: str) -> Iterator[Happening]:
        """Somebody found out that an attempt hangs."""
        if run.attempt == attempt and run.hung:
            run.hung = False
            self.kill(run, reason)
        return iter(())
