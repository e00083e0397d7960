"""Counters that say nothing more: at their end or gone, told once a device, to whoever owns the telemetry."""

from msgspec import structs

from collectors.contract.fabric import PortScrape
from streams.causes import cause_row
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.fabric_blind import CounterBlindDetector, is_judged
from tests.streams.fabric import S, edges, host, ports, run, saturating

DROPS = "ib_tx_discard_packets"
DOWNS = "ib_link_down_events"


def judge(*items: PortScrape | Tick) -> list[Finding]:
    return run(CounterBlindDetector(), *items)


def discards(at_s: float, *values: int | None) -> PortScrape:
    return ports(at_s, {DROPS: list(values)}, forms=saturating(16, DROPS), link_layer="infiniband")


def test_a_counter_at_its_end_is_told_once_and_clears_when_it_can_grow_again() -> None:
    found = judge(discards(10, 7), discards(20, 65535), discards(30, 65535), discards(40, 0))
    assert edges(found) == [
        ("opened", "info", "counter_blind", "leaf1", 20),
        ("cleared", "info", "counter_blind", "leaf1", 40),
    ]
    assert (
        found[0].summary == "leaf1: counters stand at their end and see no further fault: ib_tx_discard_packets of eth0"
    )
    assert cause_row(found[0].cause).owner == "telemetry"


def test_a_counter_told_as_saturated_is_the_same() -> None:
    told = structs.replace(discards(20, None, 3), saturated={DROPS: [65535, None]})
    assert [(f.state, f.value) for f in judge(discards(10, 7, 3), told, discards(30, 0, 3))] == [
        ("opened", 1.0),
        ("cleared", 1.0),
    ]


def test_many_blind_ports_are_one_finding_with_a_number() -> None:
    found = judge(discards(10, *[65535] * 64))
    assert [(f.state, f.value, f.subject.kind) for f in found] == [("opened", 64.0, "device")]
    assert found[0].summary.endswith("ib_tx_discard_packets of eth4 and 59 more")


def test_a_wrapping_counter_at_all_ones_is_not_blind() -> None:
    assert judge(ports(10, {DROPS: 65535}), ports(20, {DROPS: 65535})) == []


def test_a_counter_missing_after_an_upgrade_is_told_after_three_intervals_and_ends_when_it_is_back() -> None:
    before = [ports(10 * n, {DOWNS: 1, "queue_drop_packets.3": 0}) for n in range(9)]
    after = [ports(10 * n, {DOWNS: 1}, epoch="2") for n in range(9, 20)]
    back = ports(200, {DOWNS: 1, "queue_drop_packets.3": 0}, epoch="2")
    found = judge(*before, *after, back)
    assert [(f.state, f.ts_us // S) for f in found] == [("opened", 120), ("cleared", 200)]
    assert found[0].summary == "leaf1: counters are no longer read: queue_drop_packets.3 of eth0"


def test_two_unread_scrapes_are_no_missing_counter() -> None:
    rows = [ports(10 * n, {DOWNS: None if n in (7, 8) else 1}) for n in range(20)]
    assert judge(*rows) == []


def test_what_is_not_read_of_a_link_that_is_down_is_not_missed() -> None:
    rows = [ports(10 * n, {DOWNS: 1 if n < 9 else None}, up=n < 9) for n in range(30)]
    assert judge(*rows) == []


def test_two_sources_of_one_host_do_not_miss_each_others_counters() -> None:
    rows: list[PortScrape] = []
    for n in range(30):
        rows.append(host(10 * n, {"port_link_down_events": 0}))
        of_adapter = host(10 * n + 1, {DOWNS: 0}, kind="hca")
        rows.append(structs.replace(of_adapter, ports=[structs.replace(of_adapter.ports[0], name="mlx5_0/1")]))
    assert judge(*rows) == []


def test_only_what_faults_are_judged_by_can_be_blind() -> None:
    assert is_judged("queue_drop_packets.3")
    assert is_judged("fec_uncorrected_codewords")
    assert not is_judged("port_rx_bytes")
    assert not is_judged("ib_tx_wait_ticks")
    forms = saturating(32, "ib_tx_wait_ticks")
    assert judge(*(ports(10 * n, {"ib_tx_wait_ticks": 2**32 - 1}, forms=forms) for n in range(9))) == []


def test_silence_is_another_detectors_word() -> None:
    assert judge(*(ports(10 * n, {DOWNS: 1}) for n in range(9)), Tick(10**6 * S)) == []
