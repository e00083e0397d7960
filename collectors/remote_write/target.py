"""One target's scrapes as they come: whole in one request, or in pieces over several.

A sender cuts its requests where it likes, and sends the next only when the last is acknowledged; with several shards
it spreads each scrape over all of them. An acknowledgement that waited for the rest would keep the rest from coming,
and one that came before Kafka had the piece would lose it. So a piece goes to Kafka as a piece (`GpuScrape.part`),
is acknowledged, and is kept here until the scrape is whole; then the whole goes to Kafka too, and that is what
readers take. Whole is what has all series of the scrape before, counting those that ended.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from collectors.contract.gpu import GpuScrape
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import GPU_SCRAPES, JOB_STEPS
from collectors.remote_write.megatron import Past, metric_of, tell
from collectors.remote_write.series import Series, Source
from collectors.remote_write.shape import Cells, Shape, shape_of

MOST_OPEN = 8
"""Scrapes of one target that wait for their rest; then the oldest is taken as it is."""
MOST_DONE = 16
"""Times of whole scrapes that are remembered, to know a request that is sent again."""
MOST_SHAPES = 4

Out = list[tuple[Topic[Any], Message]]


@dataclass(eq=False, slots=True)
class Group:
    """A scrape of which pieces have come. `sent` are those that Kafka has."""

    cells: dict[Series, float | None] = field(default_factory=dict)
    ended: set[Series] = field(default_factory=set)
    sent: set[Series] = field(default_factory=set)
    heard_s: float = 0.0
    closing: bool = False
    """Another request carries the whole of it to Kafka at this moment."""


@dataclass(slots=True)
class Step:
    """What one request's samples of one scrape come to. Kafka's word is told by `confirm` or `undo`."""

    messages: Out = field(default_factory=list)
    confirm: list[Callable[[], None]] = field(default_factory=list)
    undo: list[Callable[[], None]] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Target:
    """What is remembered of one target."""

    source: Source
    cluster: str
    expected: frozenset[Series] | None = None
    """The series of the last whole scrape, and what came to it late; None: none was whole yet."""
    shapes: list[Shape] = field(default_factory=list)
    """The last one first."""
    open: dict[int, Group] = field(default_factory=dict)
    done: dict[int, frozenset[Series]] = field(default_factory=dict)
    past: dict[str, Past] = field(default_factory=dict)
    node: str | None = None
    last: GpuScrape | None = None
    """The last whole scrape."""
    heard_s: float = 0.0
    messages: int = 0
    samples: int = 0
    gone: bool = False
    """All of its series ended: the sender cannot scrape it, or no longer does."""

    def take(self, ts_ms: int, cells: dict[Series, float | None], ended: set[Series], now_s: float) -> Step:
        """Samples of one scrape, from one request."""
        self.heard_s, self.gone = now_s, not cells and bool(ended)
        self.samples += len(cells)
        done, step = self.done.get(ts_ms), Step()
        if done is not None:
            cells = {series: value for series, value in cells.items() if series not in done}
            if cells:
                # Its rest came late. The same time again: detectors pass it over, the warehouse has it.
                self._tell(step, ts_ms, cells, self.done[ts_ms] | cells.keys())
            return step
        group = self.open.get(ts_ms)
        if group is None:
            if self._is_whole(cells, ended):
                self._close(step, before_ms=ts_ms)
                self._whole(step, ts_ms, cells)
                return step
            group = self.open[ts_ms] = Group()
        fresh = {series: value for series, value in cells.items() if series not in group.sent}
        group.cells |= fresh
        group.ended |= ended
        group.heard_s = now_s
        if self._is_whole(group.cells, group.ended):
            self._close(step, before_ms=ts_ms)
            self._close_one(step, ts_ms, group)
        elif fresh:
            step.messages += self._part(ts_ms, fresh)
            step.confirm.append(lambda: group.sent.update(fresh))
            if len(self.open) > MOST_OPEN:
                self._close(step, before_ms=sorted(self.open)[-MOST_OPEN])
        step.undo.append(lambda: self._take_back(ts_ms, group, fresh))
        return step

    def rest(self, silent_since_s: float) -> Step:
        """Scrapes whose rest will not come: nothing came since. Kafka has their pieces; the messages are the whole."""
        step = Step()
        for ts_ms, group in sorted(self.open.items()):
            if group.heard_s <= silent_since_s and not group.closing:
                self._close_one(step, ts_ms, group)
        return step

    def whole(self, ts_ms: int, cells: dict[Series, float | None]) -> Out:
        """The messages of a scrape of which nothing is missing."""
        step = Step()
        self.samples += len(cells)
        self._whole(step, ts_ms, cells)
        for confirm in step.confirm:
            confirm()
        return step.messages

    def _is_whole(self, cells: Cells, ended: set[Series]) -> bool:
        if self.source.kind == "job":
            return True  # sums that are sent again and again: nothing is lost where a piece is
        keys = self.expected
        if keys is None or len(cells) + len(ended) < len(keys):
            return False
        if not ended:
            return keys <= cells.keys()
        # With series that ended and others that are new at once, more new ones may be under way.
        return keys <= cells.keys() | ended and cells.keys() <= keys

    def _close(self, step: Step, before_ms: int) -> None:
        """Older scrapes are taken as they are: every shard of the sender is past them."""
        for ts_ms in sorted(self.open):
            group = self.open[ts_ms]
            if ts_ms < before_ms and not group.closing:
                self._close_one(step, ts_ms, group)

    def _close_one(self, step: Step, ts_ms: int, group: Group) -> None:
        group.closing = True
        self._whole(step, ts_ms, group.cells)
        step.undo.append(partial(_reopen, group))

    def _whole(self, step: Step, ts_ms: int, cells: dict[Series, float | None]) -> None:
        keys = self.expected
        if keys is None or len(cells) != len(keys) or cells.keys() != keys:
            keys = frozenset(cells)
        self._tell(step, ts_ms, cells, keys)

    def _tell(self, step: Step, ts_ms: int, cells: dict[Series, float | None], keys: frozenset[Series]) -> None:
        """`keys`: all that is with Kafka of that scrape then."""
        if self.source.kind == "job":
            self._tell_steps(step, ts_ms, cells)
        elif cells:
            step.messages += self._scrapes(ts_ms, cells)
        step.confirm.append(lambda: self._settle(ts_ms, keys))

    def _settle(self, ts_ms: int, keys: frozenset[Series]) -> None:
        self.open.pop(ts_ms, None)
        if keys:
            self.expected = keys
        self.done[ts_ms] = keys
        while len(self.done) > MOST_DONE:
            del self.done[next(iter(self.done))]

    def _take_back(self, ts_ms: int, group: Group, fresh: Iterable[Series]) -> None:
        """Kafka has it not: the sender will send it again."""
        for series in fresh:
            if series not in group.sent:
                group.cells.pop(series, None)
        if not group.cells and self.open.get(ts_ms) is group:
            del self.open[ts_ms]

    def _scrapes(self, ts_ms: int, cells: dict[Series, float | None]) -> Out:
        for shape in self.shapes:
            scrapes = shape.whole(cells, ts_ms * 1000, self.cluster)
            if scrapes is not None:
                return self._told(scrapes)
        fresh = shape_of(cells, self.source.host)
        self.shapes = [fresh, *(one for one in self.shapes if one.keys != fresh.keys)][:MOST_SHAPES]
        return self._told(fresh.whole(cells, ts_ms * 1000, self.cluster) or [])

    def _part(self, ts_ms: int, fresh: dict[Series, float | None]) -> Out:
        known = next((shape for shape in self.shapes if fresh.keys() <= shape.keys), None)
        shape = known or shape_of(fresh, self.source.host)
        return self._told(shape.part(fresh, ts_ms * 1000, self.cluster))

    def _told(self, scrapes: list[GpuScrape]) -> Out:
        self.messages += len(scrapes)
        for scrape in scrapes:
            self.node = scrape.node
            self.last = self.last if scrape.part else scrape
        return [(GPU_SCRAPES, scrape) for scrape in scrapes]

    def _tell_steps(self, step: Step, ts_ms: int, cells: dict[Series, float | None]) -> None:
        readings: dict[str, float | None] = {}
        for series, value in cells.items():
            readings.setdefault(metric_of(series.name) or "", value)
        told = tell(readings, next(iter(cells)).labels, self.past, ts_ms * 1000, self.cluster) if cells else None
        if told is None:
            return
        step.confirm.append(lambda: self.past.update({told.job: told.past}))
        if told.report is not None:
            self.node = told.report.node
            self.messages += 1
            step.messages.append((JOB_STEPS, told.report))


def _reopen(group: Group) -> None:
    group.closing = False
