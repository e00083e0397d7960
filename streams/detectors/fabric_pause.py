"""Pause: storms, which page, and lasting pressure, which is a record. PFC that works is neither.

A storm is what a watchdog counts, what a NIC counts against itself, or a port that is on hold nearly all the time
while its queue moves nothing. It is over when all that showed it was read and stood still through the hold.
"""

from collections.abc import Mapping

from collectors.contract.fabric import PortScrape
from streams.contract import Finding
from streams.counter_columns import Changes
from streams.detectors.fabric_detector import FabricDetector
from streams.detectors.fabric_pause_columns import PauseColumn, pause_column
from streams.detectors.fabric_pause_findings import NAME, pressure, storm
from streams.detectors.fabric_pause_limits import PauseLimits
from streams.detectors.fabric_pause_ratio import measure
from streams.detectors.fabric_pause_state import Held, PauseState, Storm, Where
from streams.detectors.fabric_ports import STORMED, report

Grown = dict[Where, list[tuple[PauseColumn, float]]]


class PauseDetector(FabricDetector[PauseState]):
    """Judges watchdogs and NICs by their counts, ports by the share of time on hold."""

    name = NAME

    def __init__(self, limits: PauseLimits | None = None) -> None:
        self.limits = limits or PauseLimits()

    def fresh(self) -> PauseState:
        """The state of a device never seen."""
        return PauseState()

    def restore(self, kept: bytes) -> PauseState:
        """Ports under lasting pressure too: their ratios come back with the last minutes of the topic."""
        state = super().restore(kept)
        state.held = {where: Held() for where in state.kept.pressed.values()}
        return state

    def _scrape(self, state: PauseState, scrape: PortScrape) -> list[Finding]:
        columns = {name: column for name in scrape.columns if (column := pause_column(name)) is not None}
        if not columns:
            return []
        taken = state.ledger.take(scrape, [n for n, c in columns.items() if c.role != "state"], {})
        grown = _grown(scrape, columns, taken)
        held = measure(self.limits, state, scrape, columns, taken)
        muted = scrape.ts_us < state.muted_us
        out: list[Finding] = []
        for where in {**grown, **held}:
            out += self._judge(state, scrape, where, grown.get(where, []), held.get(where), muted=muted)
        if state.kept.storms and not muted:
            out += self._settle(state, scrape)
        return out

    def _forget(self, state: PauseState, ports: set[str]) -> None:
        kept = state.kept
        kept.storms = {name: one for name, one in kept.storms.items() if one.port not in ports}
        kept.pressed = {name: where for name, where in kept.pressed.items() if where[0] not in ports}
        state.held = {where: held for where, held in state.held.items() if where[0] not in ports}

    def _judge(
        self,
        state: PauseState,
        scrape: PortScrape,
        where: Where,
        grown: list[tuple[PauseColumn, float]],
        held: Held | None,
        *,
        muted: bool,
    ) -> list[Finding]:
        out: list[Finding | None] = []
        name, ts_us = _name(where), scrape.ts_us
        stuck = held is not None and held.stuck >= self.limits.storm_windows and _is_origin_or_held(scrape, where)
        if (grown or stuck) and (not muted or name in state.kept.storms):
            known = self._storm(state, name, where[0], ts_us, grown, held if stuck else None)
            if known is not None and not muted:
                finding = storm(self.limits, scrape, where, known, grown, held or state.held.get(where))
                out.append(report(state.kept.episodes, name, finding, self.limits.damping))
        if held is not None and not muted:
            out.append(self._press(state, scrape, where, held))
        return [edge for edge in out if edge is not None]

    def _storm(
        self,
        state: PauseState,
        name: str,
        port: str,
        ts_us: int,
        grown: list[tuple[PauseColumn, float]],
        stuck: Held | None,
    ) -> Storm | None:
        known = state.kept.storms.get(name)
        if known is None:
            if len(state.kept.storms) >= self.limits.most:
                return None
            known = state.kept.storms[name] = Storm(port, 0, [])
        if ts_us > known.last_us:
            known.last_us = ts_us
            known.events += sum(int(count) for column, count in grown if column.role == "storm")
            showed = [column.name for column, _ in grown] + ([] if stuck is None else [stuck.column])
            known.columns = sorted({*known.columns, *showed})
        return known

    def _press(self, state: PauseState, scrape: PortScrape, where: Where, held: Held) -> Finding | None:
        """Open or close the record of lasting pressure; forget a port that has been calm for long."""
        name, ts_us, lasts_us = f"{_name(where)}/pressure", scrape.ts_us, self.limits.pressure_us
        if held.high_since_us is not None and ts_us - held.high_since_us >= lasts_us:
            edge = report(state.kept.episodes, name, pressure(self.limits, scrape, where, held), self.limits.damping)
            if edge is not None:
                state.kept.pressed[name] = where
            return edge
        if held.low_since_us is None or ts_us - held.low_since_us < lasts_us:
            return None
        end_us = held.low_since_us + lasts_us
        del state.held[where]
        state.kept.pressed.pop(name, None)
        return state.kept.episodes.clear(name, end_us, f"{scrape.device} {where[0]} is hardly on hold any more")

    def _settle(self, state: PauseState, scrape: PortScrape) -> list[Finding]:
        """Close the storms of this scrape's ports of which nothing was seen through the hold, by all that showed it."""
        out: list[Finding] = []
        rows = {port.name: row for row, port in enumerate(scrape.ports)}
        for name, known in list(state.kept.storms.items()):
            end_us = known.last_us + self.limits.hold_us
            row = rows.get(known.port)
            if row is None or scrape.ts_us < end_us:
                continue
            if not all(_read(state, scrape, column, row, end_us) for column in known.columns):
                continue
            del state.kept.storms[name]
            words = f"no pause storm on {scrape.device} {known.port} for {self.limits.hold_us // 60_000_000} minutes"
            edge = state.kept.episodes.clear(name, end_us, words)
            out += [] if edge is None else [edge]
        return out


def _grown(scrape: PortScrape, columns: Mapping[str, PauseColumn], taken: Changes) -> Grown:
    """Where a watchdog or a NIC tells of a storm in this scrape."""
    out: Grown = {}
    for row, changes in taken.items():
        for name, change in changes.items():
            column = columns[name]
            if column.role == "storm" and change.grown > 0:
                out.setdefault((scrape.ports[row].name, column.priority, column.direction), []).append(
                    (column, change.grown)
                )
    for name, column in columns.items():
        if column.role == "state" and STORMED in scrape.columns[name]:
            for port, value in zip(scrape.ports, scrape.columns[name], strict=False):
                if value == STORMED:
                    out.setdefault((port.name, column.priority, column.direction), []).append((column, 1))
    return out


def _is_origin_or_held(scrape: PortScrape, where: Where) -> bool:
    """A switch that holds its peer all the time passes on what it receives; only a NIC does so of itself."""
    return where[2] == "receives" or scrape.kind != "switch"


def _read(state: PauseState, scrape: PortScrape, name: str, row: int, end_us: int) -> bool:
    """Was a column that showed a storm read at the end of the hold or later? Had it told of one, the end had moved."""
    column = pause_column(name)
    if column is not None and column.role == "state":
        cells = scrape.columns.get(name, [])
        return row < len(cells) and cells[row] is not None and cells[row] != STORMED
    past = state.ledger.past(name, scrape.ports[row].name)
    return past is not None and not past.blind and past.ts_us >= end_us


def _name(where: Where) -> str:
    port, priority, direction = where
    return f"{port}/{'' if priority is None else priority}/{direction}"
