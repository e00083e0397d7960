"""Drops in a lossless class: what fires, what does not, when it is over."""

import msgspec
import pytest
from msgspec import structs

from collectors.contract.fabric import CounterForm, Port, PortScrape
from streams.contract import Finding, finding_key
from streams.detector import Tick
from streams.detectors.lossless import LosslessDropDetector
from streams.detectors.lossless_limits import LosslessLimits
from streams.detectors.lossless_state import LosslessState

S = 1_000_000
MINUTE = 60 * S
DROP = "queue_drop_packets.3"
Row = dict[str, list[int | float | None]]


def scrape(
    ts_s: float,
    columns: Row,
    lossless: list[int] | None = None,
    epoch: str = "1",
    forms: dict[str, CounterForm] | None = None,
    baseline: bool = False,
    link_layer: str = "ethernet",
    speed_gbps: float | None = 400.0,
) -> PortScrape:
    rows = max((len(values) for values in columns.values()), default=1)
    return PortScrape(
        ts_us=int(ts_s * S),
        device="leaf1",
        epoch=epoch,
        baseline=baseline,
        forms=forms or {},
        ports=[
            Port(name=f"eth{i}", speed_gbps=speed_gbps, lossless=lossless, link_layer=link_layer)  # type: ignore[arg-type]
            for i in range(rows)
        ],
        columns=columns,
    )


def run(*items: PortScrape | Tick) -> list[Finding]:
    detector = LosslessDropDetector()
    return detector.step(detector.fresh(), items)[1]


def shape(findings: list[Finding]) -> list[tuple[str, str, str, int]]:
    return [(f.state, f.subject.id, f.cause, f.ts_us // S) for f in findings]


def test_one_packet_lost_on_a_lossless_queue_fires_at_once() -> None:
    (edge,) = run(scrape(10, {DROP: [5, 0]}), scrape(20, {DROP: [5, 1]}))
    assert shape([edge]) == [("opened", "leaf1/eth1", "lossless_drop", 20)]
    assert (edge.subject.port, edge.subject.device, edge.subject.priority) == ("eth1", "leaf1", 3)
    assert (edge.value, edge.unit, edge.limit, edge.severity) == (1.0, "packets", 0.0, "warning")
    assert edge.evidence[0].what.startswith("root queue:")


def test_the_first_sample_fires_nothing_however_large() -> None:
    assert run(scrape(10, {DROP: [10**9]})) == []


def test_drops_of_a_lossy_queue_are_not_this_alert() -> None:
    assert run(scrape(10, {"queue_drop_packets.0": [0]}), scrape(20, {"queue_drop_packets.0": [99]})) == []


def test_drops_of_the_port_alone_are_not_this_alert() -> None:
    name = "port_tx_discard_packets"
    assert run(scrape(10, {name: [0]}), scrape(20, {name: [99]})) == []


def test_pause_without_a_drop_is_not_this_alert() -> None:
    assert run(scrape(10, {"pfc_rx_frames.3": [0], DROP: [0]}), scrape(20, {"pfc_rx_frames.3": [9], DROP: [0]})) == []


def test_the_port_says_which_priorities_are_lossless() -> None:
    one: Row = {DROP: [0], "queue_drop_packets.5": [0]}
    two: Row = {DROP: [1], "queue_drop_packets.5": [1]}
    found = run(scrape(10, one, lossless=[5]), scrape(20, two, lossless=[5]))
    assert [f.subject.priority for f in found] == [5]
    assert run(scrape(10, one, lossless=[]), scrape(20, two, lossless=[])) == []


def test_a_priority_on_which_the_device_sends_pause_is_lossless() -> None:
    name = "queue_drop_packets.4"
    quiet = run(scrape(10, {name: [0], "pfc_tx_frames.4": [0]}), scrape(20, {name: [1], "pfc_tx_frames.4": [0]}))
    assert quiet == []
    found = run(scrape(10, {name: [0], "pfc_tx_frames.4": [7]}), scrape(20, {name: [1], "pfc_tx_frames.4": [7]}))
    assert [f.subject.priority for f in found] == [4]


def test_a_group_that_overran_points_at_the_headroom() -> None:
    found = run(scrape(10, {"pg_drop_packets.3": [0], DROP: [0]}), scrape(20, {"pg_drop_packets.3": [4], DROP: [1]}))
    assert len(found) == 1
    assert found[0].value == 4.0
    assert found[0].evidence[0].what.startswith("root headroom:")


def test_drops_in_a_storm_are_the_watchdogs() -> None:
    found = run(
        scrape(10, {DROP: [0], "pfcwd_state.3": [0]}),
        scrape(20, {DROP: [4], "pfcwd_state.3": [1]}),
    )
    assert found[0].evidence[0].what.startswith("root pfc_watchdog:")


@pytest.mark.parametrize(("later_s", "root"), [(20, "pfc_watchdog"), (60, "queue")])
def test_a_counted_storm_explains_drops_for_a_short_while(later_s: int, root: str) -> None:
    found = run(
        scrape(10, {DROP: [0], "pfcwd_storm_detected.3": [2]}),
        scrape(20, {DROP: [0], "pfcwd_storm_detected.3": [3]}),
        scrape(20 + later_s, {DROP: [4], "pfcwd_storm_detected.3": [3]}),
    )
    assert found[0].evidence[0].what.startswith(f"root {root}:")


def test_an_infiniband_port_that_discards_is_losing_in_a_lossless_class() -> None:
    one: Row = {"ib_tx_discard_packets": [0]}
    two: Row = {"ib_tx_discard_packets": [3]}
    assert run(scrape(10, one), scrape(20, two)) == []
    found = run(scrape(10, one, link_layer="infiniband"), scrape(20, two, link_layer="infiniband"))
    assert [(f.subject.id, f.subject.priority) for f in found] == [("leaf1/eth0", None)]


def test_it_is_over_ten_minutes_after_the_last_growth() -> None:
    found = run(
        scrape(10, {DROP: [0]}),
        scrape(20, {DROP: [1]}),
        scrape(300, {DROP: [2]}),
        scrape(899, {DROP: [2]}),
        scrape(907, {DROP: [2]}),
        scrape(990, {DROP: [2]}),
    )
    assert shape(found) == [
        ("opened", "leaf1/eth0", "lossless_drop", 20),
        ("cleared", "leaf1/eth0", "lossless_drop", 900),
    ]
    assert found[0].episode_us == found[1].episode_us


def test_silence_closes_nothing() -> None:
    assert len(run(scrape(10, {DROP: [0]}), scrape(20, {DROP: [1]}), Tick(99_999 * S))) == 1


def test_a_counter_that_can_not_be_read_closes_nothing() -> None:
    open_one = (scrape(10, {DROP: [0]}), scrape(20, {DROP: [1]}))
    assert len(run(*open_one, scrape(900, {DROP: [None], "queue_drop_packets.0": [1]}))) == 1


def test_one_quiet_counter_does_not_close_what_another_counted() -> None:
    found = run(
        scrape(10, {DROP: [0], "pg_drop_packets.3": [0]}),
        scrape(20, {DROP: [1], "pg_drop_packets.3": [1]}),
        scrape(900, {DROP: [1]}),
    )
    assert [f.state for f in found] == ["opened"]


def test_a_restart_of_the_device_is_neither_a_drop_nor_a_proof_of_quiet() -> None:
    found = run(
        scrape(10, {DROP: [0]}),
        scrape(20, {DROP: [5]}),
        scrape(500, {DROP: [3]}, epoch="2"),
        scrape(700, {DROP: [3]}, epoch="2"),
        scrape(1101, {DROP: [3]}, epoch="2"),
    )
    assert [(f.state, f.ts_us // S) for f in found] == [("opened", 20), ("cleared", 1100)]


def test_a_counter_that_fell_without_a_word_is_no_drop() -> None:
    assert run(scrape(10, {DROP: [50]}), scrape(20, {DROP: [3]})) == []


def test_a_drop_over_a_gap_is_still_told() -> None:
    (edge,) = run(scrape(10, {DROP: [0]}), scrape(7200, {DROP: [1]}))
    assert "over a gap" in edge.evidence[1].what


def test_nothing_is_claimed_across_a_lost_stream() -> None:
    assert run(scrape(10, {DROP: [0]}), scrape(20, {DROP: [9]}, baseline=True)) == []


def test_nothing_is_claimed_of_a_port_whose_own_counters_were_set_anew_and_the_others_stand() -> None:
    before, after = scrape(10, {DROP: [5, 5]}), scrape(20, {DROP: [9, 9]})
    before = msgspec.structs.replace(before, port_epochs=["break:0", "break:0"])
    after = msgspec.structs.replace(after, port_epochs=["break:7", "break:0"])
    assert [f.subject.port for f in run(before, after)] == ["eth1"]


def test_drops_that_go_on_are_one_edge_until_ten_times_as_many() -> None:
    items = [scrape(10 * n, {DROP: [n]}) for n in range(1, 60)]
    found = run(*items)
    assert [(f.state, f.value, f.ts_us // S) for f in found] == [("opened", 1.0, 20), ("updated", 31.0, 320)]


def test_two_priorities_of_a_port_are_two_episodes_with_keys_of_their_own() -> None:
    other = "queue_drop_packets.4"
    found = run(
        scrape(10, {DROP: [0], other: [0]}, lossless=[3, 4]), scrape(20, {DROP: [1], other: [1]}, lossless=[3, 4])
    )
    assert len({finding_key(f) for f in found}) == 2


def test_a_counter_at_its_end_is_no_drop_and_counts_again_after_a_clear() -> None:
    forms = {"ib_tx_discard_packets": CounterForm(kind="saturating_counter", bits=16)}
    rows: list[Row] = [{"ib_tx_discard_packets": [v]} for v in (65000, None, 65535, 0, 3)]
    scrapes = [scrape(10 * i, row, forms=forms, link_layer="infiniband") for i, row in enumerate(rows, 1)]
    scrapes[1] = structs.replace(scrapes[1], saturated={"ib_tx_discard_packets": [65535]})
    assert [(f.state, f.value, f.ts_us // S) for f in run(*scrapes)] == [("opened", 3.0, 50)]


def test_an_infiniband_port_that_went_down_threw_away_what_it_held() -> None:
    rows: list[Row] = [
        {"ib_tx_discard_packets": [0], "ib_link_down_events": [4]},
        {"ib_tx_discard_packets": [9], "ib_link_down_events": [5]},
        {"ib_tx_discard_packets": [9], "ib_link_down_events": [5]},
        {"ib_tx_discard_packets": [11], "ib_link_down_events": [5]},
    ]
    found = run(*(scrape(10 * i, row, link_layer="infiniband") for i, row in enumerate(rows, 1)))
    assert [(f.value, f.ts_us // S) for f in found] == [(2.0, 40)]
    assert found[0].evidence[0].what.startswith("root credits:")


def test_the_sites_word_on_a_device_stands_above_what_its_ports_say() -> None:
    detector = LosslessDropDetector(LosslessLimits(devices={"leaf1": frozenset({4})}))
    rows: list[Row] = [{DROP: [n], "queue_drop_packets.4": [n]} for n in range(2)]
    _, found = detector.step(detector.fresh(), [scrape(10 * i, row, lossless=[3]) for i, row in enumerate(rows, 1)])
    assert [f.subject.priority for f in found] == [4]


def test_twice_and_late_change_nothing() -> None:
    a, b, c = scrape(10, {DROP: [0]}), scrape(20, {DROP: [1]}), scrape(700, {DROP: [1]})
    assert run(a, b, a, b, b, c, a, c) == run(a, b, c)


def test_a_restart_in_an_episode_forgets_nothing() -> None:
    items = [scrape(10, {DROP: [0]}), scrape(20, {DROP: [1]}), scrape(300, {DROP: [4]}), scrape(910, {DROP: [4]})]
    whole = run(*items)
    detector = LosslessDropDetector()
    for cut in (2, 3):
        state, before = detector.step(detector.fresh(), items[:cut])
        kept = detector.keep(state)
        assert kept is not None
        again = detector.restore(kept)
        again, warm = detector.step(again, items[:cut])
        assert warm == []
        assert before + detector.step(again, items[cut:])[1] == whole
        cold = detector.restore(kept)
        assert before + detector.step(cold, items[cut:])[1] == whole


def test_a_quiet_device_keeps_nothing() -> None:
    detector = LosslessDropDetector()
    state, _ = detector.step(detector.fresh(), [scrape(10, {DROP: [0]}), scrape(20, {DROP: [0]})])
    assert detector.keep(state) is None
    assert isinstance(state, LosslessState)
