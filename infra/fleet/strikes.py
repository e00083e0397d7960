"""What faults do at their start and their end, beyond what they do for as long as they last."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from infra.fleet import kernel_log
from infra.fleet.calendar import FAULTS_FIRST, THEN_JOBS, Happening, KernelLine
from infra.fleet.fault import Fault
from infra.fleet.gpu import MOST_ROWS, Gpu
from infra.fleet.ground import Ground
from infra.fleet.jobs import Jobs
from infra.fleet.layout import GpuSlot
from infra.fleet.rank import pid

LINE_US = 150
"""Between two lines of one burst in the kernel log."""
LOSSES = ("gpu_lost", "gpu_vanished")
DOWN = ("node_down", "rack_down")
KILLERS = (*LOSSES, "ecc_uncorrectable", "rows_exhausted", "nvlink_failed")
"""Kinds by which the rank on the GPU dies."""
REPEATED = ("xid", "pcie_uncorrected")
"""Kinds whose lines come again with `every_s`."""
LAST_XID = {"row_remap_failure": 64, "ecc_uncorrectable": 45, "rows_exhausted": 45, "memory_unrepairable": 161} | {
    "page_retirement": 63,
    "nvlink_failed": 45,
}
"""What the gauge of the last XID stands at after a fault."""
EFFECTS: dict[str, Callable[[Gpu, int], None]] = {
    "row_remap": Gpu.remap,
    "row_remap_failure": lambda gpu, _: gpu.broken("row_remap_failure"),
    "sram_threshold": lambda gpu, _: gpu.broken("sram_threshold"),
    "memory_unrepairable": lambda gpu, _: gpu.broken("memory_unrepairable"),
    "ecc_uncorrectable": Gpu.uncorrectable,
    "rows_exhausted": lambda gpu, _: gpu.used_up(),
    "page_retirement": Gpu.retire,
    "nvlink_failed": Gpu.links_fail,
}
"""Kind -> what it does to its GPU at its start, by its size."""


class Strikes:
    """The faults of the scenario, each entered in the calendar."""

    def __init__(self, ground: Ground, jobs: Jobs) -> None:
        self._ground = ground
        self._jobs = jobs
        for fault in ground.scenario.faults:
            if fault.kind == "gpu_missing":
                ground.lost |= {fault.target}
            if fault.kind == "rows_exhausted":
                ground.gpus[fault.target].remapped = MOST_ROWS - 1
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
        if fault.kind == "nvswitch_reset":
            return self._switch_fails(fault)
        if fault.target in self._ground.gpus:
            self._strike_gpu(fault, self._ground.layout.gpu_by_name[fault.target])
        return iter(())

    def _strike_gpu(self, fault: Fault, slot: GpuSlot) -> None:
        run = self._jobs.on(slot.node)
        row = run.places.get(slot.name) if run is not None else None
        process = pid(run.plan.name, run.attempt, row) if run is not None and row is not None else None
        self._say(slot.node, kernel_log.of_fault(fault, slot, process))
        gpu = self._ground.gpus[slot.name]
        if fault.kind in EFFECTS:
            EFFECTS[fault.kind](gpu, int(fault.size))
        gpu.xid = fault.code or LAST_XID.get(fault.kind, gpu.xid)
        if fault.recovery is not None:
            gpu.recovery = kernel_log.RECOVERIES[fault.recovery][0]
        if fault.kind in LOSSES:
            self._ground.lost |= {slot.name}
        if fault.kind in REPEATED and fault.active(self._ground.now_s + fault.every_s):
            self._ground.at(self._ground.now_s + fault.every_s, FAULTS_FIRST, partial(self._strike, fault))
        if run is not None and row is not None and (fault.kind in KILLERS or fault.recovery is not None):
            self._jobs.kill(run, f"{fault.name}: a rank died")

    def _say(self, node: str, texts: Sequence[str]) -> None:
        """Lines of one burst in a node's kernel log."""
        for place, text in enumerate(texts):
            said = KernelLine(self._ground.now_us + LINE_US * place, node, text)
            self._ground.calendar.at(said.ts_us, FAULTS_FIRST, partial(_one, said))

    def _switch_lines(self, fault: Fault) -> Iterator[Happening]:
        for place in range(int(fault.size)):
            yield KernelLine(self._ground.now_us + LINE_US * place, fault.target, kernel_log.SXID)

    def _switch_fails(self, fault: Fault) -> Iterator[Happening]:
        """The driver of an NVSwitch prints a fatal error, those of the GPUs behind it their own; the job dies."""
        behind = self._ground.layout.gpu_slots[fault.target][: int(fault.size)]
        for slot in behind:
            self._ground.gpus[slot.name].xid = 74
        self._say(
            fault.target, [*kernel_log.SWITCH_FATAL, *(s for slot in behind for s in kernel_log.xid(slot, 74, None))]
        )
        run = self._jobs.on(fault.target)
        if run is not None:
            self._jobs.kill(run, f"{fault.name}: its ranks died")
        return iter(())

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


def _one(line: KernelLine) -> Iterator[Happening]:
    yield line
