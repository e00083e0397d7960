"""A slow link as on-call sees it: a symptom of the port that makes it slow, where one is known."""

from streams.contract import Incident, Subject
from streams.correlator import Correlator
from streams.correlator_state import CorrelatorState
from streams.detector import Tick
from tests.streams.story import T0, S, fleet, found, node, port


def test_a_slow_link_at_a_node_is_a_symptom_of_its_bad_port() -> None:
    correlator, state = Correlator(fleet()), CorrelatorState()
    slow = found("comm", node("n1"), 60, "slow_link", severity="critical", jobs=["train"])
    drops = found("lossless_drop", port("Ethernet2"), 20, "lossless_drop", severity="critical")
    told: list[Incident] = []
    for item in (drops, Tick(T0 + 40 * S), slow, Tick(T0 + 100 * S)):
        state, out = correlator.step(state, [item])
        told += out
    assert {i.cause_word for i in told} == {"lossless_drop"}
    assert [i.state for i in told].count("opened") == 1
    assert any(key.startswith("comm|") for key in told[-1].symptoms)


def test_a_slow_link_explains_what_the_step_reports_say_of_the_whole_group() -> None:
    correlator, state = Correlator(fleet()), CorrelatorState()
    group = found("straggler", Subject(kind="job", id="train", job="train"), 50, "comm_slow", severity="critical")
    slow = found("comm", node("n1"), 60, "slow_link", severity="critical", jobs=["train"])
    told: list[Incident] = []
    for item in (group, slow, Tick(T0 + 100 * S)):
        state, out = correlator.step(state, [item])
        told += out
    assert [i.state for i in told].count("opened") == 1
    assert told[-1].cause_word == "slow_link"
