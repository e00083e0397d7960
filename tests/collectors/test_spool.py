"""The spool is a queue that outlives its process."""

import os
from collections import deque
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.spool import Record, Spool
from collectors.spool_folder import SpoolFolder


def record(number: int, size: int = 10) -> Record:
    return Record(b"node-%d" % (number % 3), b"%d:" % number + b"x" * size)


def fill(spool: Spool, count: int, size: int = 10) -> list[Record]:
    records = [record(n, size) for n in range(count)]
    for one in records:
        spool.append(one)
    return records


def drain(spool: Spool) -> list[Record]:
    out = []
    for number, one in spool.take(1 << 30):
        out.append(one)
        spool.release(number + 1)
    return out


def test_records_come_out_in_the_order_they_went_in(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1 << 20, segment_bytes=100)
    records = fill(spool, 50)
    assert drain(spool) == records
    assert spool.waiting == 0


def test_a_drained_spool_leaves_no_segment_on_disk(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1 << 20, segment_bytes=100)
    fill(spool, 50)
    drain(spool)
    assert list(tmp_path.glob("*.seg")) == []
    assert spool.size_bytes == 0


def test_a_killed_process_loses_nothing_that_was_appended(tmp_path: Path) -> None:
    records = fill(Spool(tmp_path, 1 << 20, segment_bytes=100), 50)
    assert drain(Spool(tmp_path, 1 << 20)) == records


def test_what_was_taken_but_not_released_comes_again_after_a_restart(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1 << 20)
    records = fill(spool, 5)
    assert len(list(spool.take(1 << 30))) == 5
    assert drain(Spool(tmp_path, 1 << 20)) == records


def test_what_was_released_before_a_sync_does_not_come_again(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1 << 20)
    records = fill(spool, 5)
    spool.release(3)
    spool.close()
    assert drain(Spool(tmp_path, 1 << 20)) == records[3:]


def test_numbers_go_on_after_everything_was_released(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1 << 20)
    fill(spool, 5)
    drain(spool)
    spool.close()
    assert Spool(tmp_path, 1 << 20).append(record(0)) == 5


def test_a_full_spool_keeps_its_oldest_records_and_refuses_new_ones(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1000, segment_bytes=200)
    numbers = [spool.append(record(i)) for i in range(100)]
    kept = drain(spool)
    assert kept == [record(i) for i in range(len(kept))]
    assert numbers == [*range(len(kept)), *[None] * (100 - len(kept))]
    assert 0 < len(kept) < 100


def test_a_full_spool_takes_records_again_once_it_was_emptied(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1000, segment_bytes=200)
    while spool.append(record(1)) is not None:
        pass
    end = spool.end
    drain(spool)
    assert spool.append(record(2)) == end


def test_a_record_larger_than_the_limit_is_not_kept(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1000)
    assert spool.append(record(0, size=2000)) is None
    assert spool.waiting == 0


def test_a_torn_write_ends_a_file_and_the_records_before_it_are_whole(tmp_path: Path) -> None:
    records = fill(Spool(tmp_path, 1 << 20), 5)
    (segment,) = tmp_path.glob("*.seg")
    segment.write_bytes(segment.read_bytes()[:-3])
    assert drain(Spool(tmp_path, 1 << 20)) == records[:4]


def test_a_record_whose_bytes_changed_is_lost_and_counted_and_the_next_ones_are_read(tmp_path: Path) -> None:
    records = fill(Spool(tmp_path, 1 << 20), 3)
    (segment,) = tmp_path.glob("*.seg")
    segment.write_bytes(segment.read_bytes().replace(b"1:xxx", b"1:xyx"))
    spool = Spool(tmp_path, 1 << 20)
    assert drain(spool) == [records[0], records[2]]
    assert (spool.lost, spool.damaged) == (1, 1)


def test_a_file_that_somebody_removed_is_lost_and_counted(tmp_path: Path) -> None:
    records = fill(Spool(tmp_path, 1 << 20, segment_bytes=100), 20)
    gone = sorted(tmp_path.glob("*.seg"))[1]
    gone.unlink()
    spool = Spool(tmp_path, 1 << 20)
    kept = drain(spool)
    assert len(kept) + spool.lost == 20
    assert spool.lost > 0
    assert kept == [one for one in records if one in kept]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(["append", "take", "release", "restart"]), max_size=60))
def test_the_spool_behaves_like_a_queue_through_any_sequence(steps: list[str]) -> None:
    with TemporaryDirectory() as folder:
        spool = Spool(Path(folder), 1 << 20, segment_bytes=120)
        waiting: deque[Record] = deque()
        unread, written = 0, 0
        for step in steps:
            if step == "append":
                waiting.append(record(written))
                spool.append(record(written))
                written += 1
            elif step == "take":
                taken = [one for _, one in spool.take(20)]
                assert taken == list(waiting)[unread : unread + len(taken)]
                assert (len(taken) > 0) == (unread < len(waiting))
                unread += len(taken)
            elif step == "release" and unread:
                waiting.popleft()
                unread -= 1
                spool.release(spool.first + 1)
            elif step == "restart":
                spool.close()
                spool, unread = Spool(Path(folder), 1 << 20, segment_bytes=120), 0
            assert spool.waiting == len(waiting)
        assert spool.lost == 0


def test_two_processes_of_one_name_have_two_folders(tmp_path: Path) -> None:
    first, second = SpoolFolder(tmp_path, "dcgm"), SpoolFolder(tmp_path, "dcgm")
    assert (first.path.name, second.path.name) == ("dcgm", "dcgm.1")
    assert second.left_behind == []


def test_a_restarted_process_takes_over_what_a_stopped_sibling_left(tmp_path: Path) -> None:
    first, second = SpoolFolder(tmp_path, "dcgm"), SpoolFolder(tmp_path, "dcgm")
    fill(Spool(second.path / "gpu.scrapes.v1", 1 << 20), 3)
    second.close()
    first.close()
    assert SpoolFolder(tmp_path, "dcgm").left_behind == [tmp_path / "dcgm.1"]


def test_a_running_siblings_folder_is_left_alone(tmp_path: Path) -> None:
    first, second = SpoolFolder(tmp_path, "dcgm"), SpoolFolder(tmp_path, "dcgm")
    fill(Spool(second.path / "gpu.scrapes.v1", 1 << 20), 3)
    first.close()
    assert SpoolFolder(tmp_path, "dcgm").left_behind == []


def test_files_that_are_too_old_are_given_up_and_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1 << 20, segment_bytes=60)
    for number in range(6):
        spool.append(Record(b"k", b"%020d" % number))
    files = sorted(tmp_path.glob("*.seg"))
    for path in files[:2]:
        os.utime(path, (1000.0, 1000.0))
    held = [number for number, _ in spool.take(1)]
    spool.expire(2000.0)
    kept = [int(record.value) for _, record in spool.take(1 << 20)]
    assert held == [0]
    assert spool.lost + len(held) + len(kept) == 6
    assert kept == list(range(6 - len(kept), 6))
    assert not files[0].exists() and not files[1].exists() and files[2].exists()
    assert spool.waiting == len(kept)


def test_an_old_spool_goes_on_after_everything_in_it_was_given_up(tmp_path: Path) -> None:
    spool = Spool(tmp_path, 1 << 20)
    spool.append(Record(b"k", b"old"))
    os.utime(next(tmp_path.glob("*.seg")), (1000.0, 1000.0))
    spool.expire(2000.0)
    spool.append(Record(b"k", b"new"))
    assert [(number, record.value) for number, record in spool.take(100)] == [(1, b"new")]
    assert (spool.lost, spool.waiting) == (1, 1)
