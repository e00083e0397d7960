"""Dumps of COUNTERS_DB, in every form and broken."""

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from collectors.contract.fabric import PortScrape
from collectors.contract.topics import FABRIC_SCRAPES
from collectors.sonic.source import add_arguments, once
from collectors.source import SourceError
from tests.collectors.list_outlet import ListOutlet

PORT = {"SAI_PORT_STAT_IF_IN_OCTETS": "18446744073709551615", "SAI_PORT_STAT_PFC_3_RX_PKTS": "2"}
QUEUE = {"SAI_QUEUE_STAT_DROPPED_PACKETS": "4", "PFC_WD_STATUS": "stormed"}


def read(tmp_path: Path, document: Any, name: str = "dump.json", *options: str) -> PortScrape:
    path = tmp_path / name
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    outlet = ListOutlet()
    assert once(parser.parse_args(["--file", str(path), *options]), outlet) == 1
    scrape: PortScrape = outlet.of(FABRIC_SCRAPES)[0]
    return scrape


def test_one_port_is_called_as_its_file(tmp_path: Path) -> None:
    scrape = read(tmp_path, PORT, "COUNTERS_Ethernet68.json")
    assert (scrape.ports[0].name, scrape.columns) == (
        "Ethernet68",
        {"port_rx_bytes": [2**64 - 1], "pfc_rx_frames.3": [2]},
    )


def test_a_port_may_be_named(tmp_path: Path) -> None:
    assert read(tmp_path, PORT, "dump.json", "--port", "Ethernet4").ports[0].name == "Ethernet4"


def test_many_ports_and_their_queues(tmp_path: Path) -> None:
    scrape = read(tmp_path, {"Ethernet0": PORT, "Ethernet4": PORT, "Ethernet4:3": QUEUE, "Ethernet4:4": {}})
    assert scrape.columns == {
        "port_rx_bytes": [2**64 - 1] * 2,
        "pfc_rx_frames.3": [2, 2],
        "queue_drop_packets.3": [None, 4],
        "pfcwd_state.3": [None, 1],
    }


def test_the_whole_database_is_read_by_its_name_maps(tmp_path: Path) -> None:
    scrape = read(
        tmp_path,
        {
            "COUNTERS_PORT_NAME_MAP": {"Ethernet0": "oid:0x1"},
            "COUNTERS_QUEUE_NAME_MAP": {"type": "hash", "value": {"Ethernet0:3": "oid:0x2"}},
            "COUNTERS_PG_NAME_MAP": {"Ethernet0:4": "oid:0x3"},
            "COUNTERS:oid:0x1": PORT,
            "COUNTERS:oid:0x2": {"type": "hash", "value": QUEUE},
            "COUNTERS:oid:0x3": {"SAI_INGRESS_PRIORITY_GROUP_STAT_DROPPED_PACKETS": "6"},
            "RATES:oid:0x1": {"FEC_PRE_BER": "1.5e-8"},
        },
    )
    assert [port.name for port in scrape.ports] == ["Ethernet0"]
    assert scrape.columns == {
        "port_rx_bytes": [2**64 - 1],
        "pfc_rx_frames.3": [2],
        "queue_drop_packets.3": [4],
        "pfcwd_state.3": [1],
        "pg_drop_packets.4": [6],
        "fec_pre_ber": [1.5e-8],
    }


def test_what_is_not_in_the_table_keeps_its_name(tmp_path: Path) -> None:
    scrape = read(tmp_path, {"Ethernet0": {"SAI_PORT_STAT_NEW": "5", "SAI_QUEUE_X": "n/a"}})
    assert scrape.named == {"SAI_PORT_STAT_NEW": [5], "SAI_QUEUE_X": ["n/a"]}


def test_the_time_is_the_files(tmp_path: Path) -> None:
    scrape = read(tmp_path, PORT)
    assert scrape.ts_us == (tmp_path / "dump.json").stat().st_mtime_ns // 1000


@pytest.mark.parametrize(
    ("text", "said"),
    [("", "not JSON"), ("[1]", "expected an object"), ("{}", "no field in it"), ("7", "expected an object")],
)
def test_a_broken_dump_says_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        read(tmp_path, text)


def test_without_a_file_the_option_is_named() -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    with pytest.raises(SourceError, match="--file"):
        once(parser.parse_args([]), ListOutlet())
