"""Maintenance."""

import duckdb

from collectors.contract.topics import COLLECTOR_BEATS, GPU_SCRAPES
from tests.warehouse.messages import T0, gpu_scrape, one_of_each
from warehouse import maintenance
from warehouse.loader import write
from warehouse.opening import connect
from warehouse.place import Place
from warehouse.settings import WarehouseSettings

Lake = duckdb.DuckDBPyConnection
HOUR = 3_600_000_000
S = 1_000_000


def files(lake: Lake, table: str) -> int:
    return len(lake.execute("select data_file from ducklake_list_files('lake', $table)", {"table": table}).fetchall())


def test_small_files_of_an_hour_become_one_sorted_by_gpu_and_time_and_no_row_changes(lake: Lake, place: Place) -> None:
    for hour in (0, 1):
        for at in range(5):
            scrape = gpu_scrape(T0 + hour * HOUR + at * S, columns={"100": [float(at), None]}, named={}, errors={})
            write(lake, [(GPU_SCRAPES, [scrape])], place=place)
    before = lake.execute("select * from gpu_scrapes order by all").fetchall()
    report = maintenance.run(lake, place=place)
    assert (report.files_before - report.files_after, files(lake, "gpu_scrapes")) == (8, 2)
    assert lake.execute("select * from gpu_scrapes order by all").fetchall() == before
    (path, *_) = lake.execute("select data_file from ducklake_list_files('lake', 'gpu_scrapes')").fetchall()[0]
    as_stored = lake.execute("select gpu_uuid, ts from read_parquet($path)", {"path": path}).fetchall()
    assert as_stored == sorted(as_stored)


def test_a_second_round_finds_nothing_to_do(lake: Lake, place: Place) -> None:
    for at in range(3):
        write(lake, [(GPU_SCRAPES, [gpu_scrape(T0 + at * S)])], place=place)
    maintenance.run(lake, place=place)
    again = maintenance.run(lake, place=place)
    assert (again.files_before, again.bytes_before) == (again.files_after, again.bytes_after)


def test_files_that_were_merged_away_leave_the_disk_when_no_reader_can_need_them(lake: Lake, place: Place) -> None:
    for at in range(3):
        write(lake, [(GPU_SCRAPES, [gpu_scrape(T0 + at * S)])], place=place)
    folder = place.folder
    assert folder is not None
    on_disk = []
    for retention_h in (1.0, 1.0, 0.0):
        maintenance.run(lake, place=place, retention_h=retention_h)
        on_disk.append(len(list(folder.rglob("main/gpu_scrapes/**/*.parquet"))))
    assert on_disk == [4, 4, 1]


def test_snapshots_younger_than_the_retention_stay(lake: Lake, place: Place) -> None:
    for at in range(3):
        write(lake, [(GPU_SCRAPES, [gpu_scrape(T0 + at * S)])], place=place)
    snapshots = "select count(*) from ducklake_snapshots('lake')"
    (before,) = lake.execute(snapshots).fetchall()
    maintenance.run(lake, place=place, retention_h=1.0)
    (kept,) = lake.execute(snapshots).fetchall()
    maintenance.run(lake, place=place, retention_h=0.0)
    (left,) = lake.execute(snapshots).fetchall()
    assert (kept >= before, left) == (True, (1,))


def test_a_reader_that_began_before_a_round_ends_its_query(
    lake: Lake, place: Place, settings: WarehouseSettings
) -> None:
    for at in range(3):
        write(lake, [(GPU_SCRAPES, [gpu_scrape(T0 + at * S)])], place=place)
    with connect(settings=settings) as reader:
        reader.begin()
        first = reader.execute("select count(*) from gpu_scrapes").fetchall()
        maintenance.run(lake, place=place)
        write(lake, [(GPU_SCRAPES, [gpu_scrape(T0 + 9 * S)])], place=place)
        assert reader.execute("select count(*) from gpu_scrapes").fetchall() == first == [(6,)]
        reader.rollback()
        assert reader.execute("select count(*) from gpu_scrapes").fetchall() == [(8,)]


def test_rows_that_were_deleted_leave_the_files(lake: Lake, place: Place) -> None:
    write(lake, [(topic, [message] * 3) for topic, message in one_of_each() if topic is COLLECTOR_BEATS], place=place)
    lake.execute("insert into beats (collector, ts) select 'other', min(ts) from beats")
    lake.execute("delete from beats where collector <> 'other'")
    maintenance.run(lake, place=place)
    assert lake.execute("select collector from beats").fetchall() == [("other",)]
    assert files(lake, "beats") == 1


def test_a_round_is_due_when_an_hour_of_event_time_has_closed() -> None:
    due = maintenance.Due()
    noon, late_us = 1000 * HOUR, maintenance.LATE_US
    asked = [
        (0, 0.0, False),
        (noon + late_us, 10.0, False),
        (noon + late_us + 1, 609.0, False),
        (noon + late_us + 1, 610.0, True),
        (noon + HOUR, 4000.0, False),
        (noon + HOUR + late_us, 4001.0, True),
        (noon + 2 * HOUR + late_us, 4600.0, False),
        (noon + 2 * HOUR + late_us, 4601.0, True),
    ]
    assert [due.now(newest_us, now_s) for newest_us, now_s, _ in asked] == [due for _, _, due in asked]
