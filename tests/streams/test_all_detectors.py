"""What holds for every detector, whatever it looks for."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.contract.job import JobEvent
from collectors.contract.message import Message
from streams.causes import cause_row, causes
from streams.contract import Finding, NodePast, Subject, finding_key
from streams.detector import Detector, Tick
from streams.detectors.all import detectors
from streams.gpus import CLOCK_SET_BACK_US
from tests.streams.detector_stories import STORIES, blank, moved, named
from tests.streams.stories_fleet import MOST, WORDS, causes_told, fleet, play
from tests.streams.story_form import Item, Story

ALL = pytest.mark.parametrize("story", STORIES, ids=lambda s: s.detector)
DAY_US = 86_400_000_000


def fast(story: Story) -> settings:
    return settings(max_examples=story.examples, deadline=None, suppress_health_check=list(HealthCheck))


def stretches(story: Story) -> st.SearchStrategy[list[tuple[str, int]]]:
    """A calm start, some stretches, and whatever comes last."""
    lengths = st.integers(story.least, story.most)
    some = st.lists(st.tuples(st.sampled_from(story.words), lengths), min_size=1, max_size=5)
    return some.map(lambda middle: [("calm", story.most), *middle])


def run(detector: Detector[Any], messages: Sequence[Item]) -> list[Finding]:
    return detector.step(detector.fresh(), messages)[1]


def still_open(found: Sequence[Finding]) -> set[tuple[str, str]]:
    """(subject, cause) of the episodes that are open at the end. The last edge of an episode counts."""
    last = {finding_key(f): f for f in found}
    return {(f"{f.subject.kind}/{f.subject.id}", f.cause) for f in last.values() if f.state != "cleared"}


def ever_opened(found: Sequence[Finding]) -> set[tuple[str, str]]:
    last = {finding_key(f): f for f in found}
    return {(f"{f.subject.kind}/{f.subject.id}", f.cause) for f in last.values()}


def in_order(found: Sequence[Finding]) -> bool:
    """Each episode opens once, then updates, then clears at most once and is silent."""
    states: dict[str, str] = {}
    for f in found:
        before = states.get(finding_key(f))
        if (before is None) != (f.state == "opened") or before == "cleared":
            return False
        states[finding_key(f)] = f.state
    return True


def test_there_is_a_story_for_every_detector() -> None:
    assert {s.detector for s in STORIES} == {d.name for d in detectors()}


@cache
def edges_of(story: Story, word: str) -> tuple[Finding, ...]:
    """All that a detector says of one stretch after a calm one, and of the calm after it."""
    stretches = [("calm", story.most), (word, story.most), ("calm", story.most)]
    return tuple(run(named(detectors(), story.detector), story.tell(stretches)))


def test_every_cause_is_brought_out_by_a_story() -> None:
    """By a detector that is told of the fault, or by the whole pipeline; every word that is told has its row."""
    told = {edge.cause for story in STORIES for word in story.words for edge in edges_of(story, word)}
    for word in WORDS:
        told |= causes_told(play(fleet([("calm", MOST), (word, MOST)])))
    rows = {word: cause_row(word).word for word in told}
    assert set(causes()) - set(rows.values()) == set()
    assert {word for word, row in rows.items() if not row} == set()


@ALL
def test_every_finding_names_its_part_and_what_to_do_and_shows_why(story: Story) -> None:
    for word in story.words:
        for edge in edges_of(story, word):
            assert [name for name in names_of(edge.subject) if name not in edge.summary] == [], edge
            if edge.state != "cleared":
                assert edge.action or cause_row(edge.cause).action, edge
                assert edge.evidence, edge


def names_of(subject: Subject) -> list[str]:
    """What a person calls a part, as far as it is known."""
    s = subject
    names: dict[str, Sequence[object]] = {
        "gpu": (s.node, f"GPU {s.gpu_uuid if s.gpu_index is None else s.gpu_index}"),
        "rank": (s.job, f"rank {s.rank}"),
        "port": (s.device, s.port),
        "device": (s.id.rpartition("/")[2],),
        "comm": (s.job,),
    }
    return [str(name) for name in names.get(s.kind, (s.id,))]


@ALL
def test_the_stories_bring_faults_to_light_and_end_some(story: Story) -> None:
    words = [w for w in story.words if w != "unreadable"]
    told = [(w, story.most) for word in words for w in (word, "calm")]
    found = run(named(detectors(), story.detector), story.tell([("calm", story.most), *told, ("calm", 60)]))
    assert {"opened", "cleared"} <= {f.state for f in found}
    assert in_order(found)


@ALL
def test_cutting_the_batch_elsewhere_changes_nothing(story: Story) -> None:
    @fast(story)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        detector = named(detectors(), story.detector)
        messages = story.tell(data.draw(stretches(story)))
        cuts = sorted(data.draw(st.lists(st.integers(0, len(messages)), max_size=8)))
        state, found = detector.fresh(), list[Finding]()
        for first, last in zip([0, *cuts], [*cuts, len(messages)], strict=True):
            state, some = detector.step(state, messages[first:last])
            found += some
        assert found == run(detector, messages)
        assert in_order(found)

    check()


@ALL
def test_delivering_twice_changes_nothing(story: Story) -> None:
    """A block that is delivered again, right after itself: at-least-once after a rebalance."""

    @fast(story)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        detector = named(detectors(), story.detector)
        messages = story.tell(data.draw(stretches(story)))
        first = data.draw(st.integers(0, len(messages) - 1))
        last = data.draw(st.integers(first, min(len(messages), first + story.again)))
        twice = [m for m in messages[first:last] if isinstance(m, Message)]
        again = [*messages[:last], *twice, *messages[last:]]
        assert run(detector, again) == run(detector, messages)

    check()


@ALL
@pytest.mark.parametrize("late_by", [1, 3, None], ids=["late by one", "late by three", "missing"])
def test_a_late_or_missing_message_changes_nothing_but_the_delay(story: Story, late_by: int | None) -> None:
    """The same parts have had the same faults, and the same are open at the end. Edges may come later.
    What is very late is not late: a clock was set back.

    Stretches last longer than the detector needs to see them, and the first and last messages stand: what is
    lost there is not late but outside of what was told.
    """

    @fast(story)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        detector = named(detectors(), story.detector)
        told = [*data.draw(stretches(story)), ("calm", story.most)]
        messages = story.tell(told)
        margin = story.least
        which = data.draw(st.integers(margin, len(messages) - 1 - margin))
        if isinstance(messages[which], Tick) or (late_by is None and not _may_miss(messages[which])):
            return
        other = [*messages[:which], *messages[which + 1 :]]
        if late_by is not None:
            if messages[which + late_by].ts_us >= messages[which].ts_us + CLOCK_SET_BACK_US:
                return
            other.insert(which + late_by, messages[which])
        expected, found = run(detector, messages), run(detector, other)
        assert ever_opened(found) == ever_opened(expected)
        assert still_open(found) == still_open(expected)
        assert in_order(found)

    check()


@ALL
@pytest.mark.parametrize("read_back", [False, True], ids=["cold", "with the last minutes read back"])
def test_a_restart_keeps_what_is_open_and_opens_nothing_twice(story: Story, read_back: bool) -> None:
    @fast(story)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        detector = named(detectors(), story.detector)
        told = [*data.draw(stretches(story)), ("calm", story.most)]
        messages = story.tell(told)
        cut = data.draw(st.integers(0, len(messages) - 2 * story.least))
        state, before = detector.step(detector.fresh(), messages[:cut])
        kept = detector.keep(state)
        state = detector.fresh() if kept is None else detector.restore(kept)
        if read_back:
            since = max(0, cut - story.back)
            standing = [m for m in messages[:since] if _stands(m)]
            state, _ = detector.step(state, [*standing, *messages[since:cut]])
        _, after = detector.step(state, messages[cut:])
        assert in_order([*before, *after])
        if read_back:
            assert still_open([*before, *after]) == still_open(run(detector, messages))

    check()


@ALL
def test_missing_data_clears_nothing(story: Story) -> None:
    """Unreadable messages, absent ones, and time that passes."""

    @fast(story)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        detector = named(detectors(), story.detector)
        messages = story.tell(data.draw(stretches(story)))
        state, before = detector.step(detector.fresh(), messages)
        end_us = messages[-1].ts_us
        start_us = messages[0].ts_us
        span_us = end_us - start_us + 1_000_000
        later = [
            moved(blank(m), span_us + days * DAY_US)
            for days in (0, 1, 8)
            for m in messages
            if isinstance(m, Message) and _may_miss(m) and not story.hears
        ]
        silence = [Tick(max(m.ts_us for m in [*messages, *later]) + hours * 3_600_000_000) for hours in (1, 24, 240)]
        _, after = detector.step(state, [*later, *silence])
        assert [f for f in after if f.state == "cleared" and _was_open(f, before)] == []

    check()


@ALL
def test_what_is_kept_changes_only_with_something_to_keep(story: Story) -> None:
    """Bytes stay equal over calm messages, so the app writes no Table for them; a last word once a minute."""
    detector = named(detectors(), story.detector)
    messages = story.tell([("calm", 60)])
    minutes = (messages[-1].ts_us - messages[0].ts_us) // 60_000_000
    state, kept = detector.fresh(), set[bytes | None]()
    for number, message in enumerate(messages):
        state, found = detector.step(state, [message])
        assert found == []
        if number >= story.least:
            kept.add(detector.keep(state))
    assert len(kept) <= (minutes + 1 if story.hears else 1)


def _stands(message: Item) -> bool:
    """Of a compacted topic: told to whoever starts, however long ago it was said."""
    return isinstance(message, NodePast) or (isinstance(message, JobEvent) and message.kind == "placed")


def _may_miss(message: Item) -> bool:
    """Kernel lines and job events are events: one that is lost never was; one repeated is still true."""
    return type(message).__name__ not in ("KernelEvent", "JobEvent")


def _was_open(finding: Finding, before: Sequence[Finding]) -> bool:
    return finding_key(finding) in {finding_key(f) for f in before}
