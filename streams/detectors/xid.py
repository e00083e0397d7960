"""Errors that the driver prints: by code to what they ask for, one episode for what belongs together."""

from collections.abc import Sequence
from typing import Any

import msgspec

from collectors.contract.gpu import GpuScrape
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import GPU_SCRAPES, KERNEL_EVENTS
from streams import catalog
from streams.catalog import BINS
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.xid_findings import DETECTOR, edge_of, subject_of
from streams.detectors.xid_gauges import RECOVERY, told
from streams.detectors.xid_limits import XidLimits
from streams.detectors.xid_parts import PROGRAM, RECORD, base_of, groups_of, part_of
from streams.detectors.xid_rules import ENDS, PROGRAM_KINDS, RECOVERY_CODE, Verdict, judge, takes_back
from streams.detectors.xid_state import MOST, Group, Kept, XidState
from streams.detectors.xid_workflow import weigh
from streams.episodes import graver
from streams.gpus import cell, is_old, row_of

KINDS = frozenset({"xid", "sxid", "gpu_lost"})
"""Of the kernel log's events those that are judged here."""
ENERGY = "156"
ALIVE = (ENERGY, "100", "150", "155")
"""Energy, clock, temperature, power: a GPU that answers any of them is on the bus."""
MOST_CODES = 32
RESET_ENERGY = 0.5
"""A reset GPU shows far less energy than before; a second reader of the counter may lag by a little."""
_KINDS = {"xid": "XID", "sxid": "SXid"}

AFTER_RESET = "the GPU answers again after a reset"


class XidDetector:
    """A GPU has at most three open episodes: one that needs hands, and minor ones of programs and of records."""

    name = DETECTOR
    topics: tuple[Topic[Any], ...] = (KERNEL_EVENTS, GPU_SCRAPES)

    def __init__(self, limits: XidLimits) -> None:
        self._limits = limits

    def fresh(self) -> XidState:
        """A node never seen."""
        return XidState()

    def step(self, state: XidState, batch: Sequence[Message | Tick]) -> tuple[XidState, list[Finding]]:
        """Events open and update; readings of the GPUs clear. Ticks bring nothing about."""
        out: list[Finding] = []
        for message in batch:
            if isinstance(message, GpuScrape):
                self._scrape(state, message, out)
            elif isinstance(message, KernelEvent):
                if message.kind in KINDS:
                    state.hear(part_of(state, message), message.ts_us)
                self._event(state, message, out)
        return state, out

    def keep(self, state: XidState) -> bytes | None:
        """Open episodes and the last lines; nothing for a node whose driver never complained."""
        if not state.known and not state.kept.groups:
            return None
        state.kept.lines = list(state.known)
        return msgspec.msgpack.encode(state.kept)

    def restore(self, kept: bytes) -> XidState:
        """Lines that were judged before are known again."""
        return XidState(msgspec.msgpack.decode(kept, type=Kept))

    def _scrape(self, state: XidState, scrape: GpuScrape, out: list[Finding]) -> None:
        if not state.see(scrape):
            return
        if state.kept.groups:
            self._succeed(state, scrape, out)
            for name in list(state.kept.groups):
                self._end(state, name, scrape, out)
        for event in told(state, scrape, self._limits.gauge_us):
            state.by_gauge = True
            self._event(state, event, out)
            state.by_gauge = False

    def _succeed(self, state: XidState, scrape: GpuScrape, out: list[Finding]) -> None:
        """A GPU in the place of another ends that one's episodes; what the slot did is remembered all the same."""
        episodes = state.kept.episodes
        heirs = state.slots.heirs(scrape, episodes.open.values())
        for name in [name for name, f in episodes.open.items() if f.subject.gpu_uuid in heirs] if heirs else ():
            edge = episodes.replace(name, scrape.ts_us, heirs[episodes.open[name].subject.gpu_uuid or ""])
            del state.kept.groups[name]
            out += [] if edge is None else [edge]

    def _end(self, state: XidState, name: str, scrape: GpuScrape, out: list[Finding]) -> None:
        group = state.kept.groups[name]
        quiet_us = scrape.ts_us - group.last_us
        if quiet_us <= 0:
            if not is_old(scrape.ts_us, group.last_us):
                group.last_us, group.over_us = scrape.ts_us, 0
            return
        subject = state.kept.episodes.open[name].subject
        if subject.kind == "gpu":
            row = row_of(scrape, subject)
            if row is None or not any(cell(scrape, f, row) is not None for f in ALIVE):
                return
            if (cell(scrape, RECOVERY, row) or 0.0) > 0.0:
                group.over_us = 0
                return
            energy = cell(scrape, ENERGY, row)
            if energy is not None and group.energy_mj is not None and energy < RESET_ENERGY * group.energy_mj:
                group.recovered_us, group.energy_mj = max(group.recovered_us, scrape.ts_us), energy
            if group.energy_mj is None:
                group.energy_mj = energy
            if group.recovered_us > group.last_us:
                self._note_reset(state, name, group, scrape.ts_us)
                quiet_us += self._limits.quiet_us(group.severity) - self._limits.reset_us
        elif all(value is None for column in scrape.columns.values() for value in column):
            return
        if quiet_us >= self._limits.quiet_us(group.severity):
            self._is_over(state, name, scrape.ts_us, out)

    def _is_over(self, state: XidState, name: str, ts_us: int, out: list[Finding]) -> None:
        """Quiet for long enough: told once no line from before it can come any more."""
        group = state.kept.groups[name]
        group.over_us = group.over_us or ts_us
        if ts_us >= group.over_us + self._limits.late_us:
            self._clear(state, name, ts_us, self._why_over(state, name), out)

    def _why_over(self, state: XidState, name: str) -> str:
        group = state.kept.groups[name]
        if group.recovered_us > group.last_us:
            return AFTER_RESET
        if state.scrape is None:
            return "the log of the node went on without it"
        kind = state.kept.episodes.open[name].subject.kind
        return f"the {'GPU' if kind == 'gpu' else 'node'} went on without it"

    def _event(self, state: XidState, event: KernelEvent, out: list[Finding]) -> None:
        if state.scrape is None:
            for name, group in list(state.kept.groups.items()):
                if self._is_long_quiet(state, group, event):
                    self._is_over(state, name, event.ts_us, out)
        if event.kind not in KINDS or state.knows(event):
            return
        part = part_of(state, event)
        for name, group in groups_of(state, part):
            # It was over, only nothing had the time to say so: this is another fault.
            again = group.recovered_us > group.last_us and event.ts_us - group.last_us >= self._limits.reset_us
            if again or (group.over_us and event.ts_us > group.over_us) or self._is_long_quiet(state, group, event):
                self._clear(state, name, event.ts_us, self._why_over(state, name), out)
        if (event.kind, event.code) in ENDS:
            self._ended(state, part, event, out)
        elif takes_back(event):
            for _, group in groups_of(state, part):
                group.recovered_us = max(group.recovered_us, event.ts_us)
        elif (verdict := self._verdict(state, part, event)) is not None:
            name = self._episode(state, part, verdict, event.ts_us)
            folded = self._fold(state, name, verdict, event)
            if folded is not None:
                edge = edge_of(state, name, folded, event)
                if edge is not None:
                    out.append(edge)

    def _is_long_quiet(self, state: XidState, group: Group, event: KernelEvent) -> bool:
        """Where no readings come, the log alone must tell."""
        if state.scrape is not None:
            return False
        grave = group.severity == "critical"
        needed = self._limits.critical_log_us if grave else self._limits.quiet_us(group.severity)
        return event.ts_us - group.last_us >= needed

    def _verdict(self, state: XidState, part: str, event: KernelEvent) -> Verdict | None:
        past = state.kept.pasts.get(part)
        if past is not None and event.code is not None and event.ts_us <= past.ended.get(event.code, 0):
            return None
        wanted = None
        if event.code == RECOVERY_CODE and state.scrape is not None:
            row = row_of(state.scrape, subject_of(state, event))
            wanted = None if row is None else cell(state.scrape, RECOVERY, row)
        verdict = judge(event, catalog.major(state.kept.driver), wanted)
        if verdict is None or not verdict.remembered:
            return verdict
        if verdict.kind in PROGRAM_KINDS and part in state.kept.groups:
            return verdict  # an effect of the fault that is open
        state.past(part)
        job = state.job_of(subject_of(state, event)) if verdict.kind in PROGRAM_KINDS else None
        return weigh(self._limits, state.kept.pasts, part, verdict, event, len(state.parts), job)

    def _ended(self, state: XidState, part: str, event: KernelEvent, out: list[Finding]) -> None:
        """The driver itself says that something is over: its episode ends, unless there is more in it."""
        begun = ENDS[event.kind, event.code or 0]
        past = state.past(part)
        past.ended[begun] = max(past.ended.get(begun, 0), event.ts_us)
        for name, group in groups_of(state, part):
            if [*group.codes] == [f"{_KINDS[event.kind]} {begun}"]:
                self._clear(state, name, max(event.ts_us, group.last_us), "the driver says that it is over", out)

    def _note_reset(self, state: XidState, name: str, group: Group, ts_us: int) -> None:
        past = state.kept.pasts.get(base_of(name))
        if past is not None and past.reset_us <= group.last_us:
            past.reset_us = ts_us

    def _episode(self, state: XidState, part: str, verdict: Verdict, ts_us: int) -> str:
        """The name of the episode that an event belongs to. A minor one becomes the other when it was its herald."""
        program, record = part + PROGRAM, part + RECORD
        own = program if verdict.cause.startswith("application_") else record
        groups, episodes = state.kept.groups, state.kept.episodes.open
        # A minor one from well before the fault is no effect of it, however late it comes.
        early = part in episodes and ts_us < episodes[part].episode_us - self._limits.group_us
        if part in groups and not (early and verdict.severity == "info"):
            return part
        if verdict.severity == "info":
            # Two episodes of one part need two starts: one at the other's very start is told with it.
            other = record if own == program else program
            together = own not in groups and other in groups and episodes[other].episode_us == ts_us
            return other if together else own
        for soft in (record, program):
            # A herald began just before; one that began long ago is a matter of its own, whatever came since.
            if soft in groups and abs(ts_us - episodes[soft].episode_us) <= self._limits.group_us:
                if part in groups:
                    break
                groups[part], episodes[part] = groups.pop(soft), episodes.pop(soft)
        return part

    def _fold(self, state: XidState, name: str, verdict: Verdict, event: KernelEvent) -> Group | None:
        groups = state.kept.groups
        group = groups.get(name)
        if group is None:
            if len(groups) >= MOST:
                return None
            group = groups[name] = Group(verdict, verdict.severity, verdict.bin, False, event.ts_us, event.ts_us)
            group.by_gauge = state.by_gauge
        group.by_gauge &= state.by_gauge
        if event.ts_us > group.seen_us + self._limits.group_us:
            group.count += 1
        group.seen_us = max(group.seen_us, event.ts_us)
        again = verdict.cause == group.verdict.cause and verdict.times > group.verdict.times
        if verdict.rank > group.verdict.rank or again:
            group.verdict = verdict
        if graver(verdict.severity, group.severity):
            group.severity = verdict.severity
        if verdict.sets_action:
            if not group.told or BINS.index(verdict.bin) >= BINS.index(group.asked):
                group.asked, group.asks = verdict.bin, verdict.asks
            group.told = True
        elif not group.told:
            group.asked = group.verdict.bin
        code = f"{_KINDS.get(event.kind, event.kind)}{'' if event.code is None else f' {event.code}'}"
        if code in group.codes or len(group.codes) < MOST_CODES:
            group.codes[code] = group.codes.get(code, 0) + 1
        if verdict.rank == 0 and group.verdict.rank > 0:
            return group
        # Of a late line the reading from just after it: a reset from before it must not pass for its cure.
        newest = event.ts_us > group.last_us or group.energy_mj is None
        group.last_us, group.over_us = max(group.last_us, event.ts_us), 0
        row = row_of(state.scrape, subject_of(state, event)) if newest and state.scrape is not None else None
        if state.scrape is not None and row is not None:
            group.energy_mj = cell(state.scrape, ENERGY, row)
        return group

    def _clear(self, state: XidState, name: str, ts_us: int, why: str, out: list[Finding]) -> None:
        group = state.kept.groups.pop(name)
        edge = state.kept.episodes.clear(name, ts_us, f"{group.verdict.words}: {why}")
        if edge is not None:
            out.append(edge)
