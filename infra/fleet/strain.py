"""What faults ask of one GPU and of one rank, added up."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from infra.fleet.fault import Fault
from infra.fleet.gpu import CALM, NVLINKS, PCIE_LANES, Stress
from infra.fleet.rank import Member, RankStress

Active = Callable[[str], Sequence[Fault]]
"""The faults at work on a target now."""


def gpu_stress(faults: Sequence[Fault], braked: Sequence[Fault]) -> Stress:
    """Of one GPU: by its own faults, and by those of its rack."""
    if not faults and not braked:
        return CALM
    return Stress(
        thermal=max((f.size for f in faults if f.kind == "thermal_throttle"), default=0.0),
        brake=max((f.size for f in braked if f.kind == "power_brake"), default=0.0),
        lock=max((f.size for f in faults if f.kind == "clock_lock"), default=0.0),
        cap=max((f.size for f in faults if f.kind == "power_cap"), default=0.0),
        hard=max((f.size for f in faults if f.kind == "hw_slowdown"), default=0.0),
        sbe_per_s=_sum(faults, "ecc_growth"),
        replays_per_s=_sum(faults, "pcie_replays"),
        crc_per_s=_sum(faults, "nvlink_errors"),
        c2c_per_s=_sum(faults, "c2c_errors"),
        lanes=min((int(f.size) for f in faults if f.kind == "pcie_downtrain"), default=PCIE_LANES),
        links_down=max((int(f.size) for f in faults if f.kind in ("nvlink_down", "nvlink_failed")), default=0),
    )


class Slowed(NamedTuple):
    """How many times as long a rank's transfers take."""

    ring: float = 1.0
    """In its data-parallel group."""
    inside: float = 1.0
    """In its tensor-parallel group."""
    cable: float = 1.0
    """Over its own NIC."""


UNSLOWED = Slowed()


def transfers(members: Sequence[Member], active: Active, cable_of: dict[str, str]) -> dict[int, Slowed]:
    """Row -> how much longer its transfers take; rows that are not there: no longer.

    A ring is as fast as its slowest link: a slow cable holds up the data-parallel group of its rank, a GPU with
    fewer NVLinks its tensor-parallel group.
    """
    rings: dict[tuple[int, int], float] = {}
    insides: dict[tuple[int, int], float] = {}
    cables: dict[int, float] = {}
    for row, m in enumerate(members):
        name = m.slot.name
        cable = max((_times(fault) for fault in active(cable_of.get(name, ""))), default=1.0)
        if cable > 1.0:
            cables[row] = cable
            rings[m.pp, m.tp] = max(rings.get((m.pp, m.tp), 1.0), cable)
        for fault in active(name):
            if fault.kind == "nvlink_down" and fault.size < NVLINKS:
                times = NVLINKS / (NVLINKS - fault.size)
                insides[m.pp, m.dp] = max(insides.get((m.pp, m.dp), 1.0), times)
    if not rings and not insides:
        return {}
    return {
        row: Slowed(rings.get((m.pp, m.tp), 1.0), insides.get((m.pp, m.dp), 1.0), cables.get(row, 1.0))
        for row, m in enumerate(members)
        if (m.pp, m.tp) in rings or (m.pp, m.dp) in insides
    }


def _times(fault: Fault) -> float:
    """How many times as long a transfer over a cable takes."""
    if fault.kind == "slow_link":
        return 1.0 / (1.0 - fault.size)
    return STORM_TIMES if fault.kind == "pause_storm" else 1.0


STORM_TIMES = 20.0
"""How much longer transfers take through a port that is held nearly all of the time."""


def rank_stress(
    clock: float,
    slowed: Slowed,
    *,
    own: Sequence[Fault],
    host: Sequence[Fault],
    cable: Sequence[Fault],
    stage: Sequence[Fault],
    job: Sequence[Fault],
) -> RankStress:
    """Of one rank: by its GPU's clock, its transfers, and the faults at work on what it is on."""
    if not (own or host or cable or stage or job):
        return RankStress(clock=clock, transfers=slowed.ring, inside=slowed.inside, cable=slowed.cable)
    narrow = max((PCIE_LANES / f.size - 1.0 for f in own if f.kind == "pcie_downtrain"), default=0.0)
    return RankStress(
        clock=clock,
        transfers=slowed.ring,
        inside=slowed.inside,
        cable=slowed.cable,
        stage=sum(f.size for f in stage) + _sum(job, "job_regression") + _sum(own, "slow_gpu"),
        host=_sum(host, "slow_host"),
        drops_per_s=_sum(cable, "lossless_drop"),
        data=0.3 * _sum(host, "slow_host") + _sum(host, "slow_data") + NARROW_SHARE * narrow,
    )


NARROW_SHARE = 0.01
"""Of a step, spent on loading over all PCIe lanes."""


def _sum(faults: Sequence[Fault], kind: str) -> float:
    return sum((fault.size for fault in faults if fault.kind == kind), 0.0)
