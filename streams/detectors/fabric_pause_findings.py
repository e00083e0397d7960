"""The words of the pause verdicts. The first evidence begins with `receives pause` or `sends pause`."""

from collections.abc import Sequence

from collectors.contract.fabric import PortScrape
from streams.contract import Evidence, Finding
from streams.detectors.fabric_pause_columns import PauseColumn
from streams.detectors.fabric_pause_limits import PauseLimits
from streams.detectors.fabric_pause_state import Held, Storm, Where
from streams.detectors.fabric_ports import port_subject

NAME = "pause"

_BEHIND = {
    "receives": "what is behind this port has stopped taking packets, or is held itself",
    "sends": "this end has stopped taking packets and holds the network",
}
_ACTIONS = {
    "receives": "find the port that is held and whose far end is held by nobody: what is behind it is the origin",
    "sends": "look at this host: NIC, PCIe, memory; take it off the network if the storm goes on",
}


def _place(scrape: PortScrape, where: Where) -> str:
    port, priority, _ = where
    return f"{scrape.device} {port}" + ("" if priority is None else f" priority {priority}")


def _direction(where: Where, ratio: float | None, ts_us: int) -> Evidence:
    _, priority, direction = where
    on = "" if priority is None else f" on priority {priority}"
    return Evidence(
        what=f"{direction} pause{on}", value=ratio, unit=None if ratio is None else "of the window", ts_us=ts_us
    )


def storm(
    limits: PauseLimits,
    scrape: PortScrape,
    where: Where,
    storm: Storm,
    grown: Sequence[tuple[PauseColumn, float]],
    held: Held | None,
) -> Finding:
    """A storm as it stands. `grown`: what showed it in this scrape, with its count."""
    ratio = None if held is None or held.ratio < limits.storm_ratio else held.ratio
    evidence = [_direction(where, ratio, scrape.ts_us)]
    evidence += [
        Evidence(what=f"{column.name} grew", value=float(count), unit="events", ts_us=scrape.ts_us)
        if column.role == "storm"
        else Evidence(what=f"{column.name} says stormed", ts_us=scrape.ts_us)
        for column, count in grown
    ]
    if held is not None and held.stuck >= limits.storm_windows:
        evidence.append(
            Evidence(what=f"nothing moved in {held.stuck} windows; {held.column}", value=held.ratio, unit="ratio")
        )
    seen = f" ({storm.events} storm{'' if storm.events == 1 else 's'} counted)" if storm.events else ""
    bound = held is not None and not grown and _is_bound(held)
    return Finding(
        cluster=scrape.cluster,
        ts_us=scrape.ts_us,
        detector=NAME,
        state="opened",
        subject=port_subject(scrape, where[0], where[1]),
        episode_us=scrape.ts_us,
        severity="critical",
        cause="pause_storm",
        value=float(storm.events) if storm.events else ratio,
        limit=0.0 if storm.events else limits.storm_ratio,
        unit="storms" if storm.events else "ratio",
        summary=f"{_place(scrape, where)} {where[2]} pause without end{seen}: {_BEHIND[where[2]]}",
        evidence=evidence,
        action=_ACTIONS[where[2]],
        confidence="medium" if bound else None,
    )


def pressure(limits: PauseLimits, scrape: PortScrape, where: Where, held: Held) -> Finding:
    """Backpressure that lasts: nothing is lost, and a slow job may be explained."""
    bound = _is_bound(held)
    most = "at most " if bound else ""
    minutes = limits.pressure_us // 60_000_000
    return Finding(
        cluster=scrape.cluster,
        ts_us=scrape.ts_us,
        detector=NAME,
        state="opened",
        subject=port_subject(scrape, where[0], where[1]),
        episode_us=scrape.ts_us,
        severity="info",
        cause="pause_pressure",
        value=held.ratio,
        limit=limits.pressure_ratio,
        unit="ratio",
        summary=f"{_place(scrape, where)} {where[2]} pause for {most}{held.ratio:.0%} of its time, for {minutes} min",
        evidence=[
            _direction(where, held.ratio, scrape.ts_us),
            Evidence(what=f"by {most}{held.column}", value=held.ratio, unit="ratio", ts_us=scrape.ts_us),
        ],
        confidence="low" if bound else None,
    )


def _is_bound(held: Held) -> bool:
    return "_frames" in held.column
