"""Links that spoil packets: by windows, by symbols, by ratio; what is training and what is noise."""

import pytest
from msgspec import structs

from collectors.contract.fabric import PortScrape
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.fabric_link import LinkQualityDetector
from tests.streams.fabric import MINUTE, S, edges, ports, run

FCS = "port_rx_fcs_error_frames"
SYMBOLS = "ib_symbol_errors"


def judge(*items: PortScrape | Tick) -> list[Finding]:
    return run(LinkQualityDetector(), *items)


def told(counts: list[int], name: str = FCS, every: int = 10) -> list[PortScrape]:
    return [ports(every * n, {name: count}) for n, count in enumerate(counts)]


def test_errors_in_three_of_five_windows_are_a_ticket_for_the_receiving_end() -> None:
    (edge,) = judge(*told([5, 6, 6, 7, 7, 9, 9]))
    assert edges([edge]) == [("opened", "warning", "bad_link", "leaf1/eth0", 50)]
    assert (edge.value, edge.unit) == (4.0, "frames")
    assert edge.evidence[0].what == ("errors in the receive direction of eth0: errors in 3 of the last 5 windows")


def test_one_burst_however_large_is_no_bad_link() -> None:
    assert judge(*told([0, 10**6, 10**6, 10**6 + 1, *[10**6 + 1] * 9])) == []


def test_errors_every_twenty_minutes_are_no_bad_link() -> None:
    assert judge(*(ports(1200 * n + 10 * m, {FCS: n}) for n in range(5) for m in range(9))) == []


def test_scrapes_of_a_second_share_their_windows() -> None:
    assert judge(*told([0, 1, 2, 3, 4, 4, 4, 4, 4], every=1)) == []


@pytest.mark.parametrize(
    "name", ["fec_uncorrected_codewords", "ib_rx_error_packets", "ib_link_recoveries", "rdma_rx_icrc_errors"]
)
def test_other_errors_count_the_same(name: str) -> None:
    assert [f.cause for f in judge(*told([0, 1, 2, 3], name))] == ["bad_link"]


def test_corrected_codewords_and_upstream_errors_are_not_this_links_fault() -> None:
    assert judge(*told([0, 9, 18, 27], "fec_corrected_codewords")) == []
    assert judge(*told([0, 9, 18, 27], "ib_rx_remote_phys_errors")) == []


def test_what_a_link_errs_while_it_trains_is_the_flaps_business() -> None:
    rows = [ports(10 * n, {FCS: 100 * n, "port_link_down_events": n}, up=True) for n in range(6)]
    down = [ports(10 * n, {FCS: 100 * n}, up=False) for n in range(6, 12)]
    assert judge(*rows, *down) == []


def test_a_400_gigabit_link_may_have_two_wrong_symbols_in_twelve_minutes_and_not_three() -> None:
    assert judge(*(ports(60 * n, {SYMBOLS: min(n, 2)}, link_layer="infiniband") for n in range(12))) == []
    (edge,) = judge(*(ports(60 * n, {SYMBOLS: min(n, 3)}, link_layer="infiniband") for n in range(12)))
    assert edges([edge]) == [("opened", "warning", "bad_link", "leaf1/eth0", 180)]
    assert "3 wrong symbols in 12 minutes, 2.88 are allowed" in edge.summary


def test_four_wrong_symbols_over_two_hours_are_too_many_and_stay_so_while_they_are_inside() -> None:
    rows = [ports(60 * n, {SYMBOLS: n // 30}, link_layer="infiniband") for n in range(125)]
    after = [ports(60 * n, {SYMBOLS: 4}, link_layer="infiniband") for n in range(125, 300)]
    assert [(f.state, f.ts_us // MINUTE) for f in judge(*rows, *after)] == [("opened", 120), ("cleared", 155)]


def test_a_gap_spreads_its_symbols_over_its_time() -> None:
    assert judge(*(ports(7000 * n, {SYMBOLS: 2 * n}, link_layer="infiniband") for n in range(6))) == []


def test_an_older_link_is_held_to_the_older_ratio() -> None:
    slow = [ports(60 * n, {SYMBOLS: 5 * n}, link_layer="infiniband", speed=100.0) for n in range(12)]
    assert judge(*slow) == []


def test_an_error_ratio_after_fec_must_last_too() -> None:
    one = [ports(10 * n, {"fec_post_ber": 1e-9 if n == 2 else 0.0}) for n in range(9)]
    assert judge(*one) == []
    (edge,) = judge(*(ports(10 * n, {"fec_post_ber": 2e-12}) for n in range(9)))
    assert (edge.cause, edge.value, edge.limit, edge.unit) == ("bad_link", 2e-12, 1e-12, "ratio")


def test_the_symbol_ratio_decides_where_it_is_told() -> None:
    assert judge(*(ports(10 * n, {"fec_post_ber": 1e-9, "ib_symbol_ber": 1e-16}) for n in range(9))) == []


def test_light_and_heat_stand_beside_with_what_the_other_ports_have() -> None:
    rows = [
        ports(
            10 * n,
            {
                FCS: [0, n, 0],
                "optic_rx_power.0": [-2.0, -3.0, -2.2],
                "optic_rx_power.1": [-2.1, -11.5, -2.0],
                "module_temperature": [50.0, 74.0, 51.0],
            },
        )
        for n in range(4)
    ]
    (edge,) = judge(*rows)
    assert [(e.what, e.value, e.unit) for e in edge.evidence[2:]] == [
        ("module_temperature; half of the other ports: 51; hot", 74.0, "Celsius"),
        ("optic_rx_power; half of the other ports: -2.1", -11.5, "dBm"),
    ]


def test_it_is_over_after_thirty_clean_minutes_that_were_read() -> None:
    bad = told([0, 1, 2, 3])
    calm = [ports(t, {FCS: 3}) for t in range(40, 1900, 10)]
    assert [(f.state, f.ts_us // S) for f in judge(*bad, *calm)] == [("opened", 30), ("cleared", 1830)]
    assert len(judge(*bad, ports(5000, {FCS: None, SYMBOLS: 0}), Tick(10**6 * S))) == 1


def test_a_cleared_counter_is_neither_an_error_nor_clean() -> None:
    assert judge(*told([9, 3, 9, 3, 9, 3])[::2], *told([9, 3, 3])) == []


def test_a_restart_counts_no_symbol_twice() -> None:
    items = [ports(60 * n, {SYMBOLS: min(n, 2)}, link_layer="infiniband") for n in range(6)]
    detector = LinkQualityDetector()
    state, _ = detector.step(detector.fresh(), items)
    kept = detector.keep(state)
    assert kept is not None
    state, again = detector.step(detector.restore(kept), items)
    assert again == []
    one_more = structs.replace(items[-1], ts_us=400 * S, columns={SYMBOLS: [3]})
    assert [f.cause for f in detector.step(state, [one_more])[1]] == ["bad_link"]
