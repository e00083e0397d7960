"""Weeks of a GPU's memory, a scrape every three hours: what holds for every detector holds over days as well."""

from collections.abc import Sequence

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collectors.contract.gpu import GpuScrape
from collectors.contract.message import Message
from streams.contract import Finding
from streams.detectors.memory import MemoryDetector
from streams.detectors.memory_conditions import MemoryLimits
from tests.streams.stories_memory import memory_chain
from tests.streams.story_form import Item

STEP_S = 3 * 3600.0
STRETCHES = st.lists(
    st.tuples(st.sampled_from(("calm", "active", "lost", "reset", "unreadable", "storm")), st.integers(1, 40)),
    min_size=1,
    max_size=6,
)
FAST = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def run(messages: Sequence[Item]) -> list[Finding]:
    detector = MemoryDetector(MemoryLimits())
    return detector.step(detector.fresh(), messages)[1]


def story(middle: Sequence[tuple[str, int]]) -> list[Item]:
    return memory_chain([("calm", 8), *middle, ("calm", 80)], STEP_S)


def test_days_of_errors_bring_the_rungs_to_light_and_end() -> None:
    found = run(story([("active", 30), ("calm", 100), ("lost", 4), ("reset", 4)]))
    assert {f.cause for f in found} == {"correctable_ecc_burst", "correctable_ecc_growth", "uncorrectable_ecc"}
    assert [f.state for f in found].count("cleared") == [f.state for f in found].count("opened")


@FAST
@given(STRETCHES, st.data())
def test_a_restart_at_any_point_changes_nothing(middle: list[tuple[str, int]], data: st.DataObject) -> None:
    """Read back from the last reading on, as counters are compared with it."""
    detector = MemoryDetector(MemoryLimits())
    messages = story(middle)
    cut = data.draw(st.integers(1, len(messages)))
    state, before = detector.step(detector.fresh(), messages[:cut])
    kept = detector.keep(state)
    state = detector.fresh() if kept is None else detector.restore(kept)
    last = max(i for i in range(cut) if _reads(messages[i]))
    state, again = detector.step(state, messages[last:cut])
    _, after = detector.step(state, messages[cut:])
    whole = run(messages)
    assert again == []
    assert [_edge(f) for f in [*before, *after]] == [_edge(f) for f in whole]


@FAST
@given(STRETCHES, st.data())
def test_cuts_and_repeated_deliveries_change_nothing(middle: list[tuple[str, int]], data: st.DataObject) -> None:
    detector = MemoryDetector(MemoryLimits())
    messages = story(middle)
    at = data.draw(st.integers(1, len(messages)))
    state, found = detector.step(detector.fresh(), messages[:at])
    repeated = [m for m in messages[max(0, at - 1) : at] if isinstance(m, Message)]
    state, nothing = detector.step(state, repeated)
    _, rest = detector.step(state, messages[at:])
    assert nothing == []
    assert [*found, *rest] == run(messages)


def _reads(message: Item) -> bool:
    return isinstance(message, GpuScrape) and message.columns["310"][3] is not None


def _edge(finding: Finding) -> tuple[str, str, str, int]:
    return finding.state, finding.severity, finding.cause, finding.ts_us
