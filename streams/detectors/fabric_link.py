"""Links that spoil packets: errors in several windows, more wrong symbols than a good link has, a bad error ratio.

Errors of the scrape in which the link came or went are those of its training. The cable is good again when every
counter that showed errors was read and stood still for the clean time.
"""

from collections.abc import Mapping, Sequence

from collectors.contract.fabric import PortScrape
from streams.contract import Finding
from streams.counters import Change
from streams.detectors.fabric_detector import FabricDetector
from streams.detectors.fabric_link_columns import LinkColumn, link_column
from streams.detectors.fabric_link_findings import NAME, bad_link
from streams.detectors.fabric_link_limits import LinkQualityLimits
from streams.detectors.fabric_link_state import Bad, LinkState, Recent
from streams.detectors.fabric_link_symbols import few_us, judge_symbols
from streams.detectors.fabric_ports import make_room, report

_COUNTED = ("growth", "symbol", "state")


class LinkQualityDetector(FabricDetector[LinkState]):
    """Judges error counters in windows, symbol errors over hours, ratios as they are told."""

    name = NAME

    def __init__(self, limits: LinkQualityLimits | None = None) -> None:
        self.limits = limits or LinkQualityLimits()

    def fresh(self) -> LinkState:
        """The state of a device never seen."""
        return LinkState()

    def _scrape(self, state: LinkState, scrape: PortScrape) -> list[Finding]:
        columns = {name: column for name in scrape.columns if (column := link_column(name)) is not None}
        counted = [name for name, column in columns.items() if column.rule in _COUNTED]
        taken = state.ledger.take(scrape, counted, {})
        ratios = [name for name, column in columns.items() if column.rule == "ratio"]
        rows: dict[int, None] = dict.fromkeys(taken)
        for name in ratios:
            for row, value in enumerate(scrape.columns[name]):
                if value is not None and value > self.limits.post_ber:
                    rows[row] = None
        if state.recent or state.kept.symbols:
            for row, port in enumerate(scrape.ports):
                if port.name in state.recent or port.name in state.kept.symbols:
                    rows[row] = None
        out: list[Finding] = []
        for row in rows:
            if row < len(scrape.ports):
                out += self._port(state, scrape, row, taken.get(row, {}), columns, ratios)
        if state.kept.bad and scrape.ts_us >= state.muted_us:
            out += self._settle(state, scrape)
        return out

    def _forget(self, state: LinkState, ports: set[str]) -> None:
        for port in ports:
            for of_port in (state.kept.bad, state.kept.symbols, state.recent):
                of_port.pop(port, None)

    def _port(
        self,
        state: LinkState,
        scrape: PortScrape,
        row: int,
        changes: Mapping[str, Change],
        columns: Mapping[str, LinkColumn],
        ratios: Sequence[str],
    ) -> list[Finding]:
        port, ts_us, limits = scrape.ports[row], scrape.ts_us, self.limits
        if port.oper_up is False or any(columns[name].rule == "state" and c.grown > 0 for name, c in changes.items()):
            return []
        grown = {name: change for name, change in changes.items() if change.grown > 0}
        errors = {name: float(c.grown) for name, c in grown.items() if columns[name].rule == "growth"}
        errors |= self._ratios(scrape, row, ratios)
        why = judge_symbols(limits, state.kept, scrape, row, grown, columns)
        recent = state.recent.get(port.name)
        if recent is None and errors:
            make_room(state.recent, limits.most, lambda one: one.ts_us)
            recent = state.recent[port.name] = Recent()
        news = False
        if recent is not None and (errors or self._told(state, scrape, row, columns)):
            news = recent.take(ts_us, errors, limits.window_us, limits.windows)
            if recent.bad() >= limits.bad_windows:
                why = why or f"errors in {recent.bad()} of the last {len(recent.windows)} windows"
            elif recent.bad() == 0 and port.name not in state.kept.bad:
                del state.recent[port.name]
        symbols = {n: float(c.grown) for n, c in grown.items() if columns[n].rule == "symbol" and why}
        now = {**errors, **symbols} if news or symbols else {}
        if not now:
            return []
        return self._bad(state, scrape, row, now, why, columns)

    def _bad(
        self,
        state: LinkState,
        scrape: PortScrape,
        row: int,
        now: Mapping[str, float],
        why: str,
        columns: Mapping[str, LinkColumn],
    ) -> list[Finding]:
        """Note the errors of this scrape in the port's episode, and open one if there is reason to."""
        name, ts_us, muted = scrape.ports[row].name, scrape.ts_us, scrape.ts_us < state.muted_us
        bad = state.kept.bad.get(name)
        if bad is None:
            if not why or muted or len(state.kept.bad) >= self.limits.most:
                return []
            bad = state.kept.bad[name] = Bad(ts_us)
            for window in state.recent[name].windows if name in state.recent else ():
                _note(bad, window.errors)
            if name in state.kept.symbols:
                total = state.kept.symbols[name].within(ts_us, self.limits.symbol_long_us)
                _note(bad, {n: total for n in now if columns[n].rule == "symbol"})
        elif ts_us > bad.last_us:
            _note(bad, now)
            bad.last_us = ts_us
        if muted:
            return []
        finding = bad_link(self.limits, scrape, row, bad, why or "more errors", now, columns)
        edge = report(state.kept.episodes, name, finding, self.limits.damping)
        return [] if edge is None else [edge]

    def _ratios(self, scrape: PortScrape, row: int, ratios: Sequence[str]) -> dict[str, float]:
        """Error ratios over the limit. The symbol ratio decides where it is told: a link mends some of FEC's errors."""
        told = {n: v for n in ratios if row < len(scrape.columns[n]) and (v := scrape.columns[n][row]) is not None}
        if "ib_symbol_ber" in told:
            told = {"ib_symbol_ber": told["ib_symbol_ber"]}
        return {name: float(value) for name, value in told.items() if value > self.limits.post_ber}

    def _told(self, state: LinkState, scrape: PortScrape, row: int, columns: Mapping[str, LinkColumn]) -> bool:
        """Was anything that is judged in windows read of this port, now?"""
        for name, column in columns.items():
            if column.rule == "growth" and state.ledger.told(name, scrape.ports[row].name, scrape.ts_us):
                return True
            if column.rule == "ratio" and _cell(scrape, name, row) is not None:
                return True
        return False

    def _settle(self, state: LinkState, scrape: PortScrape) -> list[Finding]:
        """Close the episodes of this scrape's ports that were clean, and read, for the whole time."""
        out: list[Finding] = []
        rows = {port.name: row for row, port in enumerate(scrape.ports)}
        for port, bad in list(state.kept.bad.items()):
            row = rows.get(port)
            if row is None:
                continue
            end_us = max(bad.last_us + self.limits.clean_us, few_us(self.limits, state.kept, scrape, row))
            if scrape.ts_us < end_us or not self._read(state, scrape, row, bad, end_us):
                continue
            del state.kept.bad[port]
            words = f"no errors on {scrape.device} {port} for {self.limits.clean_us // 60_000_000} minutes"
            edge = state.kept.episodes.clear(port, end_us, words)
            out += [] if edge is None else [edge]
        return out

    def _read(self, state: LinkState, scrape: PortScrape, row: int, bad: Bad, end_us: int) -> bool:
        for name in bad.errors:
            column = link_column(name)
            if column is not None and column.rule == "ratio":
                value = _cell(scrape, name, row)
                if value is None or value > self.limits.post_ber:
                    return False
                continue
            past = state.ledger.past(name, scrape.ports[row].name)
            if past is None or past.blind or past.ts_us < end_us:
                return False
        return True


def _note(bad: Bad, errors: Mapping[str, float]) -> None:
    """Counts add up; of a ratio the worst stands."""
    for name, count in errors.items():
        column = link_column(name)
        before = bad.errors.get(name, 0.0)
        bad.errors[name] = max(before, count) if column is not None and column.rule == "ratio" else before + count


def _cell(scrape: PortScrape, name: str, row: int) -> int | float | None:
    cells = scrape.columns.get(name, [])
    return cells[row] if row < len(cells) else None
