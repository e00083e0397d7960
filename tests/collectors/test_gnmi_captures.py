"""What real devices said, read in place: every value comes out."""

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from collectors.contract.fabric import PortScrape
from collectors.contract.topics import FABRIC_SCRAPES
from collectors.gnmi import source as gnmi
from collectors.sonic import source as sonic
from tests.collectors.list_outlet import ListOutlet

CAPTURES = Path(__file__).parents[3] / "shared" / "captures"
pytestmark = [
    pytest.mark.captures,
    pytest.mark.skipif(not CAPTURES.is_dir(), reason="captures stand beside the repository and are absent"),
]


def read(module: Any, option: str, path: Path) -> PortScrape:
    parser = argparse.ArgumentParser()
    module.add_arguments(parser)
    outlet = ListOutlet()
    assert module.once(parser.parse_args([option, str(path)]), outlet) == 1
    scrape: PortScrape = outlet.of(FABRIC_SCRAPES)[0]
    return scrape


def values(scrape: PortScrape) -> list[object]:
    held: list[list[Any]] = [*scrape.columns.values(), *scrape.named.values()]
    return [value for column in held for value in column if value is not None]


def leaves(found: Any) -> int:
    return sum(map(leaves, found.values())) if isinstance(found, dict) else 1


@pytest.mark.parametrize("name", ["telegraf_issue_11778.json", "telegraf_issue_12831.json"])
def test_every_update_of_a_gnmi_capture_comes_out(name: str) -> None:
    path = CAPTURES / "gnmi" / name
    updates = [u for entry in json.loads(path.read_text()) for u in entry["update"]["update"]]
    assert len(values(read(gnmi, "--responses", path))) == len(updates)


def test_decimals_are_read_by_their_precision() -> None:
    scrape = read(gnmi, "--responses", CAPTURES / "gnmi" / "telegraf_issue_12831.json")
    assert scrape.columns == {"component_temperature": [34.3, 20.4, 40.6]}
    assert [port.name for port in scrape.ports] == ["component:AP-1", "component:CM-1", "component:LM-1"]


@pytest.mark.parametrize("part", ["", "_Queues", "_Pfcwd"])
def test_every_field_of_a_sonic_capture_comes_out(part: str) -> None:
    path = CAPTURES / "sonic" / f"COUNTERS_Ethernet68{part}.json"
    scrape = read(sonic, "--file", path)
    assert len(values(scrape)) == leaves(json.loads(path.read_text()))
    assert ([port.name for port in scrape.ports], scrape.errors) == (["Ethernet68"], {})


def test_the_periodic_watermark_does_not_stand_in_for_the_other() -> None:
    scrape = read(sonic, "--file", CAPTURES / "sonic" / "COUNTERS_Ethernet68_Queues.json")
    assert scrape.columns["queue_watermark_bytes.1"] == [64]
    assert scrape.named["SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES.1:periodic"] == [192]
