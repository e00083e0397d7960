"""What the tools of a fabric print, whole, cut and strange."""

from typing import Any

import pytest

from collectors.contract.fabric import PortScrape
from collectors.infiniband.db_csv import read_db_csv
from collectors.infiniband.ibqueryerrors import read_ibqueryerrors
from collectors.infiniband.linkinfo import read_linkinfo
from collectors.infiniband.messages import links, messages
from collectors.infiniband.names import read_names, station
from collectors.infiniband.netdiscover import read_netdiscover
from collectors.infiniband.perfquery import read_perfquery
from collectors.infiniband.reading import MOST_UNREAD, Reading
from tests.collectors import ib_texts as texts


def scrapes(reading: Reading) -> dict[str, PortScrape]:
    return {s.device: s for s in messages(reading, ts_us=1, cluster="c", keep_ignored=True)}


def cables(reading: Reading) -> list[tuple[Any, ...]]:
    found = links(reading.cables or [], ts_us=1, cluster="c").values()
    return [(x.device, x.port, x.far_device, x.far_port, x.far_kind, x.node) for x in found]


def test_perfquery_without_x_is_of_16_and_32_bits_and_saturates() -> None:
    scrape = scrapes(read_perfquery(texts.PERFQUERY, None))["lid:7"]
    assert [port.name for port in scrape.ports] == ["1", "2"]
    assert scrape.columns["ib_symbol_errors"] == [None, None]
    assert scrape.saturated == {"ib_symbol_errors": [65535, None], "ib_tx_wait_ticks": [4294967295, None]}
    assert scrape.columns["ib_tx_discard_packets"] == [70, 0]
    assert scrape.columns["ib_link_down_events"] == [3, None]
    assert (scrape.forms["ib_tx_discard_packets"].bits, scrape.named["CounterSelect2"]) == (16, [0x1B, None])


def test_perfquery_with_x_has_the_same_names_and_64_bits() -> None:
    scrape = scrapes(read_perfquery(texts.PERFQUERY_X, "sw01"))["sw01"]
    assert (scrape.columns, scrape.forms) == ({"ib_tx_words": [5000000000], "ib_tx_discard_packets": [70000]}, {})


def test_port_255_of_perfquery_is_a_sum_and_no_port() -> None:
    text = texts.PERFQUERY.replace("port 1 ", "port 255 ")
    scrape = scrapes(read_perfquery(text, None))["lid:7"]
    assert [(port.name, port.link_layer) for port in scrape.ports] == [("component:ALL", None), ("2", "infiniband")]


def test_a_number_cut_in_its_middle_is_not_believed() -> None:
    reading = read_perfquery("# Port counters: Lid 7 port 1\nPortXmitDiscards:................7", None)
    assert [row.values for rows in reading.stations.values() for row in rows.values()] == [[]]
    assert reading.unread == [("the last line has no end: it was cut", "PortXmitDiscards:................7")]


def test_another_table_of_perfquery_is_left_out_and_nonsense_is_told() -> None:
    reading = read_perfquery(texts.PERFQUERY_X + "# Port Extended Speeds Counters: Lid 7\nSyncHeader:..1\n", None)
    assert reading.unread == []
    assert scrapes(reading)["lid:7"].columns.keys() == {"ib_tx_words", "ib_tx_discard_packets"}
    assert read_perfquery("bash: perfquery: command not found\n", None).failed is not None


def test_ibqueryerrors_tells_hosts_from_switches_and_sums_from_ports() -> None:
    reading = read_ibqueryerrors(texts.IBQUERYERRORS, {})
    found = scrapes(reading)
    assert (reading.failed, reading.unread, reading.nodes, reading.filtered) == (None, [], 6, False)
    assert [(s.device, s.kind, s.node, [p.name for p in s.ports]) for s in found.values()] == [
        ("node-01", "hca", "node-01", ["mlx5_0"]),
        ("sw01", "switch", None, ["component:ALL", "1"]),
        ("sw02", "switch", None, ["5"]),
    ]
    assert found["sw01"].columns["ib_tx_discard_packets"] == [70, 70]
    assert found["sw01"].saturated == {"ib_tx_wait_ticks": [4294967295, 4294967295]}


def test_a_size_in_brackets_is_a_64_bit_counter() -> None:
    found = scrapes(read_ibqueryerrors(texts.IBQUERYERRORS, {}))
    assert found["sw02"].columns == {"ib_rx_error_packets": [2846], "ib_link_down_events": [300]}
    assert found["sw02"].forms == {}
    assert found["node-01"].forms["ib_symbol_errors"].bits == 16


def test_a_scan_without_its_summary_has_failed() -> None:
    for text in ("", texts.IBQUERYERRORS.partition("## Summary")[0]):
        assert "## Summary" in (read_ibqueryerrors(text, {}).failed or "")


def test_thresholds_and_suppressed_counters_are_noticed() -> None:
    assert read_ibqueryerrors(
        "## Summary: 1 nodes checked, 0 bad nodes found\n## Suppressed: VL15Dropped\n", {}
    ).filtered


def test_iblinkinfo_tells_states_widths_and_the_switch_side_of_cables() -> None:
    reading = read_linkinfo(texts.IBLINKINFO, {})
    found = scrapes(reading)
    assert (reading.failed, reading.unread, reading.switches) == (
        None,
        [],
        {"0x0000000000200000", "0x0000000000200001"},
    )
    assert [(p.name, p.speed_gbps, p.oper_up) for p in found["sw01"].ports] == [
        ("1", 200.0, True),
        ("2", 50.0, True),
        ("3", None, False),
    ]
    assert found["sw01"].named["link_degraded"] == [None, "Could be 4X", None]
    assert found["sw01"].named["ib_port_state"] == ["ACTIVE", "ACTIVE", "DOWN"]
    assert cables(reading) == [
        ("sw01", "1", "node-01", "mlx5_0", "hca", "node-01"),
        ("sw01", "2", "sw02", "9", "switch", None),
        ("sw02", "9", "sw01", "2", "switch", None),
    ]


def test_two_switches_of_one_name_go_by_their_guids() -> None:
    text = texts.IBLINKINFO.replace("MF0;sw01:MQM9700/U1", "sw02")
    reading = read_linkinfo(text, {})
    assert {s.device for s in reading.stations if s.kind == "switch"} == {"0x0000000000200000", "0x0000000000200001"}
    named = read_linkinfo(text, {"0x0000000000200000": "spine"})
    assert {s.device for s in named.stations if s.kind == "switch"} == {"spine", "sw02"}


def test_ibnetdiscover_in_both_forms() -> None:
    reading = read_netdiscover(texts.IBNETDISCOVER, {})
    assert (reading.failed, reading.unread) == (None, [])
    assert cables(reading) == [
        ("sw02", "1", "node-01", "mlx5_1", "hca", "node-01"),
        ("sw02", "3", "sw01", "3", "switch", None),
    ]
    assert [(p.name, p.speed_gbps) for p in scrapes(reading)["sw02"].ports] == [("1", 400.0), ("3", 200.0)]
    listed = read_netdiscover(texts.IBNETDISCOVER_P, {})
    assert (cables(listed), listed.unread) == ([("sw02", "2", "node-02", "mlx5_1", "hca", "node-02")], [])
    assert [p.name for p in scrapes(listed)["sw02"].ports] == ["8", "2"]


def test_db_csv_takes_the_wide_twin_hex_and_says_what_is_not_available() -> None:
    reading = read_db_csv(texts.DB_CSV, {})
    found = scrapes(reading)
    assert (reading.failed, reading.unread) == (None, [])
    assert found["sw01"].columns == {
        "ib_link_down_events": [None],
        "ib_tx_wait_ticks": [5_000_000_000],
        "ib_tx_words": [7],
        "ib_tx_discard_packets": [None],
    }
    assert found["sw01"].saturated == {"ib_link_down_events": [255]}
    assert found["sw01"].errors == {"ib_tx_discard_packets": "1: 'N/A' is no number"}
    assert found["node-01"].columns["ib_tx_discard_packets"] == [70]
    assert cables(reading) == [("sw01", "1", "node-01", "mlx5_0", "hca", "node-01")]


def test_a_db_csv_still_being_written_is_said() -> None:
    reading = read_db_csv(texts.DB_CSV.partition("END_PM_INFO")[0], {})
    assert reading.failed == "START_PM_INFO has no END_PM_INFO: the file was cut, or is still being written"
    assert scrapes(reading)["node-01"].columns["ib_tx_discard_packets"] == [70]
    assert read_db_csv("a,b\n", {}).failed is not None


@pytest.mark.parametrize(
    ("description", "kind", "said"),
    [
        ("node-01 mlx5_0", "hca", ("node-01", "node-01", "mlx5_0")),
        ("node-01 HCA-1", "hca", ("node-01", "node-01", "HCA-1")),
        ("node-01 ibp65s0", "hca", ("node-01", "node-01", "ibp65s0")),
        ("Hca1", "hca", ("Hca1", None, None)),
        ("MF0;sw01:MQM9700/U1", "switch", ("sw01", None, None)),
        ("MF0;sw01:CS7520/L01/U1", "switch", ("sw01:L01:U1", None, None)),
        ("Quantum Mellanox Technologies", "switch", ("0x0000000000000001", None, None)),
        ("a/b", "switch", ("a:b", None, None)),
        ("", "switch", ("0x0000000000000001", None, None)),
    ],
)
def test_a_node_is_called(description: str, kind: Any, said: tuple[str, str | None, str | None]) -> None:
    found = station(description, "0x0000000000000001", {}, kind)
    assert (found.device, found.node, found.hca) == said


def test_a_name_map_names_by_guid_and_says_which_line_is_wrong() -> None:
    names = read_names('# comment\n0x1 "spine 1"\n')
    assert station("Quantum Mellanox Technologies", "0x0000000000000001", names, "switch").device == "spine 1"
    with pytest.raises(ValueError, match="line 2"):
        read_names('0x1 "a"\nspine\n')


def test_a_text_of_something_else_keeps_a_bounded_part_of_itself() -> None:
    for read in (read_linkinfo, read_netdiscover, read_ibqueryerrors):
        reading = read("what is this\n" * 5000, {})
        assert (len(reading.unread), reading.failed is not None) == (MOST_UNREAD, True)
