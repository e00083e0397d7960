"""What faults ask of one GPU and of one rank, added up."""

from collections.abc import Callable, Sequence

from infra.fleet.fault import Fault
from infra.fleet.gpu import CALM, NVLINKS, PCIE_LANES, Stress
from infra.fleet.job import Member, RankStress

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
        sbe_per_s=_sum(faults, "ecc_growth"),
        replays_per_s=_sum(faults, "pcie_replays"),
        crc_per_s=_sum(faults, "nvlink_errors"),
        lanes=min((int(f.size) for f in faults if f.kind == "pcie_downtrain"), default=PCIE_LANES),
        links_down=max((int(f.size) for f in faults if f.kind == "nvlink_down"), default=0),
    )


def transfers(members: Sequence[Member], active: Active, cable_of: dict[str, str]) -> dict[int, float]:
    """Row -> how many times as long its transfers take; rows that are not there: once.

    A ring is as fast as its slowest link: a slow cable holds up the data-parallel group of its rank, a GPU with
    fewer NVLinks its tensor-parallel group.
    """
    rings: dict[tuple[str, int, int], float] = {}
    for member in members:
        name = member.slot.name
        for fault in active(cable_of.get(name, "")):
            if fault.kind == "slow_link":
                _slower(rings, ("dp", member.pp, member.tp), 1.0 / (1.0 - fault.size))
            elif fault.kind == "pause_storm":
                _slower(rings, ("dp", member.pp, member.tp), STORM_TIMES)
        for fault in active(name):
            if fault.kind == "nvlink_down" and fault.size < NVLINKS:
                _slower(rings, ("tp", member.pp, member.dp), NVLINKS / (NVLINKS - fault.size))
    if not rings:
        return {}
    return {
        row: max(rings.get(("dp", m.pp, m.tp), 1.0), rings.get(("tp", m.pp, m.dp), 1.0))
        for row, m in enumerate(members)
        if ("dp", m.pp, m.tp) in rings or ("tp", m.pp, m.dp) in rings
    }


STORM_TIMES = 20.0
"""How much longer transfers take through a port that is held nearly all of the time."""


def rank_stress(
    clock: float,
    times: float,
    *,
    own: Sequence[Fault],
    host: Sequence[Fault],
    cable: Sequence[Fault],
    stage: Sequence[Fault],
    job: Sequence[Fault],
) -> RankStress:
    """Of one rank: by its GPU's clock, its transfers, and the faults at work on what it is on."""
    if not (own or host or cable or stage or job):
        return RankStress(clock=clock, transfers=times)
    narrow = max((PCIE_LANES / f.size - 1.0 for f in own if f.kind == "pcie_downtrain"), default=0.0)
    return RankStress(
        clock=clock,
        transfers=times,
        stage=sum(f.size for f in stage) + _sum(job, "job_regression"),
        host=_sum(host, "slow_host"),
        drops_per_s=_sum(cable, "lossless_drop"),
        data=0.3 * _sum(host, "slow_host") + _sum(host, "slow_data") + NARROW_SHARE * narrow,
    )


NARROW_SHARE = 0.01
"""Of a step, spent on loading over all PCIe lanes."""


def _sum(faults: Sequence[Fault], kind: str) -> float:
    return sum((fault.size for fault in faults if fault.kind == kind), 0.0)


def _slower(rings: dict[tuple[str, int, int], float], ring: tuple[str, int, int], times: float) -> None:
    rings[ring] = max(rings.get(ring, 1.0), times)
