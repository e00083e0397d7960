"""Hosts whose RDMA transport has to repeat far more than usual: a record that shows loss no counter of a switch shows.

One host says little; who joins the records of several finds what their paths share. Arrivals out of order alone
are many paths, not loss.
"""

import csv
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from collectors.contract.fabric import PortScrape
from streams.contract import Evidence, Finding
from streams.counters import Change
from streams.detectors.fabric_detector import FabricDetector
from streams.detectors.fabric_ports import make_room, port_subject, report
from streams.detectors.fabric_transport_limits import TransportLimits
from streams.detectors.fabric_transport_state import Record, Retries, TransportState

NAME = "transport"


@cache
def counters() -> dict[str, tuple[str, str]]:
    """Canonical counter -> rule and words: loss is judged, broken tells at once, the others stand beside."""
    with (Path(__file__).parent / "data" / "fabric_transport_counters.csv").open(newline="") as lines:
        return {row["counter"]: (row["rule"], row["words"]) for row in csv.DictReader(lines)}


@cache
def of_rule(rule: str) -> frozenset[str]:
    """The counters of a rule."""
    return frozenset(name for name, (its, _) in counters().items() if its == rule)


class TransportDetector(FabricDetector[TransportState]):
    """Judges the rate of lost answers of each port of a host."""

    name = NAME

    def __init__(self, limits: TransportLimits | None = None) -> None:
        self.limits = limits or TransportLimits()

    def fresh(self) -> TransportState:
        """The state of a host never seen."""
        return TransportState()

    def _scrape(self, state: TransportState, scrape: PortScrape) -> list[Finding]:
        here = [name for name in scrape.columns if name in counters()]
        if not here:
            return []
        if state.begun_us is None:
            state.begun_us = scrape.ts_us
        taken = state.ledger.take(scrape, here, {})
        drivers = scrape.named.get("driver", [])
        out: list[Finding] = []
        for row, port in enumerate(scrape.ports):
            if row < len(drivers) and drivers[row] in self.limits.lossy_drivers:
                continue
            changes = taken.get(row, {})
            if port.name not in state.ports:
                news = any(change.grown > 0 for change in changes.values())
                if not (news or port.name in state.kept.records):
                    continue
                make_room(state.ports, self.limits.most, lambda one: one.ts_us)
                state.ports[port.name] = Retries()
            edge = self._port(state, scrape, port.name, changes, here)
            out += [] if edge is None else [edge]
        return out

    def _forget(self, state: TransportState, ports: set[str]) -> None:
        for port in ports:
            state.kept.records.pop(port, None)
            state.ports.pop(port, None)

    def _port(
        self, state: TransportState, scrape: PortScrape, port: str, changes: Mapping[str, Change], here: Sequence[str]
    ) -> Finding | None:
        told = [name for name in here if state.ledger.told(name, port, scrape.ts_us)]
        if not any(counters()[name][0] == "loss" for name in told):
            return None
        retries, limits = state.ports[port], self.limits
        grown = {name: float(change.grown) for name, change in changes.items() if change.grown > 0}
        window_us = max((changes[name].window_us for name in grown), default=0)
        if not retries.take(scrape.ts_us, window_us, grown, limits):
            return None
        rate = retries.per_minute(of_rule("loss"), limits)
        limit = max(limits.least_per_minute, limits.times_baseline * retries.usual_per_minute)
        record = state.kept.records.get(port)
        broken = any(counters()[name][0] == "broken" for name in grown)
        if record is None:
            first = state.begun_us is not None and scrape.ts_us - state.begun_us <= limits.window_us
            if (rate < limit or first) and not broken:
                retries.learn(rate, limits, first=first)
                if rate == 0.0 and retries.usual_per_minute < 0.1 * limits.least_per_minute / limits.times_baseline:
                    del state.ports[port]
                return None
            if scrape.ts_us < state.muted_us or len(state.kept.records) >= limits.most:
                return None
            record = state.kept.records[port] = Record(limit, columns=sorted(grown))
        elif scrape.ts_us < state.muted_us:
            return None
        if broken or rate >= limits.off * record.limit:
            record.low_since_us = None
            record.columns = sorted({*record.columns, *grown})
            finding = self._record(scrape, port, retries, rate, record.limit)
            return report(state.kept.episodes, port, finding, limits.damping)
        return self._calm(state, port, record, told, scrape)

    def _calm(
        self, state: TransportState, port: str, record: Record, told: Sequence[str], scrape: PortScrape
    ) -> Finding | None:
        """Close the record of a port whose rate has been low for long enough, by all counters that showed it."""
        if not set(record.columns) <= set(told):
            return None
        if record.low_since_us is None:
            record.low_since_us = scrape.ts_us
        end_us = record.low_since_us + self.limits.calm_us
        if scrape.ts_us < end_us:
            return None
        del state.kept.records[port]
        return state.kept.episodes.clear(port, end_us, f"{scrape.device} {port} repeats hardly anything any more")

    def _record(self, scrape: PortScrape, port: str, retries: Retries, rate: float, limit: float) -> Finding:
        sums: dict[str, float] = {}
        for _, _, grown in retries.recent:
            for name, count in grown.items():
                sums[name] = sums.get(name, 0.0) + count
        by_rule = sorted(sums.items(), key=lambda item: (counters()[item[0]][0] != "broken", -item[1]))
        words = ", ".join(f"{count:.0f} {counters()[name][1]}" for name, count in by_rule)
        return Finding(
            cluster=scrape.cluster,
            ts_us=scrape.ts_us,
            detector=NAME,
            state="opened",
            subject=port_subject(scrape, port),
            episode_us=scrape.ts_us,
            severity="info",
            cause="transport_retries",
            value=rate,
            limit=limit,
            unit="per minute",
            summary=f"{scrape.device} {port} sends again and again ({words} in the last minute)",
            evidence=[
                Evidence(what=f"{counters()[name][1]} ({name})", value=count, unit="events", ts_us=scrape.ts_us)
                for name, count in by_rule
            ]
            + [Evidence(what="usual rate", value=retries.usual_per_minute, unit="per minute", ts_us=scrape.ts_us)],
        )
