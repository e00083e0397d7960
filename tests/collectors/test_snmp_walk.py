"""The text of a walk: every type of value, the switch in it, and text that is cut off or none."""

import argparse
from pathlib import Path

import pytest

from collectors.contract.fabric import PortScrape
from collectors.contract.topics import FABRIC_LINKS, FABRIC_SCRAPES
from collectors.snmp import oid
from collectors.snmp.check import check
from collectors.snmp.presets import presets
from collectors.snmp.recorded import read_walked, replay
from collectors.snmp.source import add_arguments
from collectors.snmp.value import Absent
from collectors.snmp.walk_text import read_walk
from collectors.source import Sight, SourceError
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.snmp_walks import SWITCH, VALUES

T = 1_700_000_000_000_000


def scrape_of(text: str) -> PortScrape:
    varbinds, _ = read_walk(text)
    return read_walked(varbinds, presets(None)["standard"], device=None, otherwise="file", ts_us=T)[0]


def cells(scrape: PortScrape, column: str) -> dict[str, int | float | None]:
    named = {port.name: value for port, value in zip(scrape.ports, scrape.columns[column], strict=True)}
    return {name: value for name, value in named.items() if value is not None}


def test_every_type_of_value_is_read() -> None:
    found, bad = read_walk(VALUES)
    assert bad == []
    assert [value for _, value in found] == [
        *(-5, 0.5, 1.5e6, b"\x0a\x00\x00\x01", b"\x0a\x00\x00\x01", bytes(range(18)), b"\x80\x00", None),
        *(Absent.OBJECT, (1, 3, 6, 1), 77, 12, Absent.END),
    ]
    assert oid.text(found[9].name) == "1.3.6.1.4.1.99999.10.0"


def test_a_text_over_two_lines_is_one_value() -> None:
    found, _ = read_walk(SWITCH)
    assert found[0].value == b'Network operating system\non two lines, with a "quote"'


def test_a_walk_is_a_scrape_of_the_switch_it_names() -> None:
    scrape = scrape_of(SWITCH)
    assert scrape.device == "leaf7"
    assert [port.name for port in scrape.ports if port.link_layer] == ["Ethernet1/1", "Ethernet2"]
    assert cells(scrape, "port_rx_bytes") == {"Ethernet1/1": 2**64 - 1}
    assert cells(scrape, "port_rx_discard_packets") == {"Ethernet1/1": 2**32 - 1, "Ethernet2": 0}
    assert cells(scrape, "port_tx_discard_packets") == {"Ethernet1/1": 7, "Ethernet2": 8}
    assert [port.oper_up for port in scrape.ports[:2]] == [True, False]
    assert [port.speed_gbps for port in scrape.ports[:2]] == [400.0, None]
    assert scrape.port_epochs[:2] == ["break:55", "break:0"]
    assert scrape.epoch == f"boot:{60 * round((T // 1_000_000 - 86_400) / 60)}"


def test_optics_are_in_our_units_at_their_port_and_lane() -> None:
    scrape = scrape_of(SWITCH)
    assert cells(scrape, "optic_rx_power") == {"Ethernet1/1": pytest.approx(0.0)}
    assert cells(scrape, "optic_rx_power.2") == {"Ethernet1/1": pytest.approx(-3.0103)}
    assert cells(scrape, "optic_rx_power.1") == {"Ethernet2": pytest.approx(-2.15)}
    assert cells(scrape, "optic_tx_power") == {"Ethernet1/1": -40.0}
    assert cells(scrape, "optic_bias_current") == {"Ethernet1/1": pytest.approx(49.7)}
    # Ethernet2's by the alias of what contains it.
    assert cells(scrape, "module_temperature") == {"Ethernet1/1": pytest.approx(45.3), "Ethernet2": pytest.approx(38.0)}


def test_a_sensor_out_of_order_has_no_value_and_one_of_no_port_is_a_part() -> None:
    scrape = scrape_of(SWITCH)
    assert cells(scrape, "component_temperature") == {"component:Board temperature sensor": pytest.approx(41.2)}


def test_neighbours_are_found_by_name_and_by_bridge_port() -> None:
    varbinds, _ = read_walk(SWITCH)
    _, links = read_walked(varbinds, presets(None)["standard"], device=None, otherwise="", ts_us=T)
    assert {link.port: (link.far_device, link.far_port) for link in links} == {
        "Ethernet1/1": ("spine1", "Ethernet33/1"),
        "Ethernet2": ("node12", "b8:3f:d2:00:00:01"),
    }


@pytest.mark.parametrize("kept", [100, 900, 2000, 4500])
def test_a_walk_that_ends_mid_line_keeps_the_whole_lines(kept: int) -> None:
    found, bad = read_walk(SWITCH[:kept])
    whole, _ = read_walk(SWITCH)
    assert found == whole[: len(found)]
    assert SWITCH[kept - 1] == "\n" or "cut off" in bad[-1].why


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("IF-MIB::ifInOctets.1 = Counter32: 5", "snmpwalk -On"),
        (".1.3.6.1.2.1 = Counter32: five", "no number"),
        (".1.3.6.1.2.1 = Strange: 5", "no known type"),
        (".9.9.9 = INTEGER: 1", "no object identifier"),
        (".1.3.99999999999 = INTEGER: 1", "no sub-identifier"),
        (".1.3.6.1.2.1 = Hex-STRING: 0", "hex"),
    ],
)
def test_a_line_that_cannot_be_read_is_told_with_its_number(line: str, why: str) -> None:
    found, bad = read_walk(f"{line}\n{SWITCH}")
    assert [one.line for one in bad] == [1] and why in bad[0].why
    assert len(found) == len(read_walk(SWITCH)[0])


def run(tmp_path: Path, text: str, *options: str) -> ListOutlet:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    path = tmp_path / "walk.txt"
    path.write_text(text)
    outlet = ListOutlet()
    replay(parser.parse_args(["--file", str(path), *options]), outlet)
    return outlet


def test_a_file_is_published_and_its_bad_lines_rejected(tmp_path: Path) -> None:
    outlet = run(tmp_path, SWITCH + "garbage\n", "--device", "other", "--lossless", "3")
    (scrape,) = outlet.of(FABRIC_SCRAPES)
    assert scrape.device == "other" and scrape.ports[0].lossless == [3]
    assert len(outlet.of(FABRIC_LINKS)) == 2
    # The last value is text, which may go over many lines.
    assert outlet.rejected == []
    assert run(tmp_path, "garbage\n" + SWITCH).rejected[0][1:] == (
        b"garbage",
        "line 1: no name and value; write the walk with `snmpwalk -On`",
    )


@pytest.mark.parametrize(("text", "why"), [("", "no entry"), (VALUES, "no port"), ("\x00\xff\n", "no entry")])
def test_a_file_without_a_switch_says_what_to_do(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(SourceError, match=why):
        run(tmp_path, text)


def test_an_unknown_preset_and_a_file_that_is_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such preset"):
        run(tmp_path, SWITCH, "--preset", "nope")
    with pytest.raises(SourceError, match="nowhere"):
        run(tmp_path, SWITCH, "--file", str(tmp_path / "nowhere"))


def looked(path: Path, *options: str) -> list[Sight]:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return list(check(parser.parse_args(["--file", str(path), *options])))


def test_a_check_of_a_walk_says_what_it_lacks(tmp_path: Path) -> None:
    path = tmp_path / "walk"
    path.write_text("garbage\n" + SWITCH)
    sights = looked(path)
    assert sights[0].ok and "2 neighbours" in sights[0].sees
    assert {sight.lacks for sight in sights[1:]} == {"drops by queue or priority group", "PFC by priority", "1 lines"}
    (nothing,) = looked(tmp_path / "nowhere")
    assert not nothing.ok and "No such file" in nothing.advice
