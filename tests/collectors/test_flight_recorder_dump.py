"""Dumps into windows that say who did not enter which collective."""

from typing import Any

import pytest

from collectors.contract.job import CollectiveWindow
from collectors.flight_recorder.bounds import CutError, DumpError
from collectors.flight_recorder.dump import read_dump
from collectors.flight_recorder.window import windows
from tests.collectors.fr_dumps import T_NS, as_json, entry, pickled


def told(raw: bytes, rank: int, last: int | None = None) -> list[CollectiveWindow]:
    return list(windows(read_dump(raw), cluster="c", job="j", node="n", job_rank=rank, ts_us=1, last=last))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle_of_any_binary_protocol_is_read(protocol: int) -> None:
    [window] = told(pickled(1, protocol), 1)
    assert (window.source, window.job_rank, window.comm_name) == ("flight-recorder", 1, "default_pg")
    assert (window.comm_size, window.comm_ranks, set(window.rank)) == (4, "0-3", {1})
    assert window.seq == [1, 2, 3, 4, 5, 6, 7]
    assert window.state == ["completed"] * 6 + ["started"]
    assert (window.last_enqueued, window.last_started, window.last_completed) == (7, 7, 6)
    assert set(window.coll) == {"AllReduce"}
    assert window.bytes == [2048] * 7
    assert set(window.dtype) == {"BFloat16"}
    assert window.created_us[6] == T_NS // 1000 + 7_000_000
    assert window.started_us[6] == T_NS // 1000 + 7_001_000
    assert (window.completed_us[5], window.completed_us[6]) == (T_NS // 1000 + 6_003_000, None)


@pytest.mark.parametrize("rank", range(4))
def test_json_says_the_same_as_the_pickle(rank: int) -> None:
    assert told(as_json(rank), rank) == told(pickled(rank), rank)


def test_the_rank_that_did_not_enter_is_found_from_the_windows_alone() -> None:
    of_group = [w for rank in range(4) for w in told(pickled(rank), rank) if w.comm_name == "default_pg"]
    assert len({window.comm for window in of_group}) == 1
    entered = {seq: {w.rank[0] for w in of_group if seq in w.seq} for seq in (6, 7)}
    everyone = set(range(of_group[0].comm_size or 0))
    assert everyone - entered[6] == set()
    assert everyone - entered[7] == {2}


def test_a_rank_inside_a_group_is_not_the_jobs() -> None:
    _, group = told(pickled(3), 3)
    assert (group.comm_name, group.comm_ranks, group.rank, group.job_rank) == ("TP Group", "2-3", [1], 3)
    assert (group.coll, group.seq, group.peer, group.state) == (["Send"], [1], [0], ["scheduled"])
    assert (group.last_enqueued, group.last_completed) == (None, None)


def test_groups_of_one_name_and_other_ranks_are_two() -> None:
    other = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}}
    assert told(pickled(0, pg_config=other), 0)[0].comm != told(pickled(0), 0)[0].comm


def test_only_the_newest_and_the_unfinished_are_told() -> None:
    entries = [entry(1, "started"), *(entry(seq) for seq in range(2, 9)), entry(9, "scheduled")]
    [window] = told(pickled(0, entries=entries), 0, last=2)
    assert window.seq == [1, 8, 9]


def test_timing_gives_a_duration() -> None:
    [window] = told(pickled(0, entries=[entry(1, duration_ms=1.5), entry(2)]), 0)
    assert window.exec_us == [1500.0, None]


@pytest.mark.parametrize(
    ("name", "coll"),
    [
        ("nccl:_all_gather_base", "AllGather"),
        ("nccl:reduce_scatter_tensor_coalesced", "ReduceScatter"),
        ("nccl:all_to_all", "AllToAll"),
        ("nccl:new_thing", "new_thing"),
        ("nonsense", "unknown"),
    ],
)
def test_operations_have_nccls_names(name: str, coll: str) -> None:
    [window] = told(pickled(0, entries=[entry(1, profiling_name=name)]), 0)
    assert window.coll == [coll]


@pytest.mark.parametrize(
    ("changes", "size"),
    [
        ({"input_sizes": [[4, 256], [2]], "input_dtypes": ["Float", "Long"]}, 4112),
        ({"input_sizes": [[]], "input_dtypes": ["Double"]}, 8),
        ({"input_sizes": [[0]], "input_dtypes": ["Float"]}, 0),
        ({"input_sizes": [], "input_dtypes": []}, None),
        ({"input_dtypes": ["Quantum"]}, None),
        ({"input_sizes": [[-1]]}, None),
        ({"input_sizes": "x"}, None),
    ],
)
def test_bytes_are_those_of_the_inputs_or_unknown(changes: dict[str, Any], size: int | None) -> None:
    [window] = told(pickled(0, entries=[entry(1, **changes)]), 0)
    assert window.bytes == [size]


def test_a_dump_without_ranks_still_tells_its_own() -> None:
    [window] = told(pickled(2, pg_config={}), 2)
    assert (window.rank[0], window.comm_size, window.comm_ranks) == (2, None, None)
    odd: dict[str, Any] = {"process_group": ("9", "PP")}
    [window] = told(pickled(2, pg_config={}, entries=[entry(1, **odd)]), 2)
    assert (window.rank, window.job_rank) == ([None], 2)


def test_a_group_that_did_nothing_yet_says_how_far_it_came() -> None:
    [window] = told(pickled(1, entries=[]), 1)
    assert (window.rank, window.last_enqueued) == ([], 7)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"entries": {}}, "entries is not a list"),
        ({"entries": [1]}, "entry 0 is not a table"),
        ({"entries": [entry(1, collective_seq_id=None)]}, "entry 0 has no sequence number"),
        ({"entries": [entry(1, process_group=([],))]}, "neither text of up to"),
        ({"entries": [entry(1, profiling_name="x" * 2000)]}, "neither text of up to"),
        ({"pg_config": {"0": {"ranks": "[0, x]"}}}, "ranks of group '0'"),
        ({"pg_config": {"0": {"ranks": [-1]}}}, "not those of a job"),
        ({"pg_config": {"0": {"ranks": [1 << 30]}}}, "not those of a job"),
    ],
)
def test_a_dump_with_a_mistake_says_which(changes: dict[str, Any], why: str) -> None:
    for raw in (pickled(0, **changes), pickled(0, 5, **changes)):
        with pytest.raises(DumpError, match=why):
            read_dump(raw)


@pytest.mark.parametrize("raw", [b"{}", b"}."])
def test_something_else_is_no_dump(raw: bytes) -> None:
    with pytest.raises(DumpError, match="neither entries nor pg_config"):
        read_dump(raw)


def test_half_a_dump_is_known_to_be_half() -> None:
    for raw in (pickled(0), as_json(0)):
        for at in range(1, len(raw) - 1, 97):
            with pytest.raises(CutError, match=f"cut off after {at} bytes"):
                read_dump(raw[:at])


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b'{"entries":[' + b"[]," * 1_000_001, "more than 1000000 containers"),
        (b"{" + b" " * (32 << 20), "JSON of more than 32 MB"),
    ],
)
def test_json_that_would_fill_the_memory_is_refused(raw: bytes, why: str) -> None:
    with pytest.raises(DumpError, match=why):
        read_dump(raw)


def test_one_list_that_a_pickle_points_at_for_ever_is_counted() -> None:
    sizes = [[1]] * 100
    with pytest.raises(DumpError, match="more than 2000000 tensors"):
        read_dump(pickled(0, entries=[entry(1, input_sizes=sizes)] * 20_001))
    ranks = "[" + ",".join(map(str, range(1 << 20))) + "]"
    with pytest.raises(DumpError, match="groups of more than 8388608 ranks"):
        read_dump(pickled(0, pg_config={str(n): {"ranks": ranks} for n in range(9)}, entries=[]))
