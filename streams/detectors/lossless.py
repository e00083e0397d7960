"""Drops where nothing may be dropped: any loss counter of a lossless priority, queue or group that grew.

One counter is enough to open (twins that stay still are a known fault of switches); to close, every counter
that grew must have been read and stood still for the hold. Pause and ECN alone are not drops.
"""

from collections.abc import Mapping

from collectors.contract.fabric import Port, PortScrape
from streams.contract import Finding
from streams.counter_columns import Changes
from streams.counters import Change
from streams.detectors.fabric_detector import FabricDetector
from streams.detectors.fabric_ports import STORMED, report
from streams.detectors.lossless_counters import LossColumn, loss_column, priority_of
from streams.detectors.lossless_findings import NAME, dropped, place
from streams.detectors.lossless_limits import LosslessLimits
from streams.detectors.lossless_state import Loss, LosslessState

STORMS = "pfcwd_storm_detected"
IB_DOWN = "ib_link_down_events"


class LosslessDropDetector(FabricDetector[LosslessState]):
    """Judges what a port lost by counters that must stand still."""

    name = NAME

    def __init__(self, limits: LosslessLimits | None = None) -> None:
        self.limits = limits or LosslessLimits()

    def fresh(self) -> LosslessState:
        """The state of a device never seen."""
        return LosslessState()

    def restore(self, kept: bytes) -> LosslessState:
        """Open losses with where their counters stood: it is what they are held against."""
        state = super().restore(kept)
        for loss in state.kept.losses.values():
            for name, past in loss.last.items():
                state.ledger.put(name, loss.port, past)
        return state

    def _scrape(self, state: LosslessState, scrape: PortScrape) -> list[Finding]:
        self._learn(state, scrape)
        judged = {name: column for name in scrape.columns if (column := loss_column(name)) is not None}
        beside = [name for name in scrape.columns if name == IB_DOWN or priority_of(name, STORMS) is not None]
        units = {name: column.counter.unit for name, column in judged.items()}
        taken = state.ledger.take(scrape, [*beside, *judged], units)
        self._watch_storms(state, scrape, taken)
        out: list[Finding] = []
        for row, changes in taken.items():
            port = scrape.ports[row]
            went_down = port.name in state.down or (IB_DOWN in changes and changes[IB_DOWN].grown > 0)
            columns = {
                name: judged[name]
                for name in changes
                if name in judged and self._applies(state, scrape.device, port, judged[name], went_down)
            }
            if columns:
                out += self._port(state, scrape, port, changes, columns)
        for port in scrape.ports:
            if port.link_layer == "infiniband":
                (state.down.discard if port.oper_up is not False else state.down.add)(port.name)
        if state.kept.losses and scrape.ts_us >= state.muted_us:
            out += self._settle(state, scrape)
        return out

    def _forget(self, state: LosslessState, ports: set[str]) -> None:
        state.kept.losses = {where: loss for where, loss in state.kept.losses.items() if loss.port not in ports}

    def _port(
        self,
        state: LosslessState,
        scrape: PortScrape,
        port: Port,
        changes: Mapping[str, Change],
        columns: Mapping[str, LossColumn],
    ) -> list[Finding]:
        out: list[Finding] = []
        grown: dict[str, dict[str, Change]] = {}
        for name, column in columns.items():
            change = changes[name]
            where = place(port.name, column.priority)
            loss = state.kept.losses.get(where)
            if loss is not None and name in loss.last and (change.first or change.reset or change.blind):
                past = state.ledger.past(name, port.name)
                if past is not None:
                    loss.last[name] = past
            elif change.grown > 0:
                grown.setdefault(where, {})[name] = change
        for where, those in grown.items():
            if scrape.ts_us >= state.muted_us or where in state.kept.losses:
                edge = self._dropped(state, scrape, port, where, those, columns)
                out += [] if edge is None else [edge]
        return out

    def _dropped(
        self,
        state: LosslessState,
        scrape: PortScrape,
        port: Port,
        where: str,
        changes: Mapping[str, Change],
        columns: Mapping[str, LossColumn],
    ) -> Finding | None:
        priority = columns[next(iter(changes))].priority
        loss = state.kept.losses.get(where)
        if loss is None:
            if len(state.kept.losses) >= self.limits.most:
                return None
            loss = state.kept.losses[where] = Loss(port.name, priority)
        for name, change in changes.items():
            past = state.ledger.past(name, port.name)
            if change.delta is None or past is None:
                continue
            if name not in loss.last or scrape.ts_us > loss.last[name].ts_us:
                loss.lost[name] = loss.lost.get(name, 0) + change.delta
                loss.last[name] = past
        if scrape.ts_us < state.muted_us:
            return None
        storm = self._stormed(state, port.name, priority, scrape.ts_us)
        finding = dropped(self.limits, scrape, port, loss, changes, columns, storm)
        return report(state.kept.episodes, where, finding, self.limits.damping)

    def _settle(self, state: LosslessState, scrape: PortScrape) -> list[Finding]:
        """Close the losses of these ports whose counters all stood still, and were read, to the end of the hold."""
        out: list[Finding] = []
        ports = {port.name for port in scrape.ports}
        for where, loss in list(state.kept.losses.items()):
            end_us = loss.end_us(self.limits.hold_us)
            if loss.port not in ports or scrape.ts_us < end_us:
                continue
            pasts = [state.ledger.past(name, loss.port) for name in loss.lost]
            if any(past is None or past.blind or past.ts_us < end_us for past in pasts):
                continue
            del state.kept.losses[where]
            words = f"no drops on {scrape.device} {loss.port} for {self.limits.hold_us // 60_000_000} minutes"
            edge = state.kept.episodes.clear(where, end_us, words)
            out += [] if edge is None else [edge]
        return out

    def _applies(self, state: LosslessState, device: str, port: Port, column: LossColumn, went_down: bool) -> bool:
        """Is this counter of this port one that must stand still? A port that went down drops what it held."""
        if column.counter.scope == "watchdog":
            return True
        if column.counter.scope == "infiniband":
            return port.link_layer == "infiniband" and port.oper_up is not False and not went_down
        told = self.limits.devices.get(device)
        if told is not None:
            return column.priority in told
        if port.lossless is not None:
            return column.priority in port.lossless
        return column.priority in self.limits.priorities or column.priority in state.kept.learned

    def _learn(self, state: LosslessState, scrape: PortScrape) -> None:
        if not self.limits.learn:
            return
        for name, row in scrape.columns.items():
            priority = priority_of(name, "pfc_tx_frames")
            if priority is None or priority in state.kept.learned or row.count(0) == len(row):
                continue
            if any(value is not None and value > 0 for value in row):
                state.kept.learned = sorted([*state.kept.learned, priority])

    def _watch_storms(self, state: LosslessState, scrape: PortScrape, taken: Changes) -> None:
        for row, changes in taken.items():
            for name, change in changes.items():
                priority = priority_of(name, STORMS)
                if priority is not None and change.grown > 0:
                    self._storm(state, scrape.ports[row].name, priority, scrape.ts_us)
        for name, cells in scrape.columns.items():
            priority = priority_of(name, "pfcwd_state")
            if priority is not None and STORMED in cells:
                for port, value in zip(scrape.ports, cells, strict=False):
                    if value == STORMED:
                        self._storm(state, port.name, priority, scrape.ts_us)

    def _storm(self, state: LosslessState, port: str, priority: int, ts_us: int) -> None:
        state.storms[port, priority] = max(state.storms.get((port, priority), 0), ts_us)
        if len(state.storms) > self.limits.most:
            del state.storms[min(state.storms, key=lambda where: state.storms[where])]

    def _stormed(self, state: LosslessState, port: str, priority: int | None, ts_us: int) -> bool:
        if priority is None:
            return False
        seen_us = state.storms.get((port, priority))
        return seen_us is not None and ts_us - seen_us <= self.limits.storm_us
