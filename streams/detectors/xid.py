"""Errors that the driver prints: by code to what they ask for, one episode for what belongs together."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import msgspec
from msgspec import Struct, field

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import GPU_SCRAPES, KERNEL_EVENTS
from streams.catalog import ACTIONS, Bin
from streams.contract import Evidence, Finding, Severity, Subject
from streams.detector import Tick
from streams.detectors.xid_rules import Verdict, judge
from streams.episodes import Episodes, graver
from streams.gpus import gpu_subject, uuids

SECOND_US = 1_000_000
HOUR_US = 3600 * SECOND_US
ENERGY, RECOVERY = "156", "1523"
ALIVE = (ENERGY, "100", "150", "155")
"""Energy, clock, temperature, power: a GPU that answers any of them is on the bus."""
MOST = 256
"""Open episodes, remembered lines and remembered GPUs of a node; codes of an episode stop at 32."""
MOST_CODES = 32
RESET_ENERGY = 0.5
"""A reset GPU shows far less energy than before; a second reader of the counter may lag by a little."""
_KINDS = {"xid": "XID", "sxid": "SXid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class XidLimits:
    """How lines belong together, and when an episode is over. A quiet log alone never ends one.

    It ends when the GPU itself still answers after the quiet time (for a switch: the node), or sooner when the
    GPU was reset since: its energy counter, which starts again at driver load, has fallen. Where no GPU
    readings come at all, the node's log has to go on without the fault for the quiet time.
    """

    group_us: int = 5 * SECOND_US
    """Delta study (arXiv 2503.11901): repeats within 5 s on one GPU are one error."""
    info_us: int = 600 * SECOND_US
    warning_us: int = HOUR_US
    critical_us: int = 24 * HOUR_US
    """Quiet times by severity: own choice. What asks for a reset is not forgotten overnight."""
    reset_us: int = 300 * SECOND_US
    """Quiet time after a reset was seen: a fault that the reset did not cure comes back in minutes."""
    critical_log_us: int = 7 * 24 * HOUR_US

    def quiet_us(self, severity: Severity) -> int:
        """How long the GPU must answer without the fault."""
        return {"info": self.info_us, "warning": self.warning_us, "critical": self.critical_us}[severity]


class Group(Struct):
    """An open episode beside its edges."""

    verdict: Verdict
    """Of the cause."""
    severity: Severity
    asked: Bin
    """What to do: the driver's own word, else the cause's bin."""
    told: bool
    last_us: int
    count: int = 0
    codes: dict[str, int] = field(default_factory=dict)
    energy_mj: float | None = None
    """Of the GPU before the last event; a lower reading after it means a reset."""


class Kept(Struct):
    """What outlives the process."""

    groups: dict[str, Group] = field(default_factory=dict)
    episodes: Episodes = field(default_factory=Episodes)
    lines: list[int] = field(default_factory=list)
    """Digests of the last events, to know one that is delivered again."""


class XidState:
    """One node."""

    __slots__ = ("kept", "known", "parts", "rows", "scrape")

    def __init__(self, kept: Kept | None = None) -> None:
        self.kept = kept or Kept()
        self.known = dict.fromkeys(self.kept.lines)
        self.rows: list[str] = []
        self.parts: dict[str, Gpu] = {}
        """PCI address -> GPU, also those that are gone: the log names the address only."""
        self.scrape: GpuScrape | None = None


class XidDetector:
    """A GPU has at most two open episodes: one that needs hands, and a minor one (programs, records)."""

    name = "xid"
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
        if state.scrape is not None and scrape.ts_us <= state.scrape.ts_us:
            return
        state.scrape = scrape
        rows = uuids(scrape)
        if rows != state.rows:
            state.rows = rows
            if len(state.parts) > MOST:
                state.parts = {}
            state.parts |= {g.pci: g for g in scrape.gpus if g.pci is not None}
        if state.kept.groups:
            for name in list(state.kept.groups):
                self._end(state, name, scrape, out)

    def _end(self, state: XidState, name: str, scrape: GpuScrape, out: list[Finding]) -> None:
        group = state.kept.groups[name]
        quiet_us = scrape.ts_us - group.last_us
        if quiet_us <= 0:
            return
        subject = state.kept.episodes.open[name].subject
        why = "the node went on without it"
        if subject.kind == "gpu":
            row = _row(scrape, subject)
            if row is None or not any(_read(scrape, f, row) is not None for f in ALIVE):
                return
            if (_read(scrape, RECOVERY, row) or 0.0) > 0.0:
                return
            energy = _read(scrape, ENERGY, row)
            reset = energy is not None and group.energy_mj is not None and energy < RESET_ENERGY * group.energy_mj
            if group.energy_mj is None:
                group.energy_mj = energy
            why = "the GPU answers again after a reset" if reset else "the GPU went on without it"
            if reset:
                quiet_us += self._limits.quiet_us(group.severity) - self._limits.reset_us
        if quiet_us >= self._limits.quiet_us(group.severity):
            self._clear(state, name, scrape.ts_us, why, out)

    def _event(self, state: XidState, event: KernelEvent, out: list[Finding]) -> None:
        if state.scrape is None:
            for name, group in list(state.kept.groups.items()):
                grave = group.severity == "critical"
                needed = self._limits.critical_log_us if grave else self._limits.quiet_us(group.severity)
                if event.ts_us - group.last_us >= needed:
                    self._clear(state, name, event.ts_us, "the log of the node went on without it", out)
        verdict = judge(event)
        if verdict is None or _is_known(state, event):
            return
        part = f"switch {event.pci or event.device}" if event.kind == "sxid" else event.pci or event.gpu_uuid or "node"
        name = self._episode(state, part, verdict, event.ts_us)
        folded = self._fold(state, name, verdict, event)
        if folded is not None:
            edge = state.kept.episodes.report(name, self._finding(state, folded, event), most=MOST)
            if edge is not None:
                out.append(edge)

    def _episode(self, state: XidState, part: str, verdict: Verdict, ts_us: int) -> str:
        """The name of the episode that an event belongs to. A minor one becomes the other when it was its herald."""
        soft = f"{part} minor"
        groups, episodes = state.kept.groups, state.kept.episodes.open
        if part in groups:
            return part
        if verdict.severity == "info":
            return soft
        if soft in groups and abs(ts_us - groups[soft].last_us) <= self._limits.group_us:
            groups[part], episodes[part] = groups.pop(soft), episodes.pop(soft)
        return part

    def _fold(self, state: XidState, name: str, verdict: Verdict, event: KernelEvent) -> Group | None:
        groups = state.kept.groups
        group = groups.get(name)
        if group is None:
            if len(groups) >= MOST:
                return None
            group = groups[name] = Group(verdict, verdict.severity, verdict.bin, False, event.ts_us)
        if verdict.rank > group.verdict.rank:
            group.verdict = verdict
        if graver(verdict.severity, group.severity):
            group.severity = verdict.severity
        if verdict.sets_action:
            group.asked, group.told = verdict.bin, True
        elif not group.told:
            group.asked = group.verdict.bin
        group.last_us = max(group.last_us, event.ts_us)
        group.count += 1
        code = f"{_KINDS.get(event.kind, event.kind)}{'' if event.code is None else f' {event.code}'}"
        if code in group.codes or len(group.codes) < MOST_CODES:
            group.codes[code] = group.codes.get(code, 0) + 1
        row = None if state.scrape is None else _row(state.scrape, self._subject(state, event))
        if state.scrape is not None and row is not None and state.scrape.ts_us <= event.ts_us:
            group.energy_mj = _read(state.scrape, ENERGY, row)
        return group

    def _clear(self, state: XidState, name: str, ts_us: int, why: str, out: list[Finding]) -> None:
        group = state.kept.groups.pop(name)
        edge = state.kept.episodes.clear(name, ts_us, f"{group.verdict.words}: {why}")
        if edge is not None:
            out.append(edge)

    def _finding(self, state: XidState, group: Group, event: KernelEvent) -> Finding:
        subject = self._subject(state, event)
        return Finding(
            cluster=event.cluster,
            detector=self.name,
            state="opened",
            subject=subject,
            episode_us=event.ts_us,
            ts_us=event.ts_us,
            severity=group.severity,
            cause=group.verdict.cause,
            value=float(group.count),
            unit="events",
            summary=f"{_place(subject)}: {group.verdict.words}",
            evidence=_evidence(group, event),
            action=ACTIONS[group.asked],
        )

    def _subject(self, state: XidState, event: KernelEvent) -> Subject:
        node = event.node
        if event.kind == "sxid":
            switch = event.pci or event.device or "nvswitch"
            return Subject(kind="device", id=f"{node}/{switch}", node=node, device=f"{node}/{switch}", pci=event.pci)
        part = state.parts.get(event.pci or "")
        if part is not None and event.gpu_uuid in (None, part.uuid):
            return gpu_subject(node, part)
        if event.gpu_uuid is not None:
            return Subject(kind="gpu", id=event.gpu_uuid, node=node, gpu_uuid=event.gpu_uuid, pci=event.pci)
        if event.pci is not None:
            return Subject(kind="gpu", id=f"{node}/{event.pci}", node=node, pci=event.pci)
        return Subject(kind="node", id=node, node=node)


def _evidence(group: Group, event: KernelEvent) -> list[Evidence]:
    found = [Evidence(what=code, value=float(n), unit="events") for code, n in group.codes.items()]
    who = event.process or (f"pid {event.pid}" if event.pid is not None else None)
    if who is not None:
        found.append(Evidence(what=f"process: {who}"))
    if event.mig is not None:
        found.append(Evidence(what=f"MIG instance {event.mig}"))
    found.append(Evidence(what=(event.raw or event.detail or event.kind)[:240], ts_us=event.ts_us))
    return found


def _place(subject: Subject) -> str:
    if subject.kind == "device":
        return f"NVSwitch {subject.id}"
    if subject.kind == "node":
        return f"a GPU of {subject.node}"
    return f"GPU {subject.id if subject.gpu_index is None else subject.gpu_index} of {subject.node}"


def _row(scrape: GpuScrape, subject: Subject) -> int | None:
    for row, gpu in enumerate(scrape.gpus):
        if gpu.uuid == subject.gpu_uuid or (subject.gpu_uuid is None and gpu.pci == subject.pci):
            return row
    return None


def _read(scrape: GpuScrape, field_id: str, row: int) -> float | None:
    column = scrape.columns.get(field_id)
    return column[row] if column is not None and row < len(column) else None


def _is_known(state: XidState, event: KernelEvent) -> bool:
    text = "|".join(map(str, _identity(event)))
    digest = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
    if digest in state.known:
        return True
    state.known[digest] = None
    if len(state.known) > MOST:
        del state.known[next(iter(state.known))]
    return False


def _identity(event: KernelEvent) -> Iterable[object]:
    return (event.ts_us, event.kind, event.code, event.pci, event.gpu_uuid, event.device, event.pid, event.raw)
