"""A stream that starts beside a warehouse knows what a GPU's memory did before Kafka's retention."""

import time
from pathlib import Path

import pytest

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.topics import GPU_SCRAPES
from streams.contract import FINDINGS, NODE_PASTS
from tests.integration.stream_line import line, wait_until
from warehouse.loader import write
from warehouse.opening import connect
from warehouse.place import place_of
from warehouse.settings import WarehouseSettings

DAY_US = 86_400_000_000
GPUS = [Gpu(uuid="GPU-a", index=0, pci="0000:1a:00"), Gpu(uuid="GPU-b", index=1, pci="0000:1b:00")]


def scrape(ts_us: int, errors: float) -> GpuScrape:
    energy = float(ts_us // 1000)
    return GpuScrape(node="n1", ts_us=ts_us, gpus=GPUS, columns={"310": [errors, 0.0], "156": [energy, energy]})


def fill(state: Path, now_us: int) -> None:
    """Ten days, a scrape every six hours; fifty errors each on the second, fourth and sixth day before today."""
    settings, today, errors = WarehouseSettings(state=str(state)), now_us // DAY_US, 0.0
    scrapes: list[GpuScrape] = []
    for ago in range(10, 0, -1):
        for quarter in range(4):
            errors += 50.0 if ago in (2, 4, 6) and quarter == 2 else 0.0
            scrapes.append(scrape((today - ago) * DAY_US + quarter * DAY_US // 4, errors))
    with connect(read_only=False, settings=settings) as lake:
        write(lake, [(GPU_SCRAPES, scrapes)], place=place_of(settings))


@pytest.mark.kafka
def test_a_trend_of_the_last_week_is_a_ticket_at_the_first_scrape() -> None:
    with line() as on:
        fill(on.state, time.time_ns() // 1000)
        with on.worker():
            on.ready()
            wait_until(lambda: "judged with their past" in on.log(), on.log)

            def told() -> bool:
                on.produce([(GPU_SCRAPES, scrape(time.time_ns() // 1000, 150.0))])
                return len(on.read(FINDINGS)) > 0

            wait_until(told, on.log)
            found = [(f.state, f.severity, f.cause, f.subject.id) for f in on.read(FINDINGS)]
            assert found == [("opened", "warning", "correctable_ecc_growth", "GPU-a")]
        (past,) = on.read(NODE_PASTS)
        assert (past.fleet_event_days, past.fleet_gpu_days) == (3.0, 20.0)
        assert "nodes: 1, GPUs: 2 (with corrected memory errors: 1), event-days: 3 in 20 GPU-days" in on.log()


@pytest.mark.kafka
def test_without_a_warehouse_the_log_says_so_in_one_line() -> None:
    with line() as on:
        with on.worker():
            on.ready()
            wait_until(lambda: "judged without a past: no warehouse at" in on.log(), on.log)
        assert on.log().count("lockstep.pasts") == 1
