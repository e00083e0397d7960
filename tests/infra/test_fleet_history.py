"""The past week is deterministic, in order, and full of what rollups have to tell apart."""

from collections import Counter

from collectors.contract.job import JobEvent
from infra.fleet.history import HOUR_S, messages
from streams.contract import Finding, NodeHealth

END_US = 1_790_000_000_000_000


def test_a_day_of_the_past_is_the_same_each_time_and_in_order() -> None:
    first = list(messages(0.25, 120.0, end_us=END_US))
    assert first == list(messages(0.25, 120.0, end_us=END_US))
    times = [m.ts_us for _, m in first]
    assert times == sorted(times)
    assert times[-1] < END_US


def test_a_node_is_out_of_service_for_hours_and_its_job_goes_on() -> None:
    pairs = list(messages(1.25, 600.0, end_us=END_US))
    health = [m for _, m in pairs if isinstance(m, NodeHealth) and m.node == "node-06"]
    assert [(m.state, m.schedulable) for m in health] == [("healthy", True), ("cordoned", False), ("healthy", True)]
    assert (health[2].ts_us - health[1].ts_us) / 1e6 == 7.5 * HOUR_S
    kinds = Counter(m.kind for _, m in pairs if isinstance(m, JobEvent))
    assert kinds["restarted"] == 1
    assert kinds["checkpoint"] > 20


def test_findings_open_and_clear_in_pairs() -> None:
    pairs = list(messages(1.25, 600.0, end_us=END_US))
    edges = [(m.cause, m.state) for _, m in pairs if isinstance(m, Finding)]
    assert edges == [
        ("thermal_throttle", "opened"),
        ("thermal_throttle", "cleared"),
        ("xid_79", "opened"),
        ("xid_79", "cleared"),
    ]
