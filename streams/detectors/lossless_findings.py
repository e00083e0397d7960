"""The words of the lossless-drop verdicts."""

from collections.abc import Mapping

from collectors.contract.fabric import Port, PortScrape
from streams.contract import Evidence, Finding, Subject
from streams.counters import Change
from streams.detectors.lossless_counters import LossColumn
from streams.detectors.lossless_limits import LosslessLimits
from streams.detectors.lossless_state import Loss

NAME = "lossless_drop"

_ROOTS = {
    "pfc_watchdog": "the PFC watchdog drops the class: the receiver behind this port stopped taking packets",
    "headroom": "the ingress buffer overran: the peer ignores PFC, is late with it, or the headroom is too small",
    "queue": "the egress queue dropped: PFC is not on at both ends, or the priority mapping is wrong",
}
_ACTIONS = {
    "pfc_watchdog": "look at the host behind this port: NIC, PCIe, memory",
    "headroom": "look at the peer's PFC setting and priority mapping, the cable length and the headroom",
    "queue": "look at PFC at both ends, DSCP-to-priority mapping and MTU",
}


def place(port: str, priority: int | None) -> str:
    """The name of an episode: `port/priority`, or the port alone."""
    return port if priority is None else f"{port}/{priority}"


def subject(scrape: PortScrape, port: Port, priority: int | None) -> Subject:
    """A port of a device."""
    return Subject(
        kind="port",
        id=f"{scrape.device}/{port.name}",
        device=scrape.device,
        port=port.name,
        node=scrape.node,
        priority=priority,
    )


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
    root = "pfc_watchdog" if storm or "pfc_watchdog" in roots else "headroom" if "headroom" in roots else "queue"
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
        subject=subject(scrape, port, loss.priority),
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


def blind(scrape: PortScrape, port: Port, name: str) -> Finding:
    """A loss counter that stands at its end: no drop can be seen there."""
    return Finding(
        cluster=scrape.cluster,
        ts_us=scrape.ts_us,
        detector=NAME,
        state="opened",
        subject=subject(scrape, port, None),
        episode_us=scrape.ts_us,
        severity="info",
        cause="counter_blind",
        summary=f"{name} of {scrape.device} {port.name} stands at its end and sees no further loss",
        evidence=[Evidence(what=f"{name} is saturated", ts_us=scrape.ts_us)],
        action="clear the counter",
    )


def _lost(loss: Loss) -> tuple[float, str]:
    """Packets where any counter tells packets. Counters overlap (a PG's and its queue's), so they are not added."""
    packets = [value for name, value in loss.lost.items() if "_bytes" not in name]
    return (float(max(packets)), "packets") if packets else (float(max(loss.lost.values())), "bytes")
