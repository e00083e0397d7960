"""Scrapes that come whole, in pieces, late, twice, from a pair of senders, and while Kafka is away."""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract.gpu import GpuScrape
from collectors.contract.job import StepReport
from collectors.contract.topics import GPU_SCRAPES, JOB_STEPS
from collectors.dcgm.exposition import show_series
from collectors.dcgm.page import PageReader
from collectors.remote_write.pushed import read_v1
from collectors.remote_write.receiver import OTHER_REPLICA, WAIT_S, Receiver
from collectors.remote_write.series import SeriesBook
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.remote_write_bodies import CLOCK, STALE, T_MS, TEMP, Sample, gpu, scrape, v1

S = 1000


class Site:
    """A receiver whose clock and Kafka are in the test's hands."""

    def __init__(self, cluster_label: str | None = None) -> None:
        self.now_s = 0.0
        self.outlet = ListOutlet()
        self.book = SeriesBook(cluster_label)
        self.receiver = Receiver(self.outlet, "c", now_s=lambda: self.now_s)

    def push(self, samples: Iterable[Sample]) -> bool:
        return asyncio.run(self.receiver.accept(read_v1(v1(samples), self.book)))

    def flush(self) -> None:
        asyncio.run(self.receiver.flush())

    def tick(self) -> None:
        asyncio.run(self.receiver.tick())

    def learned(self, samples: Iterable[Sample] | None = None) -> "Site":
        """The target's series are known: its scrapes from now on are whole at once."""
        self.push(scrape(T_MS - 15 * S, 1.0) if samples is None else samples)
        self.flush()
        self.outlet.published.clear()
        return self

    def told(self) -> list[tuple[int, bool, dict[str, list[float | None]]]]:
        """Seconds since T, whether it is a piece, and the columns."""
        return [((m.ts_us // 1000 - T_MS) // S, m.part, m.columns) for m in self.outlet.of(GPU_SCRAPES)]


def columns(value: float) -> dict[str, list[float]]:
    return {"150": [value, value + 1], "100": [value + 1000, value + 1001]}


def test_a_whole_scrape_is_one_message_with_its_own_time() -> None:
    site = Site().learned()
    assert site.push(scrape(T_MS, 40.0))
    (message,) = site.outlet.of(GPU_SCRAPES)
    assert (message.node, message.ts_us, message.cluster, message.part) == ("n1", T_MS * 1000, "c", False)
    assert message.columns == columns(40.0)
    assert [(g.uuid, g.index, g.pci) for g in message.gpus] == [
        ("GPU-n1-0", 0, "0000:1a:00"),
        ("GPU-n1-1", 1, "0000:1b:00"),
    ]


def test_the_message_is_the_one_that_the_exporters_page_makes() -> None:
    samples = [
        *scrape(T_MS, 40.5, pod="p", namespace="a", container="c"),
        ("DCGM_FI_DEV_XID_ERRORS", {**gpu(0), "err_code": "31", "err_msg": 'MMU "fault"\nat 0'}, 31.0, T_MS),
        ("DCGM_EXP_CLOCK_EVENTS_COUNT", {**gpu(1), "clock_event": "sw_thermal", "window_size_in_ms": "1"}, 2.0, T_MS),
        ("DCGM_FI_DEV_POWER_USAGE", gpu(0), 140737488355328.0, T_MS),
    ]
    site = Site()
    site.push(samples)
    site.flush()

    page = "".join(f"{show_series(name, dict(labels))} {value}\n" for name, labels, value, _ in samples)
    parsed = PageReader("n1", "c").read(page.encode(), T_MS * 1000)
    assert [m for m in site.outlet.of(GPU_SCRAPES) if not m.part] == parsed.scrapes


def test_of_a_scrape_in_pieces_kafka_gets_each_piece_as_it_comes_and_then_the_whole() -> None:
    site, samples = Site().learned(), scrape(T_MS, 40.0)
    assert site.push(samples[:3])
    assert site.told() == [(0, True, {"150": [40.0, 41.0], "100": [1040.0, None]})]
    assert site.push(samples[3:])
    assert site.told()[1:] == [(0, False, columns(40.0))]
    site.flush()
    assert len(site.told()) == 2


def test_a_piece_without_any_reading_of_a_column_does_not_have_the_column() -> None:
    site, samples = Site().learned(), scrape(T_MS, 40.0)
    site.push(samples[:2])
    assert site.told() == [(0, True, {"150": [40.0, 41.0]})]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)])
def test_shards_may_send_the_pieces_of_two_scrapes_in_any_order(order: Sequence[int]) -> None:
    site = Site().learned()
    first, second = scrape(T_MS, 40.0), scrape(T_MS + 15 * S, 50.0)
    for shard in order:
        site.push([first[shard], second[shard]])
    assert [one for one in site.told() if not one[1]] == [(0, False, columns(40.0)), (15, False, columns(50.0))]


def test_the_first_scrape_of_a_target_is_whole_once_nothing_more_came_for_a_while() -> None:
    site = Site()
    site.push(scrape(T_MS, 40.0))
    site.tick()
    assert [part for _, part, _ in site.told()] == [True]
    site.now_s = WAIT_S
    site.tick()
    assert site.told()[1:] == [(0, False, columns(40.0))]


def test_a_piece_whose_rest_never_comes_is_told_before_the_next_whole_scrape() -> None:
    site = Site().learned()
    site.push(scrape(T_MS, 40.0)[:3])
    site.push(scrape(T_MS + 15 * S, 50.0))
    assert [one for one in site.told() if not one[1]] == [
        (0, False, {"150": [40.0, 41.0], "100": [1040.0, None]}),
        (15, False, columns(50.0)),
    ]


def test_what_comes_to_a_whole_scrape_late_is_a_message_of_the_same_time_and_is_awaited_from_then_on() -> None:
    site, more = Site().learned(), ("DCGM_FI_DEV_FB_USED", gpu(0), 7.0, T_MS)
    site.push(scrape(T_MS, 40.0))
    site.push([more])
    assert site.told() == [(0, False, columns(40.0)), (0, False, {"252": [7.0]})]
    site.outlet.published.clear()
    site.push(scrape(T_MS + 15 * S, 40.0))
    assert [part for _, part, _ in site.told()] == [True]
    site.push([("DCGM_FI_DEV_FB_USED", gpu(0), 7.0, T_MS + 15 * S)])
    assert site.told()[1:] == [(15, False, {**columns(40.0), "252": [7.0, None]})]


def test_many_scrapes_without_their_rest_do_not_pile_up() -> None:
    site = Site()
    for number in range(40):
        site.push(scrape(T_MS + number * S, float(number))[: 2 + number % 2])
    assert all(len(target.open) <= 8 for target in site.receiver.targets.values())
    site.flush()
    whole = [ts for ts, part, _ in site.told() if not part]
    assert whole == sorted(whole) == list(range(40))


def test_a_request_that_is_sent_again_changes_nothing() -> None:
    site = Site().learned()
    for _ in range(2):
        assert site.push(scrape(T_MS, 40.0))
    assert len(site.told()) == 1


def test_a_series_that_ended_is_no_longer_part_of_the_scrape() -> None:
    site = Site().learned()
    ended = [(name, gpu(1), STALE, T_MS) for name in (TEMP, CLOCK)]
    site.push([*scrape(T_MS, 40.0, gpus=[0]), *ended])
    site.push(scrape(T_MS + 15 * S, 50.0, gpus=[0]))
    assert site.told() == [
        (0, False, {"150": [40.0], "100": [1040.0]}),
        (15, False, {"150": [50.0], "100": [1050.0]}),
    ]


def test_a_target_whose_series_all_ended_is_no_scrape_without_gpus() -> None:
    site = Site().learned()
    assert site.push([(name, gpu(index), STALE, T_MS) for name in (TEMP, CLOCK) for index in range(2)])
    assert site.told() == []
    assert [target.gone for target in site.receiver.targets.values()] == [True]
    site.push(scrape(T_MS + 15 * S, 50.0))
    assert site.told() == [(15, False, columns(50.0))]
    assert [target.gone for target in site.receiver.targets.values()] == [False]


def test_labels_that_change_make_a_scrape_of_the_new_series_alone() -> None:
    site = Site().learned()
    ended = [(name, labels, STALE, T_MS) for name, labels, _, _ in scrape(T_MS)]
    site.push([*scrape(T_MS, 40.0, pod="fresh"), *ended])
    site.now_s = WAIT_S
    site.tick()
    assert [one for one in site.told() if not one[1]] == [(0, False, columns(40.0))]
    assert [g.pod for g in site.outlet.of(GPU_SCRAPES)[-1].gpus] == ["fresh", "fresh"]


def test_nothing_is_acknowledged_or_kept_while_kafka_is_away_and_all_arrives_when_it_is_sent_again() -> None:
    site, first, second = Site().learned(), scrape(T_MS, 40.0), scrape(T_MS + 15 * S, 50.0)
    site.outlet.away = True
    assert not site.push(first)
    assert not site.push(second[:3])
    site.flush()
    assert site.told() == []
    site.outlet.away = False
    assert site.push(first)
    assert site.push(second[:3])
    assert site.push(second[3:])
    assert [one for one in site.told() if not one[1]] == [(0, False, columns(40.0)), (15, False, columns(50.0))]


def test_a_scrape_whose_rest_does_not_come_waits_until_kafka_takes_it_and_goes_to_disk_only_at_the_end() -> None:
    site = Site().learned()
    site.push(scrape(T_MS, 40.0)[:3])
    site.now_s, site.outlet.away = WAIT_S, True
    site.tick()
    assert [part for _, part, _ in site.told()] == [True]
    site.outlet.away = False
    site.tick()
    assert [part for _, part, _ in site.told()] == [True, False]
    site.push(scrape(T_MS + 15 * S, 50.0)[:2])
    site.outlet.away = True
    site.flush()
    assert [(ts, part) for ts, part, _ in site.told()][2:] == [(15, True), (15, False)]


def test_a_whole_that_kafka_did_not_take_is_told_again_with_the_piece_that_is_sent_again() -> None:
    site, samples = Site().learned(), scrape(T_MS, 40.0)
    assert site.push(samples[:3])
    site.outlet.away = True
    assert not site.push(samples[3:])
    site.outlet.away = False
    assert site.push(samples[3:])
    assert [one for one in site.told() if not one[1]] == [(0, False, columns(40.0))]


def test_of_a_pair_of_senders_one_is_heard_and_the_other_takes_over_when_it_is_silent() -> None:
    site = Site().learned(scrape(T_MS - S, prometheus_replica="a"))
    site.push(scrape(T_MS, 40.0, prometheus_replica="a"))
    assert site.push(scrape(T_MS + 1 * S, 40.0, prometheus_replica="b"))
    assert [ts for ts, *_ in site.told()] == [0]
    assert site.receiver.ignored[OTHER_REPLICA] == 4
    site.now_s = 31.0
    site.push(scrape(T_MS + 31 * S, 40.0, prometheus_replica="b"))
    site.push(scrape(T_MS + 32 * S, 40.0, prometheus_replica="a"))
    site.flush()
    assert [ts for ts, part, _ in site.told() if not part] == [0, 31]


def test_a_label_may_name_the_cluster() -> None:
    site = Site("region")
    site.push([*scrape(T_MS, 40.0, region="east"), *scrape(T_MS, 50.0, region="west"), *scrape(T_MS, 60.0, "n9")])
    site.flush()
    whole = [m for m in site.outlet.of(GPU_SCRAPES) if not m.part]
    assert sorted((m.cluster, m.node) for m in whole) == [("c", "n9"), ("east", "n1"), ("west", "n1")]


def test_a_target_that_names_no_host_is_called_by_its_address() -> None:
    site = Site()
    bare = [
        (name, {k: v for k, v in labels.items() if k != "Hostname"}, value, ts)
        for name, labels, value, ts in scrape(T_MS)
    ]
    site.push(bare)
    site.flush()
    assert [m.node for m in site.outlet.of(GPU_SCRAPES)] == ["n1", "n1"]


def test_targets_that_are_silent_for_an_hour_are_forgotten() -> None:
    site = Site().learned()
    site.now_s = 3601.0
    site.tick()
    assert site.receiver.targets == {}


def held(site: Site) -> set[tuple[int, str, str, float | None]]:
    """(microseconds, field, GPU, value) that Kafka has, pieces included."""
    return {
        (m.ts_us, name, part.uuid, value)
        for m in site.outlet.of(GPU_SCRAPES)
        for name, values in m.columns.items()
        for part, value in zip(m.gpus, values, strict=True)
    }


@given(
    cuts=st.sets(st.integers(1, 19)),
    failures=st.sets(st.integers(0, 19)),
    again=st.sets(st.integers(0, 19)),
    learned=st.booleans(),
)
def test_however_requests_are_cut_fail_and_are_sent_again_each_scrape_is_told_whole_once_and_in_order(
    cuts: set[int], failures: set[int], again: set[int], learned: bool
) -> None:
    site = Site().learned() if learned else Site()
    samples = [one for number in range(5) for one in scrape(T_MS + number * 15 * S, float(number * 10))]
    edges = [0, *sorted(cuts), len(samples)]
    for number, (first, last) in enumerate(pairwise(edges)):
        request = samples[first:last]
        site.outlet.away = number in failures
        assert site.push(request) == (number not in failures)
        site.outlet.away = False
        for _ in range((number in failures) + (number in again)):
            assert site.push(request)
        ids = {TEMP: "150", CLOCK: "100"}
        assert {(ts * 1000, ids[name], labels["UUID"], value) for name, labels, value, ts in request} <= held(site)
    site.flush()
    assert [one for one in site.told() if not one[1]] == [(15 * n, False, columns(n * 10.0)) for n in range(5)]


def megatron(count: float, total_ms: float, ts_ms: int = T_MS, **more: str) -> list[Sample]:
    labels = {"job": "train", "instance": "n7:9464", "nemo_run_id": "run-1", **more}
    name = "megatron_training_step_duration_ms_milliseconds"
    return [
        (f"{name}_sum", labels, total_ms, ts_ms),
        (f"{name}_count", labels, count, ts_ms),
        (f"{name}_bucket", {**labels, "le": "+Inf"}, count, ts_ms),
        ("megatron_training_throughput_tflops", labels, 402.5, ts_ms),
    ]


def test_megatrons_metrics_are_the_mean_step_of_each_log_interval() -> None:
    site = Site()
    for number, (count, total_ms) in enumerate([(10, 20_000.0), (10, 20_000.0), (12, 26_000.0), (1, 1_500.0)]):
        assert site.push(megatron(count, total_ms, T_MS + number * 15 * S))
    reports: list[StepReport] = site.outlet.of(JOB_STEPS)
    assert [(r.job, r.node, r.rank, r.step, r.step_s, r.tflops_per_gpu) for r in reports] == [
        ("run-1", "n7", [0], [12], [3.0], [402.5]),
        ("run-1", "n7", [0], [1], [1.5], [402.5]),
    ]


def test_a_log_interval_that_kafka_did_not_take_is_told_when_it_is_sent_again() -> None:
    site = Site()
    site.push(megatron(10, 20_000.0))
    site.outlet.away = True
    assert not site.push(megatron(12, 26_000.0, T_MS + S))
    site.outlet.away = False
    assert site.push(megatron(12, 26_000.0, T_MS + S))
    assert [r.step_s for r in site.outlet.of(JOB_STEPS)] == [[3.0]]


def test_a_gpu_scrape_is_no_part_unless_it_says_so() -> None:
    assert not GpuScrape(ts_us=0, node="n", gpus=[]).part
