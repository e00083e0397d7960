"""What faults do at their start and their end, beyond what they do for as long as they last."""

import math
from collections.abc import Iterator
from functools import partial

from infra.fleet import kernel_log
from infra.fleet.calendar import FAULTS_FIRST, THEN_JOBS, Happening, KernelLine
from infra.fleet.fault import Fault
from infra.fleet.ground import Ground
from infra.fleet.jobs import Jobs
from infra.fleet.rank import pid

LINE_US = 150
"""Between two lines of one burst in the kernel log."""
LOSSES = ("gpu_lost", "gpu_vanished")
DOWN = ("node_down", "rack_down")


class Strikes:
    """The faults of the scenario, each entered in the calendar."""

    def __init__(self, ground: Ground, jobs: Jobs) -> None:
        self._ground = ground
        self._jobs = jobs
        for fault in ground.scenario.faults:
            ground.at(fault.from_s, FAULTS_FIRST, partial(self._strike, fault))
            if fault.kind in (*LOSSES, *DOWN) and fault.to_s < ground.scenario.seconds:
                ground.at(fault.to_s, FAULTS_FIRST, partial(self._mend, fault))

    def _strike(self, fault: Fault) -> Iterator[Happening]:
        """What a fault does at its start, beyond what it does for as long as it lasts."""
        if fault.kind in ("link_flap", "leaf_down"):
            return self._edge(fault, down=True)
        if fault.kind in DOWN:
            return self._fall(fault)
        if fault.kind == "sxid":
            return self._switch_lines(fault)
        slot = self._ground.layout.gpu_by_name.get(fault.target)
        if slot is None:
            return iter(())
        run = self._jobs.on(slot.node)
        row = run.places.get(slot.name) if run is not None else None
        process = pid(run.plan.name, run.attempt, row) if run is not None and row is not None else None
        texts = kernel_log.of_fault(fault, slot, process)
        gpu = self._ground.gpus[slot.name]
        if fault.kind == "xid" and fault.code is not None:
            gpu.xid = fault.code
            if fault.active(self._ground.now_s + fault.every_s):
                self._ground.at(self._ground.now_s + fault.every_s, FAULTS_FIRST, partial(self._strike, fault))
        elif fault.kind in LOSSES:
            self._ground.lost |= {slot.name}
        elif fault.kind == "row_remap":
            gpu.remap(int(fault.size))
        elif fault.kind in ("row_remap_failure", "sram_threshold"):
            gpu.broken(fault.kind)
        elif fault.kind == "ecc_uncorrectable":
            gpu.uncorrectable(int(fault.size))
            gpu.xid = 45
        for place, text in enumerate(texts):
            said = KernelLine(self._ground.now_us + LINE_US * place, slot.node, text)
            self._ground.calendar.at(said.ts_us, FAULTS_FIRST, partial(_say, said))
        if fault.kind in (*LOSSES, "ecc_uncorrectable") and run is not None and row is not None:
            self._jobs.kill(run, f"{fault.name}: a rank died")
        return iter(())

    def _switch_lines(self, fault: Fault) -> Iterator[Happening]:
        for place in range(int(fault.size)):
            yield KernelLine(self._ground.now_us + LINE_US * place, fault.target, kernel_log.SXID)

    def _edge(self, fault: Fault, *, down: bool) -> Iterator[Happening]:
        """Links go down, or come up again: the hosts behind them see it."""
        cables = self._ground.layout.cables.get(fault.target) or (self._ground.layout.cable_by_name[fault.target],)
        for cable in cables:
            yield KernelLine(self._ground.now_us, cable.gpu.node, kernel_log.link(cable.gpu, down=down))
        lasts = min(fault.for_s, fault.to_s - self._ground.now_s) if down else fault.every_s - fault.for_s
        if math.isfinite(lasts) and (down or fault.active(self._ground.now_s + lasts)):
            self._ground.at(self._ground.now_s + lasts, FAULTS_FIRST, partial(self._edge, fault, down=not down))

    def _mend(self, fault: Fault) -> Iterator[Happening]:
        """A lost GPU comes back after its node was restarted, and so do those of nodes that were down."""
        back = {fault.target} if fault.kind in LOSSES else set(self._slots_of(fault))
        self._ground.lost -= back
        for name in back:
            self._ground.gpus[name].reset()
        return iter(())

    def _slots_of(self, fault: Fault) -> list[str]:
        """The GPUs of the node, or of the nodes of the rack, that a fault is on."""
        nodes = self._ground.layout.rack_nodes.get(fault.target, (fault.target,))
        return [slot.name for node in nodes for slot in self._ground.layout.gpu_slots[node]]

    def _fall(self, fault: Fault) -> Iterator[Happening]:
        """Nodes crash: their jobs hang until somebody finds out, and start again without them."""
        gone = self._slots_of(fault)
        self._ground.lost |= set(gone)
        for run in self._jobs.runs.values():
            if any(name in run.places for name in gone):
                hears = partial(self._jobs.give_up, run, run.attempt, fault.name)
                self._ground.after(run.plan.restart_s, THEN_JOBS, hears)
        return iter(())


def _say(line: KernelLine) -> Iterator[Happening]:
    yield line
