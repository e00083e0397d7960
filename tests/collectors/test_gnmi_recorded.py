"""Recordings, in every form and broken."""

import argparse
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from collectors.contract.fabric import PortScrape
from collectors.contract.topics import FABRIC_SCRAPES
from collectors.gnmi.source import add_arguments, once
from collectors.source import SourceError
from tests.collectors.list_outlet import ListOutlet

PATH = {
    "elem": [
        {"name": "openconfig-interfaces:interfaces"},
        {"name": "interface", "key": {"name": "eth42"}},
        {"name": "state"},
        {"name": "counters"},
        {"name": "in-octets"},
    ]
}


def read(tmp_path: Path, text: str, *options: str) -> list[PortScrape]:
    """Scrapes of a recording."""
    path = tmp_path / "recorded.json"
    path.write_text(text)
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    outlet = ListOutlet()
    once(parser.parse_args(["--responses", str(path), *options]), outlet)
    scrapes: list[PortScrape] = outlet.of(FABRIC_SCRAPES)
    return scrapes


def update(val: dict[str, Any], ts: int = 1_700_000_000_000_000_000) -> dict[str, Any]:
    return {"update": {"timestamp": str(ts), "update": [{"path": PATH, "val": val}]}}


@pytest.mark.parametrize(
    "val",
    [
        {"uintVal": "18446744073709551615"},
        {"uint_val": 18446744073709551615},
        {"stringVal": "18446744073709551615"},
        {"jsonIetfVal": base64.b64encode(b'"18446744073709551615"').decode()},
    ],
)
def test_a_value_is_exact_in_every_spelling(tmp_path: Path, val: dict[str, Any]) -> None:
    assert read(tmp_path, json.dumps([update(val)]))[0].columns == {"port_rx_bytes": [18446744073709551615]}


def test_a_list_an_object_and_lines_are_the_same(tmp_path: Path) -> None:
    one, two = update({"uintVal": "1"}), update({"uintVal": "2"}, 1_700_000_001_000_000_000)
    forms = [
        json.dumps([one, two]),
        json.dumps(one) + "\n\n" + json.dumps(two) + "\n",
        json.dumps([one, two], indent=1),
    ]
    seen = [[(s.ts_us, s.columns["port_rx_bytes"]) for s in read(tmp_path, form)] for form in forms]
    assert seen == [[(1_700_000_000_000_000, [1]), (1_700_000_001_000_000, [2])]] * 3


def test_gnmic_events_are_read(tmp_path: Path) -> None:
    event = {
        "name": "sub1",
        "timestamp": 1710890476202665500,
        "tags": {"interface_name": "mgmt0", "source": "clab-leaf:57400", "subscription-name": "sub1"},
        "values": {"/interfaces/interface/state/counters/in-octets": "35284165"},
    }
    scrape = read(tmp_path, json.dumps([event]))[0]
    assert (scrape.device, scrape.ports[0].name, scrape.columns) == (
        "clab-leaf",
        "mgmt0",
        {"port_rx_bytes": [35284165]},
    )


def test_gnmic_json_is_read(tmp_path: Path) -> None:
    entry = {
        "source": "leaf9:57400",
        "timestamp": 1710890476202665500,
        "updates": [
            {
                "Path": "interfaces/interface[name=eth1]/state/counters",
                "values": {"interfaces/interface/state/counters": {"in-octets": "4"}},
            }
        ],
    }
    scrape = read(tmp_path, json.dumps(entry))[0]
    assert (scrape.device, scrape.columns) == ("leaf9", {"port_rx_bytes": [4]})


def test_the_device_may_be_named(tmp_path: Path) -> None:
    scrapes = read(tmp_path, json.dumps(update({"uintVal": "1"})), "--device", "leaf7", "--lossless", "3")
    assert (scrapes[0].device, scrapes[0].ports[0].lossless) == ("leaf7", [3])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[1]", "entry 1: expected an object"),
        ('[{"update": 3}]', "neither a SubscribeResponse"),
        ('[{"hello": 3}]', "neither a SubscribeResponse"),
        ('{"update": {"update": [{"path": {}, "val": {"newVal": 1}}]}}', "unknown value 'newVal'"),
        ('{"a": 1}\nbroken\n', ":2: not JSON"),
        ('[{"syncResponse": true}]', "no update in it"),
        ("[]", "no update in it"),
    ],
)
def test_a_broken_recording_says_where_and_what(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SourceError, match=r"recorded\.json") as refused:
        read(tmp_path, text)
    assert said in str(refused.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    with pytest.raises(SourceError, match=r"none\.json: No such file"):
        once(parser.parse_args(["--responses", str(tmp_path / "none.json")]), ListOutlet())
