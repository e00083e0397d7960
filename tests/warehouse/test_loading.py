"""The loader's loop, fed by lists."""

import threading
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from collectors.contract.beat import Rejected
from collectors.contract.topics import COLLECTOR_BEATS, GPU_SCRAPES
from tests.warehouse.messages import T0, gpu_scrape, one_of_each
from warehouse.feed import Arrived
from warehouse.loading import Loading, Stopped
from warehouse.offsets import AnotherLoader, Stored, read_offsets
from warehouse.opening import connect
from warehouse.place import Place
from warehouse.rejects import Rejects
from warehouse.settings import WarehouseSettings


class Listed:
    """A feed of one list."""

    def __init__(self, records: list[Arrived]) -> None:
        self.records = records
        self.ids: dict[str, str | None] = {GPU_SCRAPES.name: "id-1"}

    def take(self, most: int, wait_s: float) -> list[Arrived]:
        del wait_s
        taken, self.records = self.records[:most], self.records[most:]
        return taken

    def refresh(self) -> None:
        """Nothing new ever comes."""

    def exhausted(self) -> bool:
        return not self.records

    def behind(self) -> int:
        return len(self.records)


class Kept:
    """Reports that stay here."""

    def __init__(self) -> None:
        self.reports: list[Rejected] = []

    def report(self, reports: list[Rejected]) -> int:
        self.reports += reports
        return 0

    def send(self, topic: str, key: str, value: bytes) -> None:
        raise AssertionError((topic, key, value))


Begin = Callable[[list[Arrived]], Loading]


@pytest.fixture
def begin(lake: duckdb.DuckDBPyConnection, settings: WarehouseSettings, place: Place) -> Begin:
    def make(records: list[Arrived]) -> Loading:
        return Loading(
            place=place,
            open_lake=lambda: connect(read_only=False, settings=settings),
            connection=lake,
            feed=Listed(records),
            reporter=Kept(),
            rejects=Rejects("default"),
            committed=read_offsets(lake),
            tell=lambda text: None,
            stop=threading.Event(),
            until_end=True,
        )

    return make


def arrived(offset: int, raw: bytes | None = None, topic: str = GPU_SCRAPES.name) -> Arrived:
    message = gpu_scrape(T0 + offset * 1_000_000)
    return Arrived(topic, 0, offset, GPU_SCRAPES.encode(message) if raw is None else raw)


def stored_rows(lake: duckdb.DuckDBPyConnection) -> int:
    return int(lake.execute("select count(*) from gpu_scrapes").fetchall()[0][0])


def reports(loading: Loading) -> list[Rejected]:
    assert isinstance(loading.reporter, Kept)
    return loading.reporter.reports


def test_rows_and_next_offsets_are_stored_together(begin: Begin, lake: duckdb.DuckDBPyConnection) -> None:
    begin([arrived(0), arrived(1)]).run()
    assert stored_rows(lake) == 4
    assert read_offsets(lake) == {(GPU_SCRAPES.name, 0): Stored(2, "id-1")}


def test_every_topic_goes_through(begin: Begin, lake: duckdb.DuckDBPyConnection) -> None:
    loading = begin([Arrived(topic.name, 0, 7, topic.encode(message)) for topic, message in one_of_each()])
    loading.run()
    assert (loading.counts.messages, loading.counts.bad) == (15, 0)
    assert {there.next_offset for there in read_offsets(lake).values()} == {8}
    assert len(read_offsets(lake)) == 15


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "Input data was truncated"),
        (b"\xff\xfe", "JSON is malformed"),
        (b"[1,2]", "Expected `object`, got `array`"),
        (b'{"node":"n1","ts_us":"soon","gpus":[]}', "Expected `int`, got `str`"),
        (b'{"a":' * 100_000, "recursion"),
        (b'{"node":"n1","ts_us":5,"gpus":[],"columns":{"100":[1]}}', "column 100 has 1 values for 0 rows"),
        (b'{"node":"n1","ts_us":-5,"gpus":[]}', "Expected `int` >= 0"),
    ],
)
def test_bad_bytes_are_reported_and_passed(begin: Begin, lake: duckdb.DuckDBPyConnection, raw: bytes, why: str) -> None:
    loading = begin([arrived(0), arrived(1, raw), arrived(2)])
    loading.run()
    (report,) = reports(loading)
    assert why.lower() in report.why.lower()
    assert (report.source, report.partition, report.offset) == (GPU_SCRAPES.name, 0, 1)
    assert (report.raw, report.by, report.unreported) == (raw[: 64 * 1024], "warehouse", 0)
    assert stored_rows(lake) == 4
    assert read_offsets(lake) == {(GPU_SCRAPES.name, 0): Stored(3, "id-1")}


def test_a_flood_of_bad_bytes_is_one_report_with_the_number_of_the_others(begin: Begin) -> None:
    loading = begin([arrived(number, b"?") for number in range(500)])
    loading.run()
    assert [(report.offset, report.unreported) for report in reports(loading)] == [(0, 499)]
    assert loading.counts.bad == 500


def test_only_the_unfit_messages_of_a_batch_are_left_out(begin: Begin, lake: duckdb.DuckDBPyConnection) -> None:
    unfit = GPU_SCRAPES.encode(gpu_scrape(columns={"100": [1.0]}))
    loading = begin([arrived(number, unfit if number in (3, 40) else None) for number in range(64)])
    loading.run()
    assert stored_rows(lake) == 2 * 62
    assert [(report.offset, report.unreported) for report in reports(loading)] == [(3, 1)]


def test_the_end_of_a_key_in_a_compacted_topic_is_no_bad_message(begin: Begin) -> None:
    loading = begin([Arrived(COLLECTOR_BEATS.name, 0, 4, None)])
    loading.run()
    assert (loading.counts.bad, loading.committed) == (0, {(COLLECTOR_BEATS.name, 0): Stored(5)})


def test_a_second_loader_is_noticed_before_it_doubles_rows(begin: Begin, lake: duckdb.DuckDBPyConnection) -> None:
    first, second = begin([arrived(0)]), begin([arrived(0)])
    second.run()
    third = begin([arrived(1)])
    third.run()
    with pytest.raises(AnotherLoader, match=r"gpu\.scrapes\.v1\[0\] stands at offset 2.*left it at nothing"):
        first.run()
    assert stored_rows(lake) == 4


def test_a_commit_that_seemed_to_fail_but_did_not_is_not_repeated(
    begin: Begin, lake: duckdb.DuckDBPyConnection
) -> None:
    first, again = begin([arrived(0)]), begin([arrived(0)])
    first.run()
    again.run()
    assert stored_rows(lake) == 2


def test_what_cannot_be_stored_is_kept_and_said(begin: Begin, place: Place) -> None:
    loading = begin([arrived(0)])
    assert place.folder is not None
    place.folder.joinpath("main").rename(place.folder / "moved")
    Path(place.folder / "main").write_text("in the way")
    with pytest.raises(Stopped, match=r"cannot store: .*; 1 messages stay in Kafka"):
        loading.run()
    assert loading.pending.batch.count == 1
    assert loading.committed == {}


def test_storing_goes_on_when_it_can_again(begin: Begin, lake: duckdb.DuckDBPyConnection, place: Place) -> None:
    loading = begin([arrived(0)])
    folder = place.folder
    assert folder is not None
    folder.joinpath("main").rename(folder / "moved")
    Path(folder / "main").write_text("in the way")
    told: list[str] = []

    def mend(text: str) -> None:
        told.append(text)
        Path(folder / "main").unlink(missing_ok=True)
        if (folder / "moved").exists():
            (folder / "moved").rename(folder / "main")

    loading.tell, loading.until_end, loading.retry_s = mend, False, 0.01
    loading.arrive(loading.feed.take(10, 0))
    loading.commit()
    assert len(told) == 1
    assert "1 messages wait, nothing is lost" in told[0]
    with connect(read_only=True, settings=WarehouseSettings(state=str(folder.parent.parent))) as reader:
        assert stored_rows(reader) == 2
