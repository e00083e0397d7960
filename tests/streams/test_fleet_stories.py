"""What holds for detectors, joins, correlator and node health together, whatever befalls a small fleet."""

from collections.abc import Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streams.contract import Incident
from streams.correlation import Output
from streams.detector import Tick
from streams.pipeline import Pipeline
from tests.streams.scrapes import SECOND
from tests.streams.stories_fleet import LEAST, MOST, WORDS, Told, causes_told, fleet, incidents, play
from tests.streams.story_form import Stretch

fast = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
LATE_US = 2 * SECOND


@st.composite
def stories(draw: st.DrawFn) -> list[Told]:
    """A calm start, some stretches, and a calm end."""
    lengths = st.integers(LEAST, MOST)
    some: list[Stretch] = draw(st.lists(st.tuples(st.sampled_from(WORDS), lengths), min_size=1, max_size=3))
    return fleet([("calm", MOST), *some, ("calm", MOST)])


def settled(told: Sequence[Output]) -> dict[tuple[str, str], str]:
    """(cause, part) of every incident that was not folded into another, and how it stands at the end."""
    last: dict[str, Incident] = {i.id: i for i in incidents(told)}
    alone = [i for i in last.values() if i.folded_into is None]
    return {(i.cause_word, i.subject.id): "cleared" if i.state == "cleared" else "open" for i in alone}


def in_order(told: Sequence[Output]) -> bool:
    """Each incident opens once and ends at most once, and last: one page each."""
    states: dict[str, list[str]] = {}
    for i in incidents(told):
        states.setdefault(i.id, []).append(i.state)
    return all(s[0] == "opened" and s.count("opened") == 1 and "cleared" not in s[:-1] for s in states.values())


@pytest.mark.parametrize(
    ("word", "pages"),
    [
        ("calm", []),
        ("dark", [("fleet_silence", "r0", "critical")]),
        ("retrying", [("grey_loss", "leaf1", "warning")]),
        ("spoiling", [("bad_link", "leaf1/E3", "warning")]),
        (
            "fallen",
            [
                ("fleet_guard", "default", "critical"),
                ("xid_79", "G00", "critical"),
                ("xid_79", "G10", "critical"),
                ("xid_79", "G20", "warning"),
                ("xid_79", "G30", "warning"),
            ],
        ),
        ("failed", [("xid_79", "G00", "critical")]),
    ],
)
def test_every_fault_of_the_fleet_is_told_once_with_its_part(word: str, pages: list[tuple[str, str, str]]) -> None:
    told = play(fleet([("calm", MOST), (word, MOST), ("calm", MOST)]))
    opened = [i for i in incidents(told) if i.state == "opened"]
    assert sorted((i.cause_word, i.subject.id, i.severity) for i in opened) == pages
    assert all(i.action and i.runbook and i.owner and i.evidence for i in opened)


def test_the_guard_names_the_nodes_that_wait_and_speaks_of_no_missing_job() -> None:
    told = incidents(play(fleet([("calm", MOST), ("fallen", MOST)])))
    (guard,) = [i for i in told if i.cause_word == "fleet_guard" and i.state == "opened"]
    assert [e.what for e in guard.evidence] == ["nodes with xid_79", "n2 waits for the guard"]
    assert "no job" not in guard.summary


@fast
@given(stories(), st.data())
def test_delivering_a_block_twice_changes_nothing(items: list[Told], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(items) - 1))
    last = data.draw(st.integers(first, min(len(items), first + 30)))
    again = [item for item in items[first:last] if not isinstance(item, Tick)]
    assert play([*items[:last], *again, *items[last:]]) == play(items)


@fast
@given(stories(), st.randoms(use_true_random=False))
def test_messages_late_by_some_seconds_change_nothing_but_the_delay(items: list[Told], random: object) -> None:
    keyed = []
    for n, item in enumerate(items):
        ts_us = item.ts_us if isinstance(item, Tick) else item[1].ts_us + random.randint(0, LATE_US)  # type: ignore[attr-defined]
        keyed.append((ts_us, n, item))
    told = play([item for _, _, item in sorted(keyed, key=lambda k: k[:2])])
    assert settled(told) == settled(play(items))
    assert in_order(told)


@fast
@given(stories(), st.data())
def test_a_restart_opens_nothing_twice_and_ends_what_was_open(items: list[Told], data: st.DataObject) -> None:
    """The world and the last minutes are read back from their topics; detectors, cases and health go on from what they
    kept."""
    cut = data.draw(st.integers(0, len(items)))
    before = Pipeline()
    told = play(items[:cut], before)
    after = Pipeline()
    for item in items[:cut]:
        if not isinstance(item, Tick):
            after.world.learn(item[1])
    for slot in before.bank.slots.values():
        kept = slot.detector.keep(slot.state)
        if kept is not None:
            after.bank.catch_up(after.bank.put(slot.detector, slot.key, slot.detector.restore(kept)))
    for item in items[:cut]:
        if not isinstance(item, Tick) and not item[0].compacted:
            after.bank.feed(*item)
    after.correlation.restore({k: v for k, v in before.correlation.take_changes().items() if v is not None})
    told += play(items[cut:], after)
    assert in_order(told)
    assert settled(told) == settled(play(items))


def test_the_words_of_the_fleet_are_found_in_findings_incidents_and_health() -> None:
    told = {word: causes_told(play(fleet([("calm", MOST), (word, MOST)]))) for word in WORDS}
    assert told["calm"] == set()
    assert {"fleet_silence", "node_silent"} <= told["dark"]
    assert {"grey_loss", "transport_retries"} <= told["retrying"]
    assert {"asymmetric_link", "bad_link"} <= told["spoiling"]
    assert "fleet_guard" in told["fallen"]
    assert "job_failed" in told["failed"]
