"""What a rank's host adds to the step: waiting for data, and work of its own while the GPU waits for orders."""

from streams.detectors.straggler_cost import (
    compute_of,
    cpu_of,
    data_of,
    excess,
    host_of,
    typical,
    wait_of,
)
from streams.detectors.straggler_groups import PeerGroup
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_state import StragglerState
from streams.detectors.straggler_statistic import median
from streams.detectors.straggler_steps import OpenStep

_LATEST = 3
"""Steps that say what a rank is like now: the shortest window of a verdict."""


def remember_host(limits: StragglerLimits, group: PeerGroup, step: OpenStep) -> bool:
    """Add one judged step to the group's host times, of ranks that all tell the same; False: they tell too little.

    Host seconds are put on top of the group's typical compute (or step), so that a ratio of 1.10 means what it means
    for compute: a tenth of the work, and not a tenth of a millisecond. A host's own work runs beside the GPU's, so
    it counts only where waits are told, which show whether it held anybody up.
    """
    entries = [(rank, e) for rank in group.ranks if (e := step.entries.get(rank)) is not None]
    if len(entries) < max(2.0, limits.present * len(group.ranks)):
        return False
    data = all(e.data_s is not None for _, e in entries)
    cpu = all(e.cpu_s is not None and e.wait_s is not None for _, e in entries)
    if not data and not cpu:
        return False
    host = {r: (_known(e.data_s) if data else 0.0) + (_known(e.cpu_s) if cpu else 0.0) for r, e in entries}
    compute = [e.compute_s for _, e in entries if e.compute_s is not None]
    if len(compute) < len(entries):
        compute = [e.step_s - host[r] for r, e in entries if e.step_s is not None]
    base = median(compute) if compute else 0.0
    if base <= 0:
        return False
    group.host.remember(limits, {rank: base + seconds for rank, seconds in host.items()})
    return True


def holds_up(state: StragglerState, group: PeerGroup, rank: int, window: int) -> bool | None:
    """Whether the rank waits less than its peers by half at least of what its host adds; None: waits are not told."""
    steps = min(window, 5)
    wait = excess(state, rank, group.ranks, wait_of, steps)
    host = excess(state, rank, group.ranks, host_of, steps)
    return None if wait is None or host is None else wait <= -host / 2


def host_is_at_fault(limits: StragglerLimits, state: StragglerState, group: PeerGroup, rank: int) -> bool | None:
    """Of a rank whose compute is long: is it its host's work that grew? None: the host tells nothing.

    A GPU that is slow by itself leaves the host's work as it was; a slow host stretches both, its own most.
    """
    compute = typical(state, [rank], compute_of, _LATEST)
    further = excess(state, rank, group.ranks, compute_of, _LATEST)
    if compute is None or further is None:
        return None
    peers_s = compute - further
    cpu, cpu_further = typical(state, [rank], cpu_of, _LATEST), excess(state, rank, group.ranks, cpu_of, _LATEST)
    data_further = excess(state, rank, group.ranks, data_of, _LATEST)
    if cpu_further is None and data_further is None:
        return None
    if data_further is not None and data_further >= (limits.effect - 1) / 2 * peers_s:
        return True
    if cpu is None or cpu_further is None:
        return False
    return cpu > cpu_further and cpu / (cpu - cpu_further) >= limits.effect * compute / peers_s


def _known(seconds: float | None) -> float:
    return 0.0 if seconds is None else seconds
