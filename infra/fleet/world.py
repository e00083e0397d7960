"""The fleet in time: GPUs, ports and jobs moved on together, and what is to be seen of them."""

import math
from collections.abc import Iterator
from functools import partial

from msgspec import structs

from infra.fleet import kernel_log
from infra.fleet.calendar import FAULTS_FIRST, THEN_JOBS, THEN_TICKS, Calendar, Happening, KernelLine
from infra.fleet.fabric import Fabric
from infra.fleet.fault import Fault
from infra.fleet.gpu import IDLE, Gpu
from infra.fleet.job import ALGBW_GBS, TRANSFER_SHARE, Job, Member, RankStress, Step, pid
from infra.fleet.layout import GpuSlot
from infra.fleet.nic import Nics
from infra.fleet.noise import stream
from infra.fleet.port import FRAME_BYTES
from infra.fleet.run import Run
from infra.fleet.scenario import Scenario
from infra.fleet.strain import UNSLOWED, Slowed, gpu_stress, rank_stress, transfers
from infra.fleet.troubles import Troubles

DROP_COUNTERS = frozenset({"queue_drop_packets.0", "queue_drop_packets.3", "port_tx_discard_packets"})
LINE_US = 150
"""Between two lines of one burst in the kernel log."""
LOSSES = ("gpu_lost", "gpu_vanished")
DOWN = ("node_down", "rack_down")
DEATH_S = 2.0
"""From the death of a rank to the end of its job's other processes."""


class World:
    """Everything of one scenario. Time goes on only by `advance`; the same calls give the same fleet."""

    def __init__(self, scenario: Scenario, start_us: int, cluster: str = "default") -> None:
        self.scenario = scenario
        self.layout = scenario.layout
        self.start_us = start_us
        self.cluster = cluster
        self.now_us = start_us
        noise, seed = scenario.noise, scenario.seed
        self.gpus = {name: Gpu(stream(seed, "gpu", name), noise) for name in self.layout.gpu_by_name}
        self.fabric = Fabric(self.layout, seed, noise)
        self.nics: dict[str, Nics] = {}
        if scenario.nics:
            self.nics = {n: Nics(stream(seed, "nics", n), n, self.layout.gpus) for n in self.layout.node_names}
        self.runs = {plan.name: Run(plan=plan) for plan in scenario.jobs}
        self.lost: frozenset[str] = frozenset()
        """Names of GPUs that are off the bus."""
        self._troubles = Troubles(scenario.faults)
        self._run_of: dict[str, Run] = {}
        self._rack_of = {node: rack for rack, nodes in self.layout.rack_nodes.items() for node in nodes}
        self._cable_of = {cable.gpu.name: cable.name for cable in self.layout.cable_by_name.values()}
        self._device_of = {cable.gpu.name: cable.device for cable in self.layout.cable_by_name.values()}
        self._slows_transfers = any(f.kind in ("slow_link", "nvlink_down", "pause_storm") for f in scenario.faults)
        self._can_be_down = any(f.kind in DOWN for f in scenario.faults)
        self._calendar = Calendar()
        for fault in scenario.faults:
            self._calendar.at(self._us(fault.from_s), FAULTS_FIRST, partial(self._strike, fault))
            if fault.kind in (*LOSSES, *DOWN) and fault.to_s < scenario.seconds:
                self._calendar.at(self._us(fault.to_s), FAULTS_FIRST, partial(self._mend, fault))
        for plan in scenario.jobs:
            run = self.runs[plan.name]
            self._calendar.at(self._us(plan.start_s), THEN_JOBS, partial(self._begin, run))
            if plan.end_s < math.inf:
                self._calendar.at(self._us(plan.end_s), THEN_JOBS, partial(self._finish, run))
        self._calendar.at(start_us, THEN_TICKS, self._tick)

    def next_us(self) -> int:
        """When something happens next."""
        return self._calendar.next_us()

    def advance(self, to_us: int) -> list[Happening]:
        """Let time go on to `to_us`, inclusive; what happened, in order."""
        out: list[Happening] = []
        while self._calendar.next_us() <= to_us:
            self.now_us, act = self._calendar.take()
            out.extend(act())
        self.now_us = max(self.now_us, to_us)
        return out

    def silent(self, name: str, at_us: int) -> bool:
        """Whether nothing of a node, or of a switch, reaches its collectors at that time."""
        at_s = (at_us - self.start_us) / 1e6
        rack = self._rack_of.get(name, "")
        return self._troubles.any(name, at_s, "node_silent", "node_down", "leaf_down") or self._troubles.any(
            rack, at_s, "rack_down"
        )

    def uncollected(self, node: str, at_us: int) -> bool:
        """Whether no collector runs on the node at that time; those elsewhere still reach it."""
        return self._troubles.any(node, (at_us - self.start_us) / 1e6, "collectors_dead")

    def unreported(self, job: str, at_us: int) -> bool:
        """Whether the job's own reports are lost at that time."""
        return self._troubles.any(job, (at_us - self.start_us) / 1e6, "reports_lost")

    def stalled(self, node: str, at_us: int) -> bool:
        """Whether the node's exporter does not answer at that time."""
        return self._troubles.any(node, (at_us - self.start_us) / 1e6, "exporter_stalled")

    def blind(self, device: str) -> frozenset[str]:
        """Counters that a switch does not tell now."""
        return DROP_COUNTERS if self._troubles.any(device, self._now_s, "counter_blind") else frozenset()

    def seen(self, node: str) -> list[tuple[GpuSlot, Gpu]]:
        """The GPUs that a node's exporter sees, in order."""
        return [(slot, self.gpus[slot.name]) for slot in self.layout.gpu_slots[node] if slot.name not in self.lost]

    def _us(self, at_s: float) -> int:
        return self.start_us + round(at_s * 1e6)

    @property
    def _now_s(self) -> float:
        return (self.now_us - self.start_us) / 1e6

    def _active(self, target: str, before_s: float = 0.0) -> list[Fault]:
        return self._troubles.at(target, self._now_s - before_s)

    def _tick(self) -> Iterator[Happening]:
        """Move GPUs and ports over the interval that ends now, under what was wrong when it began."""
        dt_s = self.scenario.interval_s
        for node, slots in self.layout.gpu_slots.items():
            run = self._run_of.get(node)
            braked = self._active(self._rack_of[node], dt_s)
            for slot in slots:
                if slot.name in self.lost:
                    continue
                stress = gpu_stress(self._active(slot.name, dt_s), braked)
                self.gpus[slot.name].tick(dt_s, run.load(slot) if run is not None else IDLE, stress)
        self.fabric.tick(dt_s, lambda target: self._active(target, dt_s), self._rate, self._is_down)
        for node, nics in self.nics.items():
            slots = self.layout.gpu_slots[node]
            nics.tick(dt_s, [self._retries(slot) for slot in slots], [self._rate(s) / FRAME_BYTES for s in slots])
        self._calendar.at(self.now_us + round(dt_s * 1e6), THEN_TICKS, self._tick)
        return iter(())

    def _is_down(self, node: str) -> bool:
        """Whether a node, and with it its ends of all links, has been down since the last tick."""
        before = self.now_us - round(self.scenario.interval_s * 1e6)
        return self._can_be_down and self.down(node, before)

    def down(self, node: str, at_us: int) -> bool:
        """Whether a node has crashed or has no power at that time."""
        at_s = (at_us - self.start_us) / 1e6
        return self._troubles.any(node, at_s, "node_down") or self._troubles.any(self._rack_of[node], at_s, "rack_down")

    def _retries(self, slot: GpuSlot) -> float:
        """A second, of the NIC of a GPU that transfers: what a switch lost on the way."""
        device = self._device_of.get(slot.name, "")
        faults = self._active(device, self.scenario.interval_s) if self._rate(slot) > 0.0 else []
        return sum(f.size for f in faults if f.kind == "grey_loss")

    def _rate(self, slot: GpuSlot) -> float:
        """Bytes a second that the NIC of a GPU sends, on average."""
        run = self._run_of.get(slot.node)
        if run is None or run.job is None or run.flight is None or run.hung or slot.name not in run.places:
            return 0.0
        return ALGBW_GBS * 1e9 * TRANSFER_SHARE * run.job.nominal_s / run.flight.step_s

    def _rank_stress(self, run: Run, member: Member, slower: dict[int, Slowed]) -> RankStress:
        name = member.slot.name
        return rank_stress(
            self.gpus[name].clock_share,
            slower.get(member.rank, UNSLOWED),
            own=self._active(name),
            host=self._active(member.slot.node),
            cable=self._active(self._cable_of.get(name, "")),
            stage=self._active(f"{run.plan.name}/stage-{member.pp}"),
            job=self._active(run.plan.name),
        )

    def _begin(self, run: Run) -> Iterator[Happening]:
        """First attempt, or the next one after a failure."""
        if run.ended:
            return
        slots = run.slots(self.layout, self.lost)
        if not slots:
            self._leave(run)
            run.attempt = max(run.attempt, 0)
            yield structs.replace(run.event("ended", self.now_us, self.cluster), state="node_fail")
            return
        first = run.attempt < 0
        seed, noise = self.scenario.seed, self.scenario.noise
        run.begin(Job(run.plan, slots, seed, noise, run.attempt + 1))
        self._run_of = {node: other for node, other in self._run_of.items() if other is not run}
        self._run_of.update(dict.fromkeys(run.held, run))
        if not first:
            yield run.event("restarted", self.now_us, self.cluster)
        yield run.event("placed", self.now_us, self.cluster)
        if first:
            yield run.event("started", self.now_us, self.cluster)
        self._launch(run)

    def _finish(self, run: Run) -> Iterator[Happening]:
        """The job is done."""
        if not run.ended:
            self._leave(run)
            yield structs.replace(run.event("ended", self.now_us, self.cluster), state="completed")

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
        spread = sum(f.size for f in self._active(run.plan.name) if f.kind == "data_imbalance")
        slower = transfers(job.members, self._active, self._cable_of) if self._slows_transfers else {}
        step = job.step(run.next_step, self.now_us, lambda member: self._rank_stress(run, member, slower), spread)
        run.flight = step
        self._calendar.at(step.end_us, THEN_JOBS, partial(self._land, run, step))

    def _land(self, run: Run, step: Step) -> Iterator[Happening]:
        """A step's end; a hang holds it up, a dead attempt has none."""
        if run.flight is not step:
            return
        hangs = self._hangs(run)
        if hangs:
            run.hung, run.hung_us = True, self.now_us
            until = max(fault.to_s for fault in hangs)
            if until < self.scenario.seconds:
                late_s = until - self._now_s
                step.hold(late_s, {run.job.members[rank].dp for rank in run.gone} if run.job is not None else set())
                self._calendar.at(step.end_us, THEN_JOBS, partial(self._land, run, step))
            return
        run.hung = False
        run.next_step = step.number + 1
        yield step
        if step.phase == "checkpoint":
            yield run.saved(step, self.cluster)
        self._launch(run)

    def _hangs(self, run: Run) -> list[Fault]:
        """What keeps a job's step from ending: a hang of all, a rank that is not there, a switch that is gone."""
        stops = self._troubles.stops(self._now_s)
        run.absent = {}
        out = [fault for fault in self._active(run.plan.name) if fault.kind in ("job_hang", "storage_hang")]
        run.idle = any(fault.kind == "storage_hang" for fault in out)
        for member in run.job.members if run.job is not None and stops else ():
            node = member.slot.node
            for place in (self._device_of.get(member.slot.name, ""), member.slot.name, node, self._rack_of[node]):
                if place in stops:
                    out.append(stops[place])
                    run.absent[member.rank] = stops[place].kind
        return out

    def _kill(self, run: Run, reason: str) -> None:
        """A rank is dead: no step ends any more, the job finds out, and another attempt begins after a pause."""
        if run.flight is None:
            return
        run.reason = reason
        run.flight = None
        self._calendar.at(self.now_us + round(DEATH_S * 1e6), THEN_JOBS, partial(self._die, run))
        self._calendar.at(self.now_us + round(run.plan.restart_s * 1e6), THEN_JOBS, partial(self._begin, run))

    def _die(self, run: Run) -> Iterator[Happening]:
        """The attempt's processes end."""
        if run.job is not None:
            run.job = None
            run.places = {}
            yield structs.replace(run.event("ended", self.now_us, self.cluster), state="failed")

    def _strike(self, fault: Fault) -> Iterator[Happening]:
        """What a fault does at its start, beyond what it does for as long as it lasts."""
        if fault.kind in ("link_flap", "leaf_down"):
            return self._edge(fault, down=True)
        if fault.kind in DOWN:
            return self._fall(fault)
        if fault.kind == "sxid":
            return self._switch_lines(fault)
        slot = self.layout.gpu_by_name.get(fault.target)
        if slot is None:
            return iter(())
        run = self._run_of.get(slot.node)
        row = run.places.get(slot.name) if run is not None else None
        process = pid(run.plan.name, run.attempt, row) if run is not None and row is not None else None
        texts = kernel_log.of_fault(fault, slot, process)
        gpu = self.gpus[slot.name]
        if fault.kind == "xid" and fault.code is not None:
            gpu.xid = fault.code
            if fault.active(self._now_s + fault.every_s):
                self._calendar.at(self._us(self._now_s + fault.every_s), FAULTS_FIRST, partial(self._strike, fault))
        elif fault.kind in LOSSES:
            self.lost |= {slot.name}
        elif fault.kind == "row_remap":
            gpu.remap(int(fault.size))
        elif fault.kind in ("row_remap_failure", "sram_threshold"):
            gpu.broken(fault.kind)
        elif fault.kind == "ecc_uncorrectable":
            gpu.uncorrectable(int(fault.size))
            gpu.xid = 45
        for place, text in enumerate(texts):
            said = KernelLine(self.now_us + LINE_US * place, slot.node, text)
            self._calendar.at(said.ts_us, FAULTS_FIRST, partial(_say, said))
        if fault.kind in (*LOSSES, "ecc_uncorrectable") and run is not None and row is not None:
            self._kill(run, f"{fault.name}: a rank died")
        return iter(())

    def _switch_lines(self, fault: Fault) -> Iterator[Happening]:
        for place in range(int(fault.size)):
            yield KernelLine(self.now_us + LINE_US * place, fault.target, kernel_log.SXID)

    def _edge(self, fault: Fault, *, down: bool) -> Iterator[Happening]:
        """Links go down, or come up again: the hosts behind them see it."""
        cables = self.layout.cables.get(fault.target) or (self.layout.cable_by_name[fault.target],)
        for cable in cables:
            yield KernelLine(self.now_us, cable.gpu.node, kernel_log.link(cable.gpu, down=down))
        lasts = min(fault.for_s, fault.to_s - self._now_s) if down else fault.every_s - fault.for_s
        if math.isfinite(lasts) and (down or fault.active(self._now_s + lasts)):
            self._calendar.at(self._us(self._now_s + lasts), FAULTS_FIRST, partial(self._edge, fault, down=not down))

    def _mend(self, fault: Fault) -> Iterator[Happening]:
        """A lost GPU comes back after its node was restarted, and so do those of nodes that were down."""
        back = {fault.target} if fault.kind in LOSSES else set(self._slots_of(fault))
        self.lost -= back
        for name in back:
            self.gpus[name].reset()
        return iter(())

    def _slots_of(self, fault: Fault) -> list[str]:
        """The GPUs of the node, or of the nodes of the rack, that a fault is on."""
        nodes = self.layout.rack_nodes.get(fault.target, (fault.target,))
        return [slot.name for node in nodes for slot in self.layout.gpu_slots[node]]

    def _fall(self, fault: Fault) -> Iterator[Happening]:
        """Nodes crash: their jobs hang until somebody finds out, and start again without them."""
        gone = self._slots_of(fault)
        self.lost |= set(gone)
        for run in self.runs.values():
            if any(name in run.places for name in gone):
                found_out_us = self.now_us + round(run.plan.restart_s * 1e6)
                self._calendar.at(found_out_us, THEN_JOBS, partial(self._give_up, run, run.attempt, fault.name))
        return iter(())

    def _give_up(self, run: Run, attempt: int, reason: str) -> Iterator[Happening]:
        """Somebody found out that an attempt hangs."""
        if run.attempt == attempt and run.hung:
            run.hung = False
            self._kill(run, reason)
        return iter(())


def _say(line: KernelLine) -> Iterator[Happening]:
    yield line
