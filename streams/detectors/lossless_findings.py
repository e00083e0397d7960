"""The words of the lossless-drop verdicts."""

from collections.abc import Mapping

from collectors.contract.fabric import Port, PortScrape
from streams.contract import Evidence, Finding
from streams.counters import Change
from streams.detectors.fabric_ports import port_subject
from streams.detectors.lossless_counters import LossColumn, loss_column
from streams.detectors.lossless_limits import LosslessLimits
from streams.detectors.lossless_state import Loss

NAME = "lossless_drop"

_ROOTS = {
    "pfc_watchdog": "the PFC watchdog drops the class: the receiver behind this port stopped taking packets",
    "headroom": "the ingress buffer overran: the peer ignores PFC, is late with it, or the headroom is too small",
    "queue": "the egress queue dropped: PFC is not on at both ends, or the priority mapping is wrong",
    "credits": "the port threw packets away: its receiver gave no credit in time, or a path through it is broken",
    "input": "the input buffer overran: the sender ignores credits, or this port is set up for another cable length",
}
_ACTIONS = {
    "pfc_watchdog": "look at the host behind this port: NIC, PCIe, memory",
    "headroom": "look at the peer's PFC setting and priority mapping, the cable length and the headroom",
    "queue": "look at PFC at both ends, DSCP-to-priority mapping and MTU",
    "credits": "look at the receiver behind this port, then at the routes through it",
    "input": "look at both ends' buffer settings and firmware",
}
_FIRST = ("pfc_watchdog", "headroom", "input", "credits", "queue")
"""The root that counts where several do: what is nearer to the start of the trouble."""


def place(port: str, priority: int | None) -> str:
    """The name of an episode: `port/priority`, or the port alone."""
    return port if priority is None else f"{port}/{priority}"


def dropped(
    limits: LosslessLimits,
    scrape: PortScrape,
    port: Port,
    loss: Loss,
    changes: Mapping[str, Change],
    columns: Mapping[str, LossColumn],
    storm: bool,
) -> Finding:
    """A loss as it stands; the value is what the episode has lost, by the counter that counts most."""
    roots = {columns[name].counter.root for name in changes}
    root = "pfc_watchdog" if storm else next(root for root in _FIRST if root in roots)
    value, unit = _lost(loss)
    where = "" if loss.priority is None else f" priority {loss.priority}"
    window_us = max(change.window_us for change in changes.values())
    evidence = [Evidence(what=f"root {root}: {_ROOTS[root]}", ts_us=scrape.ts_us)]
    for name, change in sorted(changes.items()):
        seconds = change.window_us / 1e6
        words = " over a gap" if change.window_us > limits.gap_us else ""
        evidence.append(
            Evidence(
                what=f"{name} grew in {seconds:.3g} s{words}",
                value=None if change.delta is None else float(change.delta),
                unit=columns[name].counter.unit,
                ts_us=scrape.ts_us,
            )
        )
    return Finding(
        cluster=scrape.cluster,
        ts_us=scrape.ts_us,
        detector=NAME,
        state="opened",
        subject=port_subject(scrape, port.name, loss.priority),
        episode_us=scrape.ts_us,
        severity="warning",
        cause="lossless_drop",
        value=value,
        limit=0.0,
        unit=unit,
        summary=(
            f"{scrape.device} {port.name}{where} dropped {value:g} {unit} in a lossless class "
            f"within {window_us / 1e6:.2g} s: {_ROOTS[root]}"
        ),
        evidence=evidence,
        action=_ACTIONS[root],
    )


def _lost(loss: Loss) -> tuple[float, str]:
    """Packets where any counter tells packets. Counters overlap (a PG's and its queue's), so they are not added."""
    by_unit: dict[str, float] = {}
    for name, value in loss.lost.items():
        column = loss_column(name)
        unit = "packets" if column is None else column.counter.unit
        by_unit[unit] = max(by_unit.get(unit, 0.0), float(value))
    unit = next(unit for unit in ("packets", "bytes", *by_unit) if unit in by_unit)
    return by_unit[unit], unit
