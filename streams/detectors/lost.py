"""GPUs that are gone: their node's page goes on without them, or nothing of them can be read any more.

The driver's own word for it (XID 79) is the XID detector's; here the page is judged, which also tells of a GPU
whose driver said nothing.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import GPU_SCRAPES
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.lost_findings import NAME, gone_finding, node_finding, odd_count_finding
from streams.detectors.lost_limits import LostLimits
from streams.detectors.lost_state import MOST, Kept, Known, State, readable
from streams.gpus import cell, gpu_subject, is_old

ALL, COUNT = "all", "count"
"""Names of the node's own episodes; those of GPUs go by UUID."""
_ACTIVITY = (("1002", 1.0), ("1001", 1.0), ("203", 100.0))


class LostDetector:
    """Judges each scrape against the GPUs that the node has shown before."""

    name = NAME
    topics: tuple[Topic[Any], ...] = (GPU_SCRAPES,)

    def __init__(self, limits: LostLimits) -> None:
        self._limits = limits

    def fresh(self) -> State:
        """A node never seen."""
        return State()

    def step(self, state: State, batch: Sequence[Message | Tick]) -> tuple[State, list[Finding]]:
        """Scrapes bring everything about; a tick nothing: a node that is silent has lost no GPU yet."""
        out: list[Finding] = []
        for message in batch:
            if isinstance(message, GpuScrape) and not message.part:
                self._scrape(state, message, out)
        return state, out

    def keep(self, state: State) -> bytes | None:
        """The GPUs of the node and its open episodes."""
        return msgspec.msgpack.encode(state.kept) if state.kept.known else None

    def restore(self, kept: bytes) -> State:
        """Goes on where it was; scrapes from before are old news."""
        was = msgspec.msgpack.decode(kept, type=Kept)
        return State(was, was.last_us)

    def _scrape(self, state: State, scrape: GpuScrape, out: list[Finding]) -> None:
        if is_old(scrape.ts_us, state.last_us):
            return
        state.last_us = scrape.ts_us
        rows = readable(scrape)
        if rows is not None and not rows and scrape.gpus:
            return  # nothing of the page can be read: that is its source's trouble
        calm = rows is None and not state.away and not state.here and scrape.gpus == state.gpus
        if not calm or not state.counted:
            self._look(state, scrape, rows, out)
        state.scrape = scrape

    def _look(self, state: State, scrape: GpuScrape, rows: set[int] | None, out: list[Finding]) -> None:
        kept, before = state.kept, len(out)
        kept.cluster = scrape.cluster
        shown = {g.uuid: g for g in scrape.gpus}
        here = {g.uuid: g for row, g in enumerate(scrape.gpus) if rows is None or row in rows}
        changed = self._meet(state, scrape, here, out)
        if not here:
            changed |= kept.changed_us < scrape.ts_us
            kept.changed_us = scrape.ts_us
        for uuid, known in kept.known.items():
            if uuid in here:
                changed |= self._is_here(state, uuid, known, scrape, out)
            else:
                changed |= self._is_away(state, uuid, known, scrape, shown.get(uuid), out, bool(here))
        if not here:
            self._all_away(state, scrape, out)
        self._count(state, scrape, here, out)
        if changed or len(out) > before:
            kept.last_us = scrape.ts_us
        state.gpus = scrape.gpus if rows is None else []

    def _meet(self, state: State, scrape: GpuScrape, here: dict[str, Gpu], out: list[Finding]) -> bool:
        """Learn who is here; a GPU in the place of another, or as many others as there were, end the wait."""
        kept, changed = state.kept, False
        others = here.keys().isdisjoint(kept.known) and len(here) >= len(kept.known)
        for uuid, gpu in here.items():
            known = kept.known.get(uuid)
            if known is None:
                if len(kept.known) < MOST:
                    kept.known[uuid] = Known(gpu_subject(scrape.node, gpu), gpu.model, gpu.mig is not None)
                    changed = True
            elif known.mig != (gpu.mig is not None):
                known.mig, kept.changed_us, changed = gpu.mig is not None, scrape.ts_us, True
        places = {g.pci: g.uuid for g in here.values() if g.pci is not None}
        for uuid, known in list(kept.known.items()):
            heir = places.get(known.subject.pci or "") or (", ".join(sorted(here)) if others else None)
            if uuid not in here and heir is not None:
                del kept.known[uuid]
                state.away.pop(uuid, None)
                state.here.pop(uuid, None)
                edge = kept.episodes.replace(uuid, scrape.ts_us, heir)
                out += [] if edge is None else [edge]
                changed = True
        if not kept.first_us:
            kept.first_us, changed = scrape.ts_us, True
        return changed

    def _is_here(self, state: State, uuid: str, known: Known, scrape: GpuScrape, out: list[Finding]) -> bool:
        missed = state.away.pop(uuid, 0)
        changed = known.away_us != 0
        known.away_us = 0
        if uuid in state.kept.episodes.open:
            state.here[uuid] = state.here.get(uuid, 0) + 1
            if state.here[uuid] >= self._limits.back:
                del state.here[uuid]
                _clear(state, uuid, scrape.ts_us, "it is on the page again, and can be read", out)
        elif missed > known.learned:
            known.learned, changed = min(missed, self._limits.learned), True
        return changed

    def _is_away(
        self,
        state: State,
        uuid: str,
        known: Known,
        scrape: GpuScrape,
        row: Gpu | None,
        out: list[Finding],
        goes_on: bool,
    ) -> bool:
        state.here.pop(uuid, None)
        state.away[uuid] = state.away.get(uuid, 0) + 1
        changed = known.away_us == 0
        if changed:
            last = state.scrape
            known.away_us = scrape.ts_us if last is None else last.ts_us
            known.idle = last is not None and self._idle(last, uuid)
        limits = self._limits
        waited_us = scrape.ts_us - known.away_us
        needed_us = limits.idle_us if known.idle else 0
        if state.kept.changed_us and known.away_us <= state.kept.changed_us + limits.change_us:
            needed_us = max(needed_us, state.kept.changed_us + limits.change_us - known.away_us)
        enough = state.away[uuid] >= limits.scrapes + known.learned and waited_us >= needed_us
        if not goes_on or not enough or (known.mig and row is None):
            return changed
        opened = state.kept.episodes.open.get(uuid)
        finding = gone_finding(scrape, known, row is not None, len(state.kept.known))
        if opened is None or (opened.cause != finding.cause and row is None):
            edge = state.kept.episodes.report(uuid, finding)
            out += [] if edge is None else [edge]
        return changed

    def _all_away(self, state: State, scrape: GpuScrape, out: list[Finding]) -> None:
        known = state.kept.known
        state.here.pop(ALL, None)
        if not known or ALL in state.kept.episodes.open:
            return
        since_us = max(k.away_us for k in known.values())
        if scrape.ts_us - since_us >= self._limits.change_us:
            edge = state.kept.episodes.report(ALL, node_finding(scrape, len(known), since_us))
            out += [] if edge is None else [edge]

    def _count(self, state: State, scrape: GpuScrape, here: dict[str, Gpu], out: list[Finding]) -> None:
        kept, limits = state.kept, self._limits
        if ALL in kept.episodes.open and here:
            state.here[ALL] = state.here.get(ALL, 0) + 1
            if state.here[ALL] >= limits.back:
                del state.here[ALL]
                _clear(state, ALL, scrape.ts_us, "GPUs are on the page again", out)
        if scrape.ts_us < kept.first_us + limits.settled_us or state.away:
            return
        state.counted = True
        boards = [g for g in here.values() if any(word in (g.model or "") for word in limits.boards)]
        odd = bool(boards) and len(here) not in limits.usual
        if odd and COUNT not in kept.episodes.open:
            edge = kept.episodes.report(COUNT, odd_count_finding(scrape, boards[0], len(here), limits.usual))
            out += [] if edge is None else [edge]
        elif here and not odd:
            _clear(state, COUNT, scrape.ts_us, f"it has {len(here)} GPUs", out)

    def _idle(self, scrape: GpuScrape, uuid: str) -> bool:
        """Did the GPU do nothing? False where that is not known."""
        rows = [row for row, g in enumerate(scrape.gpus) if g.uuid == uuid]
        for field_id, whole in _ACTIVITY:
            read = [value for row in rows if (value := cell(scrape, field_id, row)) is not None]
            if read:
                return max(read) / whole <= self._limits.busy
        return False


def _clear(state: State, name: str, ts_us: int, why: str, out: list[Finding]) -> None:
    last = state.kept.episodes.open.get(name)
    if last is not None:
        edge = state.kept.episodes.clear(name, ts_us, f"{last.summary}; {why}")
        out += [] if edge is None else [edge]
