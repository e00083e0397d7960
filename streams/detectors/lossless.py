"""Drops where nothing may be dropped: any loss counter of a lossless priority, queue or group that grew.

One counter is enough to open (twins that stay still are a known fault of switches); to close, every counter
that grew must have been read and stood still for the hold. Pause and ECN alone are not drops.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from collectors.contract.fabric import Port, PortScrape
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import FABRIC_SCRAPES
from streams.contract import Finding
from streams.counters import Change, advance, advance_group, line_rate_per_s, stands_at
from streams.detector import Tick
from streams.detectors.lossless_counters import LossColumn, loss_column, priority_of
from streams.detectors.lossless_findings import NAME, blind, dropped, place
from streams.detectors.lossless_limits import LosslessLimits
from streams.detectors.lossless_state import Loss, LossKept, LosslessState

STORMED = 1
"""`pfcwd_state`: 0 operational, 1 stormed."""


class LosslessDropDetector:
    """Judges every scrape of a device as it comes; ticks say nothing, for silence is no proof."""

    name = NAME
    topics: tuple[Topic[Any], ...] = (FABRIC_SCRAPES,)

    def __init__(self, limits: LosslessLimits | None = None) -> None:
        self.limits = limits or LosslessLimits()

    def fresh(self) -> LosslessState:
        """The state of a device never seen."""
        return LosslessState()

    def step(self, state: LosslessState, batch: Sequence[Message | Tick]) -> tuple[LosslessState, list[Finding]]:
        """Take scrapes of one device in arrival order."""
        out: list[Finding] = []
        for item in batch:
            if isinstance(item, PortScrape):
                edges = self._scrape(state, item)
                if edges:
                    state.kept.edge_us = max(state.kept.edge_us, item.ts_us)
                    out += edges
        return state, out

    def keep(self, state: LosslessState) -> bytes | None:
        """Open losses and learned priorities; None where there is neither."""
        return None if state.kept == LossKept() else msgspec.msgpack.encode(state.kept)

    def restore(self, kept: bytes) -> LosslessState:
        """Open episodes at once, with where their counters stood; the other baselines come back with the last
        minutes of the topic."""
        state = LosslessState(kept=msgspec.msgpack.decode(kept, type=LossKept))
        state.muted_us = state.kept.edge_us
        for loss in state.kept.losses.values():
            state.pasts.setdefault(loss.port, {}).update(loss.last)
        return state

    def _scrape(self, state: LosslessState, scrape: PortScrape) -> list[Finding]:
        self._learn(state, scrape)
        self._watch_storms(state, scrape)
        judged = self._judged(state, scrape)
        out: list[Finding] = []
        for i, port in enumerate(scrape.ports):
            values = {}
            for column in judged:
                value = stands_at(scrape, column.name, i)
                if value is not None and self._applies(state, port, column):
                    values[column.name] = value
            if values:
                out += self._port(state, scrape, i, values)
        return out

    def _port(
        self, state: LosslessState, scrape: PortScrape, row: int, values: Mapping[str, int | float]
    ) -> list[Finding]:
        port = scrape.ports[row]
        columns = {name: column for name in values if (column := state.columns[name]) is not None}
        ceilings = {
            name: rate
            for name, column in columns.items()
            if (rate := line_rate_per_s(column.counter.unit, port.speed_gbps)) is not None
        }
        state.pasts[port.name], changes = advance_group(
            state.pasts.get(port.name, {}),
            values,
            scrape.ts_us,
            forms=scrape.forms,
            epoch=scrape.epoch_of(row),
            ceilings_per_s=ceilings,
            baseline=scrape.baseline,
        )
        muted = scrape.ts_us < state.muted_us
        out: list[Finding | None] = []
        grown: dict[str, dict[str, Change]] = {}
        for name, change in changes.items():
            where = place(port.name, columns[name].priority)
            loss = state.kept.losses.get(where)
            if loss is not None and name in loss.last and (change.first or change.reset or change.blind):
                loss.last[name] = state.pasts[port.name][name]
            elif not change.reset and change.delta is not None and change.delta > 0:
                grown.setdefault(where, {})[name] = change
            if not muted:
                out.append(self._blind(state, scrape, port, name, change))
        for where, those in grown.items():
            if not muted or where in state.kept.losses:
                out.append(self._dropped(state, scrape, port, where, those, columns))
        if not muted:
            out += self._settle(state, port.name, scrape.ts_us)
        return [edge for edge in out if edge is not None]

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
            if change.delta is not None and (name not in loss.last or scrape.ts_us > loss.last[name].ts_us):
                loss.lost[name] = loss.lost.get(name, 0) + change.delta
                loss.last[name] = state.pasts[port.name][name]
        if scrape.ts_us < state.muted_us:
            return None
        storm = self._stormed(state, port.name, priority, scrape.ts_us)
        finding = dropped(self.limits, scrape, port, loss, changes, columns, storm)
        return self._report(state, where, finding)

    def _report(self, state: LosslessState, where: str, finding: Finding) -> Finding | None:
        """Two priorities of a port that begin in one scrape must not share a start: it is part of their key."""
        begun = {f.episode_us for f in state.kept.episodes.open.values() if f.subject.id == finding.subject.id}
        start_us = finding.episode_us
        while start_us in begun:
            start_us += 1
        finding = msgspec.structs.replace(finding, episode_us=start_us)
        return state.kept.episodes.report(where, finding, self.limits.damping)

    def _settle(self, state: LosslessState, port: str, ts_us: int) -> list[Finding]:
        """Close the losses of a port whose counters all stood still, and were read, up to the end of the hold."""
        out: list[Finding] = []
        pasts = state.pasts[port]
        for where, loss in list(state.kept.losses.items()):
            if loss.port != port:
                continue
            end_us = loss.end_us(self.limits.hold_us)
            if ts_us < end_us or any(
                name not in pasts or pasts[name].ts_us < end_us or pasts[name].blind for name in loss.lost
            ):
                continue
            del state.kept.losses[where]
            words = f"no drops on {port} for {self.limits.hold_us // 60_000_000} minutes"
            edge = state.kept.episodes.clear(where, end_us, words)
            out += [] if edge is None else [edge]
        return out

    def _blind(self, state: LosslessState, scrape: PortScrape, port: Port, name: str, change: Change) -> Finding | None:
        where = f"{port.name}/blind/{name}"
        if change.blind:
            return self._report(state, where, blind(scrape, port, name))
        if where not in state.kept.episodes.open:
            return None
        return state.kept.episodes.clear(where, scrape.ts_us, f"{name} of {port.name} counts again")

    def _applies(self, state: LosslessState, port: Port, column: LossColumn) -> bool:
        """Is this counter of this port one that must stand still?"""
        if column.counter.scope == "watchdog":
            return True
        if column.counter.scope == "infiniband":
            return port.link_layer == "infiniband" and port.oper_up is not False
        if port.lossless is not None:
            return column.priority in port.lossless
        return column.priority in self.limits.priorities or column.priority in state.kept.learned

    def _judged(self, state: LosslessState, scrape: PortScrape) -> list[LossColumn]:
        out = []
        for name in scrape.columns:
            if name not in state.columns:
                state.columns[name] = loss_column(name)
            column = state.columns[name]
            if column is not None:
                out.append(column)
        return out

    def _learn(self, state: LosslessState, scrape: PortScrape) -> None:
        if not self.limits.learn:
            return
        for name, row in scrape.columns.items():
            priority = priority_of(name, "pfc_tx_frames")
            if priority is None or priority in state.kept.learned:
                continue
            if any(value is not None and value > 0 for value in row):
                state.kept.learned = sorted([*state.kept.learned, priority])

    def _watch_storms(self, state: LosslessState, scrape: PortScrape) -> None:
        for name, row in scrape.columns.items():
            if not name.startswith("pfcwd_"):
                continue
            told = priority_of(name, "pfcwd_state")
            counted = priority_of(name, "pfcwd_storm_detected")
            for i, (port, value) in enumerate(zip(scrape.ports, row, strict=False)):
                if told is not None and value == STORMED:
                    self._storm(state, port.name, told, scrape.ts_us)
                elif counted is not None:
                    where = f"{port.name}/{name}"
                    past, change = advance(
                        state.stuck.get(where),
                        value,
                        scrape.ts_us,
                        epoch=scrape.epoch_of(i),
                        baseline=scrape.baseline,
                    )
                    if past is not None:
                        state.stuck[where] = past
                    if change is not None and change.delta is not None and change.delta > 0:
                        self._storm(state, port.name, counted, scrape.ts_us)

    def _storm(self, state: LosslessState, port: str, priority: int, ts_us: int) -> None:
        state.storms[port, priority] = max(state.storms.get((port, priority), 0), ts_us)

    def _stormed(self, state: LosslessState, port: str, priority: int | None, ts_us: int) -> bool:
        if priority is None:
            return False
        seen_us = state.storms.get((port, priority))
        return seen_us is not None and ts_us - seen_us <= self.limits.storm_us
