"""OTLP metrics into the same scrapes: what the Collector scraped, and what a job exports itself."""

import asyncio
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from collectors.contract.topics import GPU_SCRAPES, JOB_STEPS
from collectors.otlp.metrics import DELTA, NO_TIME, read_otlp
from collectors.remote_write.pushed import BadBody, read_v1
from collectors.remote_write.receiver import Receiver
from collectors.remote_write.series import NOT_OURS, SeriesBook
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.otlp_bodies import otlp
from tests.collectors.remote_write_bodies import STALE, T_MS, TEMP, gpu, scrape, v1

CUMULATIVE, PER_EXPORT = 2, 1


def resource(request: ExportMetricsServiceRequest, **texts: str) -> Any:
    part = request.resource_metrics.add()
    for key, text in texts.items():
        part.resource.attributes.add(key=key.replace("__", ".")).value.string_value = text
    return part.scope_metrics.add().metrics


def step(metrics: Any, count: int, total_ms: float, ts_ms: int, temporality: int = CUMULATIVE) -> None:
    histogram = metrics.add(name="megatron.training.step_duration_ms").histogram
    histogram.aggregation_temporality = temporality
    histogram.data_points.add(time_unix_nano=ts_ms * 1_000_000, count=count, sum=total_ms)
    metrics.add(name="megatron.training.throughput_tflops").gauge.data_points.add(
        time_unix_nano=ts_ms * 1_000_000, as_double=402.0
    )
    metrics.add(name="megatron.training.loss").gauge.data_points.add(time_unix_nano=ts_ms * 1_000_000, as_double=2.0)


def test_a_scrape_of_the_collector_is_the_scrape_that_prometheus_would_push() -> None:
    samples = [*scrape(T_MS, 40.0, pod="p", namespace="a"), ("DCGM_FI_DEV_XID_ERRORS", gpu(0), 31.0, T_MS)]
    found = []
    for body, read in ((otlp(samples), read_otlp), (v1(samples), read_v1)):
        outlet, book = ListOutlet(), SeriesBook()
        receiver = Receiver(outlet, "c")
        asyncio.run(receiver.accept(read(body, book)))
        asyncio.run(receiver.flush())
        found.append(outlet.of(GPU_SCRAPES)[-1])
    assert found[0] == found[1]


def test_no_recorded_value_is_the_end_of_a_series() -> None:
    pushed = read_otlp(otlp([(TEMP, gpu(0), STALE, T_MS), (TEMP, gpu(1), 0.0, T_MS)]), SeriesBook())
    assert [[s.labels["gpu"] for s in ended] for ended in pushed.ended.values()] == [["0"]]
    assert [[*cells.values()] for cells in pushed.scrapes.values()] == [[0.0]]


def test_whole_numbers_and_sums_are_values_too() -> None:
    request = ExportMetricsServiceRequest()
    metrics = resource(request, service__name="dcgm", service__instance__id="n1:9400")
    energy = metrics.add(name="DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION").sum
    energy.aggregation_temporality = CUMULATIVE
    point = energy.data_points.add(time_unix_nano=T_MS * 1_000_000, as_int=7)
    point.attributes.add(key="gpu").value.string_value = "0"
    (cells,) = read_otlp(request.SerializeToString(), SeriesBook()).scrapes.values()
    assert [*cells.values()] == [7.0]


def test_what_has_no_time_no_name_of_ours_or_no_total_is_counted() -> None:
    request = ExportMetricsServiceRequest()
    metrics = resource(request, service__name="dcgm")
    metrics.add(name=TEMP).gauge.data_points.add(as_double=1.0)
    metrics.add(name="http.server.duration").gauge.data_points.add(as_double=1.0, time_unix_nano=1)
    metrics.add(name="nothing.at.all")
    step(metrics, 1, 1.0, T_MS, PER_EXPORT)
    pushed = read_otlp(request.SerializeToString(), SeriesBook())
    assert dict(pushed.ignored) == {NO_TIME: 1, NOT_OURS: 2, DELTA: 1}


def test_megatrons_export_is_the_mean_step_of_each_log_interval_of_its_run_and_host() -> None:
    outlet, book = ListOutlet(), SeriesBook()
    receiver = Receiver(outlet, "c")
    for number, (count, total_ms) in enumerate([(10, 20_000.0), (12, 26_000.0)]):
        request = ExportMetricsServiceRequest()
        metrics = resource(request, service__name="train", nemo__run__id="run-1", host__name="n7", rank="255")
        step(metrics, count, total_ms, T_MS + number * 60_000)
        asyncio.run(receiver.accept(read_otlp(request.SerializeToString(), book)))
    (report,) = outlet.of(JOB_STEPS)
    assert (report.job, report.node, report.rank, report.step) == ("run-1", "n7", [255], [12])
    assert (report.step_s, report.tflops_per_gpu, report.ts_us) == ([3.0], [402.0], (T_MS + 60_000) * 1000)


def test_what_is_no_request_is_told() -> None:
    with pytest.raises(BadBody, match="not an ExportMetricsServiceRequest"):
        read_otlp(b"\x0a\xff", SeriesBook())
