"""A real Prometheus scraped a page for some seconds: its history is what was on the page, at the time it was read."""

import json
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collectors.contract.kafka import kafka_settings
from collectors.contract.topics import GPU_SCRAPES
from collectors.prometheus import source
from collectors.sources import SourceParser
from tests.collectors.list_outlet import ListOutlet
from tests.integration.prometheus_process import NEEDS_PROMETHEUS, prometheus
from tests.integration.test_collect_dcgm import Page, exporter, numbers, wait_for

pytestmark = NEEDS_PROMETHEUS


@pytest.fixture(autouse=True)
def own_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("LOCKSTEP_STATE", str(tmp_path / "state"))
    kafka_settings.cache_clear()
    yield
    kafka_settings.cache_clear()


def options(url: str, *words: str) -> Any:
    return SourceParser(source="prometheus").parse_args(["--url", url, "--from", "1h", *words])


def raw(url: str) -> list[tuple[int, int]]:
    """(microseconds, number) as Prometheus has them."""
    query = urllib.parse.urlencode({"query": "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION[1h]"})
    with urllib.request.urlopen(f"{url}/api/v1/query?{query}", timeout=10) as answer:
        ((line),) = json.load(answer)["data"]["result"]
    return [(round(at_s * 1000) * 1000, int(value)) for at_s, value in line["values"]]


def test_the_history_is_what_was_scraped(tmp_path: Path) -> None:
    with exporter() as address, prometheus(tmp_path, [address], interval="200ms") as url:
        wait_for(lambda: Page.served >= 20)
        outlet = ListOutlet()
        until = str(time.time())
        assert source.once(options(url, "--to", until), outlet) == len(outlet.of(GPU_SCRAPES)) >= 19
        found = outlet.of(GPU_SCRAPES)
        have = raw(url)
        assert [(s.ts_us, int(s.columns["156"][0])) for s in found] == have[: len(found)]
        assert numbers(found) == list(range(1, len(found) + 1))
        assert {s.node for s in found} == {"node-a"}
        (sight,) = source.check(options(url, "--to", until))
        assert (sight.ok, "a scrape every 0.2 s" in sight.sees) == (True, True)
        resampled = ListOutlet()
        source.once(options(url, "--to", until, "--step", "1"), resampled)
        times = [s.ts_us for s in resampled.of(GPU_SCRAPES)]
        assert times == sorted(set(times))
        assert all(ts_us % 1_000_000 == 0 for ts_us in times)
        assert set(numbers(resampled.of(GPU_SCRAPES))) <= set(numbers(found))
