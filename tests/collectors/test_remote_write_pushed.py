"""Bodies of remote write into samples by scrape."""

import re
import struct
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.remote_write import wire
from collectors.remote_write.pushed import BadBody, Pushed, read_v1, read_v2
from collectors.remote_write.series import EXEMPLAR, HISTOGRAM, NOT_OURS, SeriesBook, kind_of
from tests.collectors.remote_write_bodies import CLOCK, STALE, T_MS, TEMP, Sample, gpu, scrape, v1, v2

Make = Callable[[Iterable[Sample]], bytes]
Read = Callable[[bytes, SeriesBook], Pushed]
BOTH = pytest.mark.parametrize(("make", "read"), [(v1, read_v1), (v2, read_v2)], ids=["1.0", "2.0"])


def shown(pushed: Pushed) -> dict[tuple[str, int], dict[tuple[str, str], float | None]]:
    return {
        (source.name, ts_ms): {(series.name, series.labels["gpu"]): value for series, value in cells.items()}
        for (source, ts_ms), cells in pushed.scrapes.items()
    }


@BOTH
def test_samples_are_grouped_by_target_and_time(make: Make, read: Read) -> None:
    pushed = read(make([*scrape(T_MS, 40.0), *scrape(T_MS, 50.0, "n2", [0]), *scrape(T_MS + 1, 41.0)]), SeriesBook())
    assert shown(pushed) == {
        ("dcgm/n1:9400", T_MS): {(TEMP, "0"): 40.0, (TEMP, "1"): 41.0, (CLOCK, "0"): 1040.0, (CLOCK, "1"): 1041.0},
        ("dcgm/n2:9400", T_MS): {(TEMP, "0"): 50.0, (CLOCK, "0"): 1050.0},
        ("dcgm/n1:9400", T_MS + 1): {(TEMP, "0"): 41.0, (TEMP, "1"): 42.0, (CLOCK, "0"): 1041.0, (CLOCK, "1"): 1042.0},
    }
    assert pushed.samples == 10


@BOTH
@given(values=st.lists(st.tuples(st.floats(), st.integers(0, 3), st.integers(1, 1 << 45)), max_size=30))
def test_a_series_that_is_known_is_read_as_one_that_is_new(
    make: Make, read: Read, values: list[tuple[float, int, int]]
) -> None:
    body = make([(TEMP, gpu(index), value, ts_ms) for value, index, ts_ms in values])
    book = SeriesBook()
    first, again = read(body, book), read(body, book)
    assert repr(again) == repr(first)
    assert again.samples == len(values)


@BOTH
def test_nan_is_not_readable_and_the_stale_nan_is_the_end_of_a_series(make: Make, read: Read) -> None:
    book = SeriesBook()
    for _ in range(2):
        pushed = read(
            make([(TEMP, gpu(0), STALE, T_MS), (TEMP, gpu(1), float("nan"), T_MS), (TEMP, gpu(2), 0.0, T_MS)]), book
        )
        assert shown(pushed) == {("dcgm/n1:9400", T_MS): {(TEMP, "1"): None, (TEMP, "2"): 0.0}}
        assert [[s.labels["gpu"] for s in ended] for ended in pushed.ended.values()] == [["0"]]


@BOTH
def test_what_is_nobodys_business_is_counted_and_passed_over(make: Make, read: Read) -> None:
    pushed = read(make([("up", gpu(0), 1.0, T_MS), ("node_load1", {}, 1.0, T_MS), *scrape(T_MS, 1.0)]), SeriesBook())
    assert (pushed.samples, dict(pushed.ignored)) == (6, {NOT_OURS: 2})
    assert len(pushed.scrapes) == 1


def test_histograms_and_exemplars_are_counted_and_passed_over() -> None:
    pushed = read_v1(v1(scrape(T_MS, 1.0, gpus=[0]), histograms=[b""], exemplars=[b""]), SeriesBook())
    assert (pushed.samples, pushed.histograms, pushed.exemplars) == (2, 2, 2)
    assert dict(pushed.ignored) == {HISTOGRAM: 2, EXEMPLAR: 2}


def test_a_series_with_many_samples_has_one_for_each_time() -> None:
    one = wire.TimeSeries.FromString(wire.WriteRequest.FromString(v1(scrape(T_MS, 1.0, gpus=[0]))).timeseries[0])
    one.samples.add(value=2.0, timestamp=T_MS + 15_000)
    pushed = read_v1(wire.WriteRequest(timeseries=[one.SerializeToString()]).SerializeToString(), SeriesBook())
    assert [ts_ms for _, ts_ms in pushed.scrapes] == [T_MS, T_MS + 15_000]


def test_metadata_after_the_sample_is_no_part_of_it() -> None:
    request = wire.RequestV2.FromString(v2(scrape(T_MS, 1.0)))
    metadata = b"\x2a\x04\x08\x02\x18\x01"
    fresh = wire.RequestV2(symbols=request.symbols, timeseries=[raw + metadata for raw in request.timeseries])
    plain, told = (read_v2(r.SerializeToString(), SeriesBook()) for r in (request, fresh))
    assert shown(plain) == shown(told)


def test_order_of_fields_in_a_series_does_not_matter() -> None:
    raws = wire.WriteRequest.FromString(v1(scrape(T_MS, 7.0, gpus=[0]))).timeseries
    turned = [raw[-18:] + raw[:-18] for raw in raws]
    book = SeriesBook()
    for _ in range(2):
        pushed = read_v1(wire.WriteRequest(timeseries=turned).SerializeToString(), book)
        assert shown(pushed) == {("dcgm/n1:9400", T_MS): {(TEMP, "0"): 7.0, (CLOCK, "0"): 1007.0}}


@pytest.mark.parametrize(
    ("read", "body", "why"),
    [
        (read_v1, b"\x0a\xff", "not a prometheus.WriteRequest"),
        (read_v1, wire.WriteRequest(timeseries=[b"\x0a\x05abc"]).SerializeToString(), "not a prometheus.WriteRequest"),
        (read_v1, v1([("", {"a": "b"}, 1.0, 1)]), "has no name"),
        (read_v1, v1([(TEMP, gpu(0), 1.0, 1 << 60)]), "no time in milliseconds"),
        (read_v1, v1([(TEMP, gpu(0), 1.0, -1)]), "no time in milliseconds"),
        (read_v2, b"\xff", "not an io.prometheus.write.v2.Request"),
        (read_v2, wire.RequestV2(symbols=[b"x"]).SerializeToString(), "first symbol is not empty"),
        (read_v2, wire.RequestV2(symbols=[b""], timeseries=[b"\x0a\x02\x00\x09"]).SerializeToString(), "not there"),
        (
            read_v2,
            wire.RequestV2(symbols=[b""], timeseries=[b"\x0a\x01\x00\x12\x00"]).SerializeToString(),
            "odd number",
        ),
    ],
)
def test_a_body_that_is_not_what_it_says_is_told(read: Read, body: bytes, why: str) -> None:
    with pytest.raises(BadBody, match=re.escape(why)):
        read(body, SeriesBook())


def test_a_label_that_is_no_utf_8_is_told() -> None:
    one = wire.TimeSeries()
    one.labels.add(name=b"__name__", value=b"\xff\xfe")
    one.samples.add(value=1.0, timestamp=1)
    with pytest.raises(BadBody, match="not UTF-8"):
        read_v1(wire.WriteRequest(timeseries=[one.SerializeToString()]).SerializeToString(), SeriesBook())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (TEMP, "gpu"),
        ("dcgm_fi_dev_sm_clock", "gpu"),
        ("DCGM_EXP_XID_ERRORS_COUNT", "gpu"),
        ("job:DCGM_FI_DEV_GPU_TEMP:max", None),
        ("megatron_training_step_duration_ms_milliseconds_sum", "job"),
        ("megatron_training_step_duration_ms_milliseconds_bucket", None),
        ("megatron.training.throughput_tflops", "job"),
        ("megatron_training_loss", None),
        ("up", None),
    ],
)
def test_metrics_are_recognised_by_name(name: str, kind: str | None) -> None:
    assert kind_of(name) == kind


def test_what_is_known_is_bounded() -> None:
    book = SeriesBook(most=3)
    for host in ("n1", "n2", "n3"):
        assert read_v1(v1(scrape(T_MS, 1.0, host)), book).samples == 4
        assert len(book.known) <= 3


def test_metrics_of_one_gpu_share_their_labels() -> None:
    book = SeriesBook()
    (cells,) = read_v1(v1(scrape(T_MS, gpus=[0])), book).scrapes.values()
    first, second = cells
    assert first.labels is second.labels


def test_the_proto_file_and_the_descriptors_say_the_same() -> None:
    text = re.sub(r"//.*", "", Path(wire.__file__).with_name("remote_write_lean.proto").read_text())
    written = {
        name: [line.strip(" ;") for line in body.splitlines() if line.strip()]
        for name, body in re.findall(r"message (\w+) \{(.*?)\n\}", text, re.DOTALL)
    }
    assert written == wire.MESSAGES


def test_the_stale_nan_keeps_its_bits_on_its_way() -> None:
    assert struct.pack("<d", STALE) == struct.pack("<Q", 0x7FF0000000000002)
