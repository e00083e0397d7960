"""Pause: what is a storm, what is pressure worth a record, and what is PFC at work."""

import pytest

from collectors.contract.fabric import PortScrape
from streams.contract import Finding, finding_key
from streams.detector import Tick
from streams.detectors.fabric_pause import PauseDetector
from tests.streams.fabric import S, edges, host, ports, run

TIME = "pfc_rx_pause_us.3"
SENT = "queue_tx_packets.3"
FOUND = "pfcwd_storm_detected.3"


def judge(*items: PortScrape | Tick) -> list[Finding]:
    return run(PauseDetector(), *items)


def held(ratio: float, seconds: int, *, moves: int = 0, every: int = 10, start: int = 0) -> list[PortScrape]:
    """A port on hold for that share of its time, sending `moves` packets a window."""
    times = range(start, start + seconds + 1, every)
    return [ports(t, {TIME: int((t - start) * ratio * S), SENT: n * moves}) for n, t in enumerate(times)]


def test_a_storm_found_by_the_watchdog_pages_at_once_and_says_which_way_the_pause_goes() -> None:
    (edge,) = judge(ports(10, {FOUND: [0, 4]}), ports(20, {FOUND: [0, 6]}))
    assert edges([edge]) == [("opened", "critical", "pause_storm", "leaf1/eth1", 20)]
    assert (edge.value, edge.unit, edge.subject.priority) == (2.0, "storms", 3)
    assert edge.evidence[0].what == "receives pause on priority 3"
    assert edge.summary.startswith("leaf1 eth1 priority 3 receives pause without end (2 storms counted): ")


def test_a_stormed_queue_is_a_storm_and_its_hold_begins_when_it_is_operational_again() -> None:
    found = judge(*(ports(t, {"pfcwd_state.3": int(20 <= t <= 40)}) for t in range(10, 700, 10)))
    assert edges(found) == [
        ("opened", "critical", "pause_storm", "leaf1/eth0", 20),
        ("cleared", "critical", "pause_storm", "leaf1/eth0", 640),
    ]


def test_a_nic_whose_pause_was_cut_off_holds_the_network_itself() -> None:
    name = "nic_pause_storm_error"
    (edge,) = judge(host(10, {name: 0}), host(20, {name: 1}))
    assert edges([edge]) == [("opened", "critical", "pause_storm", "n1/eth0", 20)]
    assert edge.evidence[0].what == "sends pause"
    assert edge.subject.node == "n1"


def test_a_port_on_hold_whose_queue_moves_nothing_for_three_windows_is_in_a_storm() -> None:
    (edge,) = judge(*held(0.95, 30))
    assert edges([edge]) == [("opened", "critical", "pause_storm", "leaf1/eth0", 30)]
    assert edge.evidence[0].what == "receives pause on priority 3"
    assert edge.value == pytest.approx(0.95)


def test_a_port_on_hold_that_still_sends_is_no_storm() -> None:
    assert judge(*held(0.95, 120, moves=1)) == []


def test_a_port_on_hold_of_which_nobody_says_whether_it_sends_is_no_storm() -> None:
    assert judge(*(ports(t, {TIME: t * S}) for t in range(0, 120, 10))) == []


@pytest.mark.parametrize(
    ("name", "per_s"),
    [
        ("pfc_rx_pause_ns.3", 0.9e9),
        ("pfc_rx_pause_us.3", 0.9e6),
        ("pfc_rx_pause_ms.3", 900.0),
        # 400 Gb/s: 65,535 quanta of 512 bits are 83.9 microseconds.
        ("pfc_rx_frames.3", 0.9e6 / 83.88),
        ("pfc_rx_pause_quanta.3", 0.9e6 / 83.88 * 65535),
    ],
)
def test_pause_is_the_same_in_every_unit(name: str, per_s: float) -> None:
    found = judge(*(ports(t, {name: int(t * per_s), SENT: 5}) for t in range(0, 40, 10)))
    assert [f.cause for f in found] == ["pause_storm"]
    assert found[0].value == pytest.approx(0.9, abs=0.001)


def test_frames_of_a_line_of_unknown_speed_say_nothing_of_time() -> None:
    assert judge(*(ports(t, {"pfc_rx_frames.3": 10**6 * t, SENT: 5}, speed=None) for t in range(0, 40, 10))) == []


def test_told_time_stands_above_what_frames_may_mean() -> None:
    found = judge(
        *(ports(t, {"pfc_rx_frames.3": 10**6 * t, TIME: int(0.01 * t * S), SENT: 5}) for t in range(0, 400, 10))
    )
    assert found == []


def test_pressure_is_a_record_after_five_minutes_and_ends_below_a_tenth() -> None:
    rise = held(0.25, 400, moves=9)
    level = rise[-1].columns[TIME][0]
    assert isinstance(level, int)
    calm = [ports(t, {TIME: level + int((t - 400) * 0.05 * S), SENT: t * 9}) for t in range(410, 800, 10)]
    found = judge(*rise, *calm)
    assert edges(found) == [
        ("opened", "info", "pause_pressure", "leaf1/eth0", 300),
        ("cleared", "info", "pause_pressure", "leaf1/eth0", 710),
    ]
    assert found[0].evidence[0].what == "receives pause on priority 3"


def test_pressure_between_both_limits_opens_nothing_and_ends_nothing() -> None:
    between = [ports(t, {TIME: int(t * 0.15 * S), SENT: t}) for t in range(0, 2000, 10)]
    assert judge(*between) == []


def test_a_switch_that_holds_its_peer_passes_on_what_it_receives() -> None:
    columns = [{"pfc_tx_pause_us.3": t * S, "prio_rx_packets.3": 0} for t in range(0, 60, 10)]
    assert judge(*(ports(10 * n, c) for n, c in enumerate(columns))) == []
    (edge,) = judge(*(host(10 * n, c) for n, c in enumerate(columns)))
    assert (edge.cause, edge.evidence[0].what) == ("pause_storm", "sends pause on priority 3")


def test_pause_that_lasts_a_few_windows_is_pfc_at_work() -> None:
    assert judge(*held(0.5, 200, moves=100), *(ports(t, {TIME: 100 * S, SENT: t}) for t in range(210, 600, 10))) == []


def test_silence_and_unreadable_counters_end_no_storm() -> None:
    opened = [ports(10, {FOUND: 0}), ports(20, {FOUND: 1})]
    assert len(judge(*opened, Tick(10**6 * S), ports(5000, {FOUND: None, SENT: 1}))) == 1


def test_a_storm_on_two_priorities_of_a_port_is_two_episodes() -> None:
    other = "pfcwd_storm_detected.4"
    found = judge(ports(10, {FOUND: 0, other: 0}), ports(20, {FOUND: 1, other: 1}))
    assert len({finding_key(f) for f in found}) == 2


def test_a_burst_handed_over_after_a_late_renewal_is_no_ratio_above_one() -> None:
    """A window of less than half the usual one is refused."""
    steady = [ports(t, {TIME: 0, SENT: 0}) for t in range(0, 60, 10)]
    jitter = [ports(51 + n, {TIME: (n + 1) * 10 * S, SENT: 0}) for n in range(3)]
    assert judge(*steady, *jitter) == []


def test_a_restart_does_not_tell_an_open_storm_again() -> None:
    items = [ports(10, {FOUND: 0}), ports(20, {FOUND: 1}), ports(30, {FOUND: 1}), ports(700, {FOUND: 1})]
    detector = PauseDetector()
    state, before = detector.step(detector.fresh(), items[:2])
    kept = detector.keep(state)
    assert kept is not None
    state, warm = detector.step(detector.restore(kept), items[:2])
    assert warm == []
    _, after = detector.step(state, items[2:])
    assert before + after == judge(*items)
