"""What the warehouse tells of a GPU's memory: days, events and row remaps."""

from typing import Any

import duckdb
import pytest
from msgspec import structs

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.topics import GPU_SCRAPES
from streams.contract import GpuPast, NodePast
from warehouse.loader import write
from warehouse.pasts import DAY_US, node_pasts
from warehouse.place import Place

DAY0 = 20_600
START = DAY0 * DAY_US
S = 1_000_000
HOUR = 3600 * S

Lake = duckdb.DuckDBPyConnection


def scrape(at_us: int, readings: dict[str, float | None], **more: Any) -> GpuScrape:
    """GPU-a has these readings; GPU-b nothing but zeros."""
    whole: dict[str, Any] = {
        "node": "n1",
        "ts_us": START + at_us,
        "gpus": [Gpu(uuid="GPU-a", index=0), Gpu(uuid="GPU-b", index=1)],
        "columns": {field: [value, 0.0] for field, value in readings.items()},
    }
    return GpuScrape(**(whole | more))


def past_of(lake: Lake, place: Place, scrapes: list[GpuScrape], uuid: str = "GPU-a", days: int = 3) -> GpuPast:
    write(lake, [(GPU_SCRAPES, scrapes)], place=place)
    (past,) = node_pasts(lake, START + days * DAY_US)
    return {gpu.uuid: gpu for gpu in past.gpus}[uuid]


def test_errors_by_day_and_events_split_by_an_hour_of_quiet(lake: Lake, place: Place) -> None:
    at = [(0, 0), (1, 20), (1.5, 40), (3, 60), (20, 60), (30, 65), (50, 75)]
    past = past_of(lake, place, [scrape(int(h * HOUR), {"310": float(n)}) for h, n in at])
    assert past.days == {DAY0: 60.0, DAY0 + 1: 5.0, DAY0 + 2: 10.0}
    assert past.events == {DAY0: 2, DAY0 + 2: 1}
    assert past.seen_days == 3


def test_both_counters_of_an_error_count_it_once_and_a_reload_adds_nothing(lake: Lake, place: Place) -> None:
    at = [(0, 5, 900), (600, 25, 920), (1200, 0, 920), (1800, 7, 927)]
    past = past_of(lake, place, [scrape(s * S, {"310": float(v), "312": float(a)}) for s, v, a in at])
    assert past.days == {DAY0: 27.0}


def test_a_sentinel_and_what_cannot_be_read_are_no_errors(lake: Lake, place: Place) -> None:
    readings: list[float | None] = [0.0, 2147483632.0, None, 12.0]
    past = past_of(lake, place, [scrape(i * 60 * S, {"310": n}) for i, n in enumerate(readings)])
    assert past.days == {DAY0: 12.0}
    assert past.events == {DAY0: 1}


def test_two_sources_of_one_counter_count_it_once(lake: Lake, place: Place) -> None:
    scrapes = [
        scrape(i * 60 * S + j, {"310": 15.0 * i}, source=source)
        for i in range(3)
        for j, source in enumerate(("dcgm-exporter", "nvml"))
    ]
    past = past_of(lake, place, scrapes)
    assert (past.days, past.events) == ({DAY0: 30.0}, {DAY0: 1})


def test_mig_instances_and_repeated_loads_count_once(lake: Lake, place: Place) -> None:
    parts = [Gpu(uuid="GPU-a", index=0, mig=f"1g.10gb/{i}") for i in range(3)]
    scrapes = [scrape(i * 60 * S, {}, gpus=parts, columns={"312": [11.0 * i] * 3}) for i in range(3)]
    past = past_of(lake, place, [*scrapes, *scrapes], days=1)
    assert past.days == {DAY0: 22.0}


def test_row_remaps_stand_as_at_the_end_of_each_day(lake: Lake, place: Place) -> None:
    at = [(0, 1), (20, 2), (23, 3), (30, 3), (50, 5)]
    past = past_of(lake, place, [scrape(h * HOUR, {"394": float(n)}) for h, n in at])
    assert past.correctable_remaps == {DAY0: 3.0, DAY0 + 1: 3.0, DAY0 + 2: 5.0}
    assert past.days == {}


def test_a_sound_gpu_is_told_with_its_days_and_the_fleets_rates(lake: Lake, place: Place) -> None:
    scrapes = [scrape(h * HOUR, {"310": 50.0 * (h > 2)}) for h in (0, 1, 3, 25, 49)]
    other = scrape(5 * HOUR, {"310": 0.0}, node="n2", gpus=[Gpu(uuid="GPU-c"), Gpu(uuid="GPU-d")])
    write(lake, [(GPU_SCRAPES, [*scrapes, other])], place=place)
    first, second = node_pasts(lake, START + 3 * DAY_US)
    assert (first.node, second.node) == ("n1", "n2")
    assert first.gpus[1] == GpuPast(uuid="GPU-b", seen_days=3)
    for past in (first, second):
        assert (past.fleet_gpu_days, past.fleet_events, past.fleet_event_days) == (8.0, 1.0, 1.0)


def test_a_gpu_that_moved_is_told_of_the_node_that_has_it_now(lake: Lake, place: Place) -> None:
    here = [scrape(h * HOUR, {"312": 30.0 * h}) for h in (0, 1)]
    there = [scrape(h * HOUR, {"312": 30.0}, node="n9") for h in (30, 31)]
    write(lake, [(GPU_SCRAPES, [*here, *there])], place=place)
    (past,) = node_pasts(lake, START + 2 * DAY_US)
    assert past.node == "n9"
    assert past.gpus[0].days == {DAY0: 30.0}


def test_an_empty_warehouse_tells_nothing(lake: Lake) -> None:
    assert node_pasts(lake, START) == list[NodePast]()


@pytest.mark.parametrize("late_days", [28, 40])
def test_what_is_older_than_the_window_is_left_out(lake: Lake, place: Place, late_days: int) -> None:
    scrapes = [scrape(h * HOUR, {"310": 50.0 * h}) for h in (0, 1)]
    write(lake, [(GPU_SCRAPES, scrapes)], place=place)
    assert node_pasts(lake, START + late_days * DAY_US + 1) == []


def test_memory_that_is_bounded_changes_nothing_whatever_the_cluster(lake: Lake, place: Place) -> None:
    """A UUID of an exporter that tells none is the node's name and a number: it may stand in two clusters."""
    scrapes = [
        scrape(
            h * HOUR, {"310": grown * h, "394": float(h)}, cluster=cluster, gpus=[Gpu(uuid="n1/gpu0"), Gpu(uuid=own)]
        )
        for cluster, own, grown in (("east", "GPU-e", 20.0), ("west", "GPU-w", 30.0))
        for h in range(5)
    ]
    both = [structs.replace(one, columns={field: [v[0], v[0]] for field, v in one.columns.items()}) for one in scrapes]
    write(lake, [(GPU_SCRAPES, both)], place=place)
    end_us = START + DAY_US
    by_one = node_pasts(lake, end_us, most=1)
    assert [(past.cluster, [gpu.days for gpu in past.gpus]) for past in by_one] == [
        ("east", [{DAY0: 80.0}, {DAY0: 80.0}]),
        ("west", [{DAY0: 120.0}, {DAY0: 120.0}]),
    ]
    assert by_one == node_pasts(lake, end_us)


def test_days_of_the_whole_window_are_counted(lake: Lake, place: Place) -> None:
    write(lake, [(GPU_SCRAPES, [scrape(d * DAY_US, {"310": 0.0}) for d in (0, 1, 40, 63)])], place=place)
    (past,) = node_pasts(lake, START + 64 * DAY_US - 1, days=64)
    assert [gpu.seen_days for gpu in past.gpus] == [4, 4]
