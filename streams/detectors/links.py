"""The links of a GPU: PCIe to the host, NVLink to the others, C2C to the CPU. Errors above what such a link may
have, links that are narrow, slow or down; a fault that most GPUs of a node share is the node's."""

from collections.abc import Sequence
from typing import Any

import msgspec

from collectors.contract.gpu import GpuScrape
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import GPU_SCRAPES, KERNEL_EVENTS
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.links_errors import WORDS, Grown, Growth, allowed_per_minute, grown, has_moved, pour
from streams.detectors.links_findings import DETECTOR, OVER, bad_link, bad_node, label, too_many_errors
from streams.detectors.links_heirs import succeed
from streams.detectors.links_limits import LinkLimits
from streams.detectors.links_sights import Sight, sights
from streams.detectors.links_state import ALL, MOST, LinkState, Owner, Part, Voice, part_ways
from streams.episodes import Episodes
from streams.gpus import is_old, share_at_work

LATCHED = frozenset(("nvswitch_reset_required",))
"""What stands until somebody acts is told at first sight."""
SEEN_WORDS = frozenset(("pcie_downtrain", "nvlink_down", "nvswitch_reset_required"))


class LinkDetector:
    """One episode a word and GPU (or NVSwitch), or one for the node."""

    name = DETECTOR
    topics: tuple[Topic[Any], ...] = (GPU_SCRAPES, KERNEL_EVENTS)

    def __init__(self, limits: LinkLimits) -> None:
        self._limits = limits

    def fresh(self) -> LinkState:
        """A node never seen."""
        return LinkState()

    def step(self, state: LinkState, batch: Sequence[Message | Tick]) -> tuple[LinkState, list[Finding]]:
        """Ticks bring nothing about: silence says nothing of a link."""
        out: list[Finding | None] = []
        for message in batch:
            if isinstance(message, GpuScrape):
                self._scrape(state, message, out)
            elif isinstance(message, KernelEvent) and message.kind == "aer":
                self._line(state, message, out)
        return state, [edge for edge in out if edge is not None]

    def keep(self, state: LinkState) -> bytes | None:
        """The open episodes."""
        return msgspec.msgpack.encode(state.episodes) if state.episodes.open else None

    def restore(self, kept: bytes) -> LinkState:
        """Open episodes wait for good scrapes under load."""
        return LinkState(msgspec.msgpack.decode(kept, type=Episodes))

    def _scrape(self, state: LinkState, scrape: GpuScrape, out: list[Finding | None]) -> None:
        voice = state.voices.get(scrape.source)
        before = None if voice is None else voice.last
        if before is not None and is_old(scrape.ts_us, before.ts_us):
            return
        if voice is None or before is None or scrape.ts_us <= before.ts_us:
            voice, before = state.voices.setdefault(scrape.source, Voice()), None
            voice.restart()
            _adopt(state, voice, scrape)
        voice.last = scrape
        if voice.parts or state.episodes.open:
            out += succeed(state, scrape, self._limits)
        if before is None or voice.parts or voice.narrow or has_moved(scrape, before):
            self._judge(state, voice, scrape, before, out)

    def _judge(
        self, state: LinkState, voice: Voice, scrape: GpuScrape, before: GpuScrape | None, out: list[Finding | None]
    ) -> None:
        rows = _rows(scrape)
        found = grown(scrape, before, voice)
        over_us = 0 if before is None else scrape.ts_us - before.ts_us
        for (owner, sort), growth in found.of.items():
            part = voice.part(owner, WORDS[sort])
            per_minute = allowed_per_minute(sort, scrape, rows.get(owner), self._limits)
            pour(part, sort, growth, per_minute, over_us, scrape.ts_us, self._limits)
        for (owner, word), part in list(voice.parts.items()):
            if word not in SEEN_WORDS:
                self._leak(found, owner, part, over_us, scrape, rows)
                self._errors(state, voice, scrape, found, (owner, word), part, out)
        seen = sights(scrape, voice, state.episodes, self._limits)
        voice.narrow = any(s.bad or (s.bad is None and _is_less(s)) for s in seen)
        self._sights(state, voice, scrape, seen, out)

    def _leak(
        self, found: Grown, owner: Owner, part: Part, over_us: int, scrape: GpuScrape, rows: dict[Owner, int]
    ) -> None:
        for sort in [s for s in part.levels if (owner, s) not in found.of]:
            per_minute = allowed_per_minute(sort, scrape, rows.get(owner), self._limits)
            pour(part, sort, Growth(), per_minute, over_us, scrape.ts_us, self._limits)

    def _errors(
        self,
        state: LinkState,
        voice: Voice,
        scrape: GpuScrape,
        found: Grown,
        place: tuple[Owner, str],
        part: Part,
        out: list[Finding | None],
    ) -> None:
        """Report what is full; end what has been empty under load for long enough."""
        owner, word = place
        name = f"{owner}/{word}"
        row = next((r for r, gpu in enumerate(scrape.gpus) if gpu.uuid == owner), None)
        if part.full:
            part.ill()
            finding = too_many_errors(scrape, owner, row, word, part, scrape.ts_us, self._limits)
            out.append(state.episodes.report(name, finding))
        elif name not in state.episodes.open:
            if not part.levels:
                del voice.parts[place]
        elif part.levels:
            part.fine = 0
        elif _is_told(scrape, found, place, row) and self._at_work(scrape, row):
            part.well(scrape.ts_us)
            if part.is_over(scrape.ts_us, self._limits.fine_windows, self._limits.fine_us):
                del voice.parts[place]
                summary = f"{label(scrape, owner, row)}: no more errors under load than are normal"
                out.append(state.episodes.clear(name, scrape.ts_us, summary))

    def _sights(
        self, state: LinkState, voice: Voice, scrape: GpuScrape, seen: list[Sight], out: list[Finding | None]
    ) -> None:
        for one in seen:
            part = voice.parts.get((one.owner, one.word))
            if one.bad:
                voice.part(one.owner, one.word).ill()
            elif one.bad is False and part is not None:
                part.well(scrape.ts_us)
        for word in sorted({one.word for one in seen}):
            self._shared(state, voice, scrape, [one for one in seen if one.word == word], out)
        for one in seen:
            place, name = (one.owner, one.word), f"{one.owner}/{one.word}"
            part = voice.parts.get(place)
            if part is None or part.with_node:
                continue
            if one.bad:
                if part.bad >= (1 if one.word in LATCHED else self._limits.windows):
                    out.append(state.episodes.report(name, bad_link(scrape, one, self._limits)))
            elif name not in state.episodes.open:
                if one.bad is False:
                    del voice.parts[place]
            elif part.is_over(scrape.ts_us, self._limits.fine_windows, self._limits.state_fine_us):
                del voice.parts[place]
                out.append(
                    state.episodes.clear(name, scrape.ts_us, f"{label(scrape, one.owner, one.row)}: {OVER[one.word]}")
                )

    def _shared(
        self, state: LinkState, voice: Voice, scrape: GpuScrape, seen: list[Sight], out: list[Finding | None]
    ) -> None:
        """Open, go on with, or end the node's episode of one word. Its members have none of their own beside it."""
        limits, episodes = self._limits, state.episodes
        word, name = seen[0].word, f"{ALL}/{seen[0].word}"
        of_gpus = [one for one in seen if one.row is not None]
        bad = [one for one in of_gpus if one.bad and f"{one.owner}/{word}" not in episodes.open]
        parts = [voice.part(one.owner, word) for one in bad]
        told = sum(one.bad is not None for one in of_gpus)
        if len(bad) >= max(limits.node_least, limits.node_share * told):
            for part in parts:
                part.with_node = True
            if max(part.bad for part in parts) >= limits.windows:
                out.append(episodes.report(name, bad_node(scrape, bad, limits)))
        elif name not in episodes.open:
            part_ways(voice, word)
        if name in episodes.open:
            left = [
                part
                for (_, w), part in voice.parts.items()
                if w == word
                and part.with_node
                and not part.is_over(scrape.ts_us, limits.fine_windows, limits.state_fine_us)
            ]
            if len(left) < limits.node_least:
                out.append(episodes.clear(name, scrape.ts_us, f"{scrape.node}: {OVER[word]}"))
                part_ways(voice, word)

    def _line(self, state: LinkState, event: KernelEvent, out: list[Finding | None]) -> None:
        """A PCIe error report that names a known GPU. Others are no business of a GPU's link."""
        voice = max((v for v in state.voices.values() if _row_at(v, event.pci) is not None), key=_last_us, default=None)
        line = (event.ts_us, event.raw or event.detail or "")
        if voice is None or voice.last is None or (row := _row_at(voice, event.pci)) is None or line in state.lines:
            return
        gpu = voice.last.gpus[row]
        state.lines.append(line)
        text = (event.detail or event.raw).lower()
        sort = "aer_uncorrected" if "uncorrect" in text or "fatal" in text else "aer_corrected"
        part = voice.part(gpu.uuid, WORDS[sort])
        per_minute = allowed_per_minute(sort, voice.last, row, self._limits)
        pour(part, sort, Growth({"log": 1.0}), per_minute, 0, event.ts_us, self._limits)
        if part.full:
            part.ill()
            word = WORDS[sort]
            finding = too_many_errors(voice.last, gpu.uuid, row, word, part, event.ts_us, self._limits)
            out.append(state.episodes.report(f"{gpu.uuid}/{word}", finding))

    def _at_work(self, scrape: GpuScrape, row: int | None) -> bool:
        """Also where nothing tells: then errors are all there is to go by."""
        rows = range(len(scrape.gpus)) if row is None else (row,)
        shares = [share_at_work(scrape, r) for r in rows]
        return any(share is None or share > self._limits.active for share in shares)


def _adopt(state: LinkState, voice: Voice, scrape: GpuScrape) -> None:
    """What is open was open before this source spoke."""
    for name in list(state.episodes.open)[:MOST]:
        owner, _, word = name.rpartition("/")
        if owner != ALL:
            voice.part(owner, word)
            continue
        for gpu in scrape.gpus:
            if f"{gpu.uuid}/{word}" not in state.episodes.open:
                voice.part(gpu.uuid, word).with_node = True


def _rows(scrape: GpuScrape) -> dict[Owner, int]:
    """The first row of each GPU."""
    return {gpu.uuid: row for row, gpu in reversed(list(enumerate(scrape.gpus)))}


def _is_less(seen: Sight) -> bool:
    return seen.value is not None and seen.limit is not None and seen.value < seen.limit


def _is_told(scrape: GpuScrape, found: Grown, place: tuple[Owner, str], row: int | None) -> bool:
    """Could this scrape have shown the error? What only the kernel's log tells needs a GPU that can be read."""
    if place in found.read:
        return True
    answers = row is not None and any(c[row] is not None for c in scrape.columns.values() if row < len(c))
    return answers and place[1] == "pcie_uncorrected"


def _row_at(voice: Voice, pci: str | None) -> int | None:
    """The row of the GPU at an address."""
    gpus = [] if voice.last is None or pci is None else voice.last.gpus
    return next((row for row, gpu in enumerate(gpus) if gpu.pci == pci), None)


def _last_us(voice: Voice) -> int:
    return 0 if voice.last is None else voice.last.ts_us
