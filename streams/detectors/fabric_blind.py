"""Counters by which faults are judged and that say nothing more: one finding a device for each way of being blind.

At its end (a saturating counter), or no longer read although its port is there and up. Whoever owns the telemetry
acts; nobody is paged.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from msgspec import field as kept_field

from collectors.contract.fabric import PortScrape
from streams.contract import Evidence, Finding, Subject
from streams.counters import PLAIN, Rhythm
from streams.detectors.fabric_blind_limits import CounterBlindLimits
from streams.detectors.fabric_detector import DeviceKept, DeviceState, FabricDetector
from streams.detectors.fabric_flap import COUNTERS
from streams.detectors.fabric_link_columns import link_column
from streams.detectors.fabric_pause_columns import pause_column
from streams.detectors.fabric_ports import split
from streams.detectors.fabric_transport import counters
from streams.detectors.lossless_counters import loss_column
from streams.successors import heirs_of_ports

NAME = "counter_blind"
Way = Literal["saturated", "missing"]
WAYS: tuple[Way, ...] = ("saturated", "missing")
_WORDS: dict[Way, str] = {
    "saturated": "stand at their end and see no further fault",
    "missing": "are no longer read",
}
_AGAIN: dict[Way, str] = {"saturated": "all counters can grow again", "missing": "all counters are read again"}
_ACTIONS: dict[Way, str] = {
    "saturated": "clear them, or read their wider form",
    "missing": "see why they are not sent: an upgrade, a new name, a dropped subscription",
}


class BlindKept(DeviceKept):
    """What outlives the process: it changes when a counter goes blind or sees again."""

    blind: dict[str, dict[str, list[str]]] = kept_field(default_factory=dict)
    """Way -> column -> ports."""


@dataclass(slots=True)
class Heard:
    """One column of a device: when it was read of each port, and how often it comes."""

    ports: dict[str, int] = field(default_factory=dict)
    rhythm: Rhythm = field(default_factory=Rhythm)


@dataclass(slots=True)
class BlindState(DeviceState[BlindKept]):
    """All of one device."""

    kept: BlindKept = field(default_factory=BlindKept)
    heard: dict[str, Heard] = field(default_factory=dict)


@lru_cache(maxsize=65536)
def is_judged(name: str) -> bool:
    """Is a fault judged by this column? Not those that only stand beside, nor gauges that come and go."""
    base, _ = split(name)
    link, pause = link_column(name), pause_column(name)
    return (
        loss_column(name) is not None
        or (link is not None and link.rule in ("growth", "symbol"))
        or (pause is not None and pause.role in ("time", "storm"))
        or base in COUNTERS
        or (base in counters() and counters()[base][0] != "beside")
    )


class CounterBlindDetector(FabricDetector[BlindState]):
    """Judges what is read, and of which port; a silent device is another detector's."""

    name = NAME

    def __init__(self, limits: CounterBlindLimits | None = None) -> None:
        self.limits = limits or CounterBlindLimits()

    def fresh(self) -> BlindState:
        """The state of a device never seen."""
        return BlindState()

    def _scrape(self, state: BlindState, scrape: PortScrape) -> Iterator[Finding]:
        names = [port.name for port in scrape.ports]
        before = _count(state.kept, "saturated"), _count(state.kept, "missing")
        if state.kept.blind and scrape.ts_us >= max(state.muted_us, state.kept.edge_us):
            blind = {p for columns in state.kept.blind.values() for ports in columns.values() for p in ports}
            self._forget(state, set(heirs_of_ports(scrape, blind)))
        for name in scrape.columns:
            if is_judged(name):
                self._column(state, scrape, name, names)
        for name in [name for name in state.heard if name not in scrape.columns]:
            self._absent(state, scrape, name, state.heard[name], dict.fromkeys(range(len(names))), names)
        if scrape.ts_us < state.muted_us or (_count(state.kept, "saturated"), _count(state.kept, "missing")) == before:
            return
        for way in WAYS:
            edge = self._tell(state, scrape, way)
            if edge is not None:
                yield edge

    def _forget(self, state: BlindState, ports: set[str]) -> None:
        """Counters of a port that was split or joined will not be read again."""
        for way in WAYS:
            for name, blind in list(state.kept.blind.get(way, {}).items()):
                for port in ports.intersection(blind):
                    self._set(state, way, name, port, blind=False)

    def _column(self, state: BlindState, scrape: PortScrape, name: str, names: list[str]) -> None:
        cells, ended = scrape.columns[name], scrape.saturated.get(name)
        form, ts_us = scrape.forms.get(name, PLAIN), scrape.ts_us
        heard = state.heard.setdefault(name, Heard())
        end = (1 << form.bits) - 1 if form.kind == "saturating_counter" and form.bits > 0 else None
        absent: dict[int, None] = {}
        saturated = state.kept.blind.get("saturated", {}).get(name, ())
        missing = state.kept.blind.get("missing", {}).get(name, ())
        for row, port in enumerate(names):
            value = cells[row] if row < len(cells) else None
            at_end = value is None and ended is not None and row < len(ended) and ended[row] is not None
            if value is None and not at_end:
                absent[row] = None
                continue
            if ts_us <= heard.ports.get(port, -1):
                continue
            heard.ports[port] = ts_us
            at_end = at_end or (end is not None and value is not None and value >= end)
            if ts_us >= state.muted_us:
                if at_end != (port in saturated):
                    self._set(state, "saturated", name, port, blind=at_end)
                if port in missing:
                    self._set(state, "missing", name, port, blind=False)
        if len(absent) < len(names):
            heard.rhythm.learn(ts_us)
        if absent:
            self._absent(state, scrape, name, heard, absent, names)
        if len(heard.ports) > 2 * (len(names) + self.limits.most):
            newest = sorted(heard.ports.items(), key=lambda item: item[1])[-(len(names) + self.limits.most) :]
            heard.ports = dict(newest)

    def _absent(
        self,
        state: BlindState,
        scrape: PortScrape,
        name: str,
        heard: Heard,
        rows: dict[int, None],
        names: list[str],
    ) -> None:
        """Ports of this scrape without the counter: missing, where it was read before and the link is not down."""
        nominal_us = heard.rhythm.nominal_us()
        if nominal_us is None or scrape.ts_us < state.muted_us:
            return
        for row in rows:
            last_us = heard.ports.get(names[row])
            if last_us is None or scrape.ports[row].oper_up is False:
                continue
            if scrape.ts_us - last_us > self.limits.stale_intervals * nominal_us:
                self._set(state, "missing", name, names[row], blind=True)

    def _set(self, state: BlindState, way: Way, name: str, port: str, *, blind: bool) -> None:
        columns = state.kept.blind.setdefault(way, {})
        ports = columns.setdefault(name, [])
        if blind and port not in ports and _count(state.kept, way) < self.limits.most:
            ports.append(port)
        elif not blind and port in ports:
            ports.remove(port)
        if not ports:
            del columns[name]
        if not columns:
            del state.kept.blind[way]

    def _tell(self, state: BlindState, scrape: PortScrape, way: Way) -> Finding | None:
        blind = state.kept.blind.get(way)
        if blind is None:
            return state.kept.episodes.clear(way, scrape.ts_us, f"{scrape.device}: {_AGAIN[way]}")
        return state.kept.episodes.report(way, self._finding(scrape, way, blind), self.limits.damping)

    def _finding(self, scrape: PortScrape, way: Way, blind: dict[str, list[str]]) -> Finding:
        count = sum(len(ports) for ports in blind.values())
        first = [f"{name} of {port}" for name, ports in sorted(blind.items()) for port in ports][: self.limits.named]
        more = f" and {count - len(first)} more" if count > len(first) else ""
        evidence = [
            Evidence(what=f"{name} on {len(ports)} ports: {way}", value=float(len(ports)), ts_us=scrape.ts_us)
            for name, ports in sorted(blind.items())
        ]
        return Finding(
            cluster=scrape.cluster,
            ts_us=scrape.ts_us,
            detector=NAME,
            state="opened",
            subject=Subject(kind="device", id=scrape.device, device=scrape.device, node=scrape.node),
            episode_us=scrape.ts_us,
            severity="info",
            cause="counter_blind",
            value=float(count),
            limit=0.0,
            unit="counters",
            summary=f"{scrape.device}: counters {_WORDS[way]}: {', '.join(first)}{more}",
            evidence=evidence,
            action=_ACTIONS[way],
        )


def _count(kept: BlindKept, way: Way) -> int:
    return sum(len(ports) for ports in kept.blind.get(way, {}).values())
