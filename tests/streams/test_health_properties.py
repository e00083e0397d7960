"""Batch cuts, duplicates and restarts change nothing of what is said of nodes."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.contract.node import NodeState
from streams.contract import Finding, NodeHealth
from streams.health import Health
from streams.health_book import HealthBook, restore
from streams.health_limits import HealthLimits
from tests.streams.story import T0, S, cleared, fleet, found, gpu, hot, node, silent, slow

HOUR = 3600
LIMITS = HealthLimits(guard_few=1, guard_per_hour=1)
KINDS = ("hot", "slow", "xid", "memory", "silent")
Event = tuple[int, str, Any]
"""Seconds after T0, what, and about whom."""


def finding(kind: str, n: int, at_s: int) -> Finding:
    if kind == "hot":
        return hot(f"G{n}0", at_s)
    if kind == "slow":
        return slow(2 * (n % 2), at_s)
    if kind == "xid":
        return found("xid", gpu(f"G{n}0"), at_s, "xid_79", severity="critical")
    if kind == "memory":
        return found("memory", gpu(f"G{n}0"), at_s, "correctable_ecc_growth")
    return silent(node(f"n{n}"), at_s)


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """Faults that begin and mostly end, and words of a scheduler, over two weeks."""
    events: list[Event] = []
    for _ in range(draw(st.integers(1, 12))):
        at, n = draw(st.integers(1, 200)) * HOUR, draw(st.integers(0, 3))
        if draw(st.booleans()):
            f = finding(draw(st.sampled_from(KINDS)), n, at)
            events.append((at, "finding", f))
            if draw(st.integers(0, 3)):
                end = at + draw(st.integers(1, 60 * HOUR))
                events.append((end, "finding", cleared(f, end)))
        else:
            said = NodeState(node=f"n{n}", ts_us=T0 + at * S, source="slurm", schedulable=draw(st.booleans()))
            events.append((at, "word", said))
    return sorted(events, key=lambda e: e[0])


def play(events: list[Event], *, restart: int = -1, twice: bool = False, ticks: tuple[int, ...] = ()) -> list[Any]:
    health, book = Health(fleet(), LIMITS), HealthBook()
    rows: dict[str, bytes] = {}
    told: list[Any] = health.tick(book, T0, lambda _: True)
    steps = sorted([*events, *((at, "tick", None) for at in ticks), (300 * HOUR, "tick", None)], key=lambda e: e[0])
    for number, (at, what, thing) in enumerate(steps):
        for _ in range(2 if twice else 1):
            if what == "finding":
                told += health.step(book, thing, lambda _: True)
            elif what == "word":
                health.world.learn(thing)
            told += health.tick(book, T0 + at * S, lambda _: True)
        rows |= {k: v for k, v in book.take_changes().items() if v is not None}
        if number == restart:
            book = restore(rows)
    return told


def sayings(told: list[Any]) -> list[Any]:
    """All that was said of each node, and of the pool, in order."""
    of_nodes = {(m.node, m.ts_us, m.state, m.why, m.score, m.cordon): None for m in told if isinstance(m, NodeHealth)}
    of_pool = [(f.state, f.ts_us, f.episode_us) for f in told if isinstance(f, Finding)]
    return [sorted(of_nodes, key=lambda row: row[0]), of_pool]


@settings(max_examples=25, deadline=None)
@given(events=histories(), ticks=st.lists(st.integers(0, 290 * HOUR), max_size=12))
def test_more_ticks_change_nothing(events: list[Event], ticks: list[int]) -> None:
    assert sayings(play(events, ticks=tuple(ticks))) == sayings(play(events))


@settings(max_examples=25, deadline=None)
@given(events=histories(), restart=st.integers(0, 25))
def test_a_restart_changes_nothing(events: list[Event], restart: int) -> None:
    assert play(events, restart=restart) == play(events)


@settings(max_examples=25, deadline=None)
@given(events=histories())
def test_what_is_delivered_twice_changes_nothing(events: list[Event]) -> None:
    assert play(events, twice=True) == play(events)


@settings(max_examples=25, deadline=None)
@given(events=histories())
def test_a_score_and_a_state_are_always_those_of_the_contract(events: list[Event]) -> None:
    for said in play(events):
        if isinstance(said, NodeHealth):
            assert 0 <= said.score <= 100
            assert not (said.cordon and said.schedulable)
            assert said.why or said.state == "healthy"
