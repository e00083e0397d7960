"""Real time and virtual time show the same fleet: each source's own parser reads what the messages say."""

import json

import pytest

from collectors.contract.gpu import GpuScrape
from collectors.dcgm.page import PageReader
from infra.fleet import inspector
from infra.fleet.exporter import Page, fields
from infra.fleet.scenario import parse
from infra.fleet.scrapes import gpu_scrape
from infra.fleet.step import Step
from infra.fleet.virtual import DEFAULT_START_US
from infra.fleet.world import World

TEXT = """
[fleet]
nodes = 2
gpus = 8
[[jobs]]
name = "train"
nodes = ["node-01"]
[[faults]]
kind = "thermal_throttle"
target = "node-01/3"
from_s = 5
[[faults]]
kind = "gpu_lost"
target = "node-01/5"
from_s = 20
[[faults]]
kind = "ecc_growth"
target = "node-01/1"
"""


@pytest.fixture
def world() -> World:
    return World(parse(TEXT, "test.toml", "test"), DEFAULT_START_US)


@pytest.mark.parametrize("node", ["node-01", "node-02"])
@pytest.mark.parametrize("at_s", [0, 15, 30])
def test_the_page_is_read_as_the_scrape_of_virtual_time(world: World, node: str, at_s: int) -> None:
    world.advance(DEFAULT_START_US + at_s * 1_000_000)
    pairs = world.seen(node)
    page = Page(node).text([slot for slot, _ in pairs], [gpu for _, gpu in pairs])
    parsed = PageReader("elsewhere", "default").read(page.encode(), world.now_us)
    expected: GpuScrape = gpu_scrape(world, node)
    assert parsed.bad == []
    assert parsed.samples == len(pairs) * len(fields(pairs[0][0].model))
    assert [(s.node, s.gpus, s.labels, s.named) for s in parsed.scrapes] == [(node, expected.gpus, expected.labels, {})]
    assert parsed.scrapes[0].columns == expected.columns


def test_every_field_has_the_id_that_dcgm_gives_its_name() -> None:
    world = World(parse(TEXT, "test.toml", "test"), DEFAULT_START_US)
    world.advance(DEFAULT_START_US)
    scrape = gpu_scrape(world, "node-01")
    assert sorted(scrape.columns) == sorted(field.id for field in fields(world.layout.model))


def test_an_inspector_record_keeps_nccls_own_arithmetic(world: World) -> None:
    step = next(h for h in world.advance(DEFAULT_START_US + 19_000_000) if isinstance(h, Step))
    job = world.runs["train"].job
    assert job is not None
    record = json.loads(inspector.record(job, step, 0))
    perf, n = record["coll_perf"], record["header"]["n_ranks"]
    assert n == 4
    assert perf["coll_algobw_gbs"] == pytest.approx(
        perf["coll_msg_size_bytes"] / perf["coll_exec_time_us"] / 1e3, abs=1e-6
    )
    assert perf["coll_busbw_gbs"] == pytest.approx(perf["coll_algobw_gbs"] * 2 * (n - 1) / n, abs=1e-5)
