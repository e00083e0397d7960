"""Rows of a device -> columns, ends, twins and what could not be read."""

from collectors.contract.fabric import CounterForm, Port, PortScrape
from collectors.fabric.reading import Raw
from collectors.fabric.rows import Device, Row, samples, scrapes


def row(name: str, *values: tuple[str, str, Raw]) -> Row:
    return Row(Port(name=name), list(values))


def cut(*rows: Row, keep_ignored: bool = False) -> list[PortScrape]:
    return scrapes(rows, Device(name="n1", kind="hca", cluster="c", ts_us=1, keep_ignored=keep_ignored))


def test_a_counter_at_its_end_is_saturated_and_no_number() -> None:
    [scrape] = cut(row("a", ("ib_sysfs", "link_downed", "255")), row("b", ("ib_sysfs", "link_downed", "254")))
    assert scrape.columns == {"ib_link_down_events": [None, 254]}
    assert scrape.saturated == {"ib_link_down_events": [255, None]}
    assert scrape.forms == {"ib_link_down_events": CounterForm(kind="saturating_counter", bits=8)}
    assert scrape.errors == {}


def test_the_same_number_in_a_wider_counter_is_a_number() -> None:
    [scrape] = cut(row("a", ("ib_pma_ext", "LinkDownedCounter", "255")))
    assert (scrape.columns, scrape.saturated, scrape.forms) == ({"ib_link_down_events": [255]}, {}, {})


def test_zero_absent_and_unreadable_are_three_things() -> None:
    [scrape] = cut(
        row("a", ("ib_sysfs", "symbol_error", "0"), ("ib_sysfs", "port_rcv_errors", None)),
        row("b", ("ib_sysfs", "port_rcv_errors", "N/A (no PMA)")),
    )
    assert scrape.columns == {"ib_symbol_errors": [0, None], "ib_rx_error_packets": [None, None]}
    assert scrape.errors == {"ib_rx_error_packets": "a: could not be read"}


def test_what_is_no_number_says_so() -> None:
    [scrape] = cut(row("b", ("ib_sysfs", "symbol_error", "N/A (no PMA)")))
    assert scrape.errors == {"ib_symbol_errors": "b: 'N/A (no PMA)' is no number"}


def test_of_twins_the_widest_that_was_read_holds_the_column() -> None:
    short, wide = ("ibdiagnet", "PortXmitWait", "4294967295"), ("ibdiagnet", "PortXmitWaitExt", "5000000000")
    for twins in ((short, wide), (wide, short)):
        [scrape] = cut(row("a", *twins), keep_ignored=True)
        assert scrape.columns == {"ib_tx_wait_ticks": [5000000000]}
        assert (scrape.saturated, scrape.named) == ({}, {"PortXmitWait": [4294967295]})
        [scrape] = cut(row("a", short, ("ibdiagnet", "PortXmitWaitExt", None)))
        assert (scrape.columns, scrape.saturated) == ({"ib_tx_wait_ticks": [None]}, {"ib_tx_wait_ticks": [4294967295]})


def test_ports_that_keep_a_counter_in_different_widths_are_two_messages() -> None:
    name = "local_ack_timeout_err"
    found = cut(row("m", ("mlx5_hw_counters", name, "1")), row("b", ("bnxt_re_hw_counters", name, "2")))
    assert [(s.ports[0].name, s.columns, set(s.forms)) for s in found] == [
        ("m", {"rdma_ack_timeouts": [1]}, {"rdma_ack_timeouts"}),
        ("b", {"rdma_ack_timeouts": [2]}, set()),
    ]


def test_an_unknown_name_is_kept_under_it_and_an_ignored_one_only_where_all_is_kept() -> None:
    values = (("ethtool_mlx5", "rx0_packets", "5"), ("ethtool_mlx5", "brand_new", "6"))
    assert cut(row("a", *values))[0].named == {"brand_new": [6]}
    assert cut(row("a", *values), keep_ignored=True)[0].named == {"rx0_packets": [5], "brand_new": [6]}


def test_samples_are_values_that_were_read() -> None:
    [scrape] = cut(row("a", ("ib_sysfs", "link_downed", "255"), ("ib_sysfs", "symbol_error", None)))
    assert samples(scrape) == 1


def test_the_epoch_of_a_port_is_its_own() -> None:
    rows = [Row(Port(name="a"), [("ib_sysfs", "symbol_error", "1")], epoch="dev:1"), row("b")]
    [scrape] = cut(*rows)
    assert [scrape.epoch_of(0), scrape.epoch_of(1)] == ["dev:1", ""]
