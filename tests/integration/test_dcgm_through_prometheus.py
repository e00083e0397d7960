"""Pages as a real Prometheus hands them on: federated under its own labels and times, packed, and as OpenMetrics."""

import asyncio
from pathlib import Path
from urllib.parse import quote

from collectors.contract.gpu import GpuScrape
from collectors.contract.topics import GPU_SCRAPES
from collectors.dcgm import source
from collectors.source import SourceError
from tests.collectors.dcgm_options import options
from tests.collectors.exporter import plain, serving
from tests.collectors.list_outlet import ListOutlet
from tests.integration.prometheus_process import NEEDS_PROMETHEUS, prometheus

pytestmark = NEEDS_PROMETHEUS

PAGES = Path(__file__).parents[1] / "collectors" / "pages"
OWN = {"pod": "nvidia-dcgm-exporter-x7kq2", "namespace": "gpu-operator", "container": "nvidia-dcgm-exporter"}


async def read(*words: str, until: int = 1) -> ListOutlet:
    """`--once`, until it finds so many messages; Prometheus takes a moment to scrape and to be there."""
    async with asyncio.timeout(60.0):
        while True:
            outlet = ListOutlet()
            try:
                if await source._once(options(*words), outlet) >= until:
                    return outlet
            except SourceError:
                await asyncio.sleep(0.2)


def test_a_federated_page_names_users_nodes_and_the_time_of_the_scrape(tmp_path: Path) -> None:
    async def run() -> tuple[ListOutlet, str]:
        body = (PAGES / "exporter_4.prom").read_text()
        async with serving(lambda _: plain(body)) as exporter:
            target = f"127.0.0.1:{exporter.port}"
            with prometheus(tmp_path / "prometheus", [target], labels=OWN) as url:
                match = quote('{__name__=~"DCGM_.*"}')
                return await read("--target", f"{url}/federate?match[]={match}"), target

    outlet, _ = asyncio.run(run())
    (scrape,) = outlet.of(GPU_SCRAPES)
    assert scrape.node == "node-a"
    assert scrape.columns["100"] == [1980, 1755]
    assert [(gpu.namespace, gpu.pod, gpu.container) for gpu in scrape.gpus] == [
        ("team-a", "llm-0", "c"),
        (None, None, None),
    ]
    assert [gpu.hpc_job for gpu in scrape.gpus] == [None, "1001,1002"]
    (beat,) = outlet.beats
    # Scraped before it was read, and by its own clock.
    assert 0 < beat.ts_us - scrape.ts_us < 60_000_000
    assert outlet.rejected == []


def test_a_page_that_go_packs_and_one_that_it_writes_as_openmetrics_hold_the_same_series(tmp_path: Path) -> None:
    async def run() -> list[GpuScrape]:
        found = []
        with prometheus(tmp_path / "prometheus", []) as url:
            for header in ("Accept-Encoding: gzip", "Accept: application/openmetrics-text;version=1.0.0"):
                outlet = await read("--target", f"{url}/metrics", "--header", header)
                assert outlet.rejected == []
                found += outlet.of(GPU_SCRAPES)
        return found

    packed, openmetrics = asyncio.run(run())
    names = [set(scrape.entities[0].named) for scrape in (packed, openmetrics)]
    assert len(names[0]) > 100
    assert {name for name in names[0] if name.startswith("go_memstats_")} <= names[1]
    assert "prometheus_build_info" in {name.partition("{")[0] for name in names[1]}
