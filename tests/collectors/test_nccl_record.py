"""One line of an Inspector file, of every release."""

import json
from typing import Any

import pytest

from collectors.nccl.cut import ROWS
from collectors.nccl.record import Communicator, Lost, Record, RecordError, communicator_id, read_record
from collectors.nccl.window import windows

OF = Communicator(comm="00000000000a5c01", size=16, nodes=2, name=None, host="gpu-1", pid=410)
ALL_REDUCE = Record(
    of=OF,
    ts_us=1_700_000_000_000_001,
    rank=3,
    seq=12,
    coll="AllReduce",
    bytes=65536,
    exec_us=110.0,
    algbw_gbs=19.5,
    busbw_gbs=36.25,
    timing="kernel_gpu",
    peer=None,
)


def line(**changes: Any) -> dict[str, Any]:
    whole: dict[str, Any] = {
        "header": {"id": "0xA5C01", "rank": 3, "n_ranks": 16, "nnodes": 2},
        "metadata": {
            "inspector_output_format_version": "v4.0",
            "git_rev": "",
            "rec_mechanism": "profiler_plugin",
            "dump_timestamp_us": 1_700_000_000_000_001,
            "hostname": "gpu-1",
            "pid": 410,
        },
        "coll_perf": {
            "coll": "AllReduce",
            "coll_sn": 12,
            "coll_msg_size_bytes": 65536,
            "coll_exec_time_us": 110,
            "coll_timing_source": "kernel_gpu",
            "coll_algobw_gbs": 19.5,
            "coll_busbw_gbs": 36.25,
        },
    }
    for path, value in changes.items():
        at = whole
        *way, last = path.split("__")
        for name in way:
            at = at[name]
        if value is ...:
            del at[last]
        else:
            at[last] = value
    return whole


def read(whole: dict[str, Any]) -> Record:
    found = read_record(json.dumps(whole).encode())
    assert isinstance(found, Record)
    return found


def test_a_collective_is_read() -> None:
    assert read(line()) == ALL_REDUCE


def test_numbers_may_be_floats() -> None:
    assert read(line(coll_perf__coll_sn=12.0, coll_perf__coll_exec_time_us=110.0, header__rank=3.0)) == ALL_REDUCE


def test_keys_that_we_do_not_know_are_ignored() -> None:
    assert read(line(coll_perf__coll_moon="full", coll_perf__event_trace_sn={"x": 1})) == ALL_REDUCE


@pytest.mark.parametrize(
    ("algo", "proto", "both"),
    [("RING", "LL128", "RING_LL128"), ("NVLS", "unknown", "NVLS"), ("unknown", "unknown", None), (..., ..., None)],
)
def test_algorithm_and_protocol_are_one_word(algo: Any, proto: Any, both: str | None) -> None:
    whole = line()
    told = {"coll_algo": algo, "coll_proto": proto}
    whole["coll_perf"] |= {name: word for name, word in told.items() if word is not ...}
    assert read(whole).algo == both


def test_a_verbose_line_says_when_the_rank_called_and_arrived() -> None:
    at = 1_700_000_000_000_000
    kernels = [
        {"channel_id": 0, "kernel_start_ts": at + 9, "kernel_stop_ts": at + 40, "kernel_record_ts": at + 41},
        {"channel_id": 1, "kernel_start_ts": at + 7, "kernel_stop_ts": at + 39, "kernel_record_ts": 0},
        {"channel_id": 2, "kernel_start_ts": 0, "kernel_stop_ts": 0, "kernel_record_ts": 0},
    ]
    trace = {"coll_start_ts": at, "coll_stop_ts": at + 50, "kernel_events": kernels}
    found = read(line(coll_perf__event_trace_ts=trace))
    assert (found.created_us, found.started_us, found.completed_us) == (at, at + 7, at + 40)
    [window] = windows([found], cluster="c", job="j", node=None, this_node="here")
    assert (window.created_us, window.started_us, window.completed_us) == ([at], [at + 7], [at + 40])


def test_a_bandwidth_of_zero_is_a_formula_that_the_plug_in_lacks() -> None:
    assert read(line(coll_perf__coll_busbw_gbs=0)).busbw_gbs is None
    empty = read(line(coll_perf__coll_busbw_gbs=0, coll_perf__coll_msg_size_bytes=0))
    assert empty.busbw_gbs == 0.0


def lost_line(coll: int, p2p: int) -> dict[str, Any]:
    whole = line(coll_perf=...)
    whole["dump_stats"] = {
        "coll_records": 3,
        "coll_dropped_total": 90,
        "coll_dropped_since_last_dump": coll,
        "p2p_records": 0,
        "p2p_dropped_total": 4,
        "p2p_dropped_since_last_dump": p2p,
    }
    return whole


def test_what_the_plug_in_lost_stands_in_the_window() -> None:
    lost = read_record(json.dumps(lost_line(5, 2)).encode())
    assert lost == Lost(OF, 1_700_000_000_000_001, 7)
    [window] = windows([lost, ALL_REDUCE, lost], cluster="c", job="j", node=None, this_node="here")
    assert (window.dropped, window.rank) == (14, [3])
    [alone] = windows([lost], cluster="c", job="j", node=None, this_node="here")
    assert (alone.dropped, alone.rank) == (7, [])
    [older] = windows([ALL_REDUCE], cluster="c", job="j", node=None, this_node="here")
    assert older.dropped is None


def test_a_communicators_name_is_kept_unless_it_is_unknown() -> None:
    named = read(line(header__comm_name="DP Group 0"))
    assert named.of.name == "DP Group 0"
    assert read(line(header__comm_name="unknown")).of.name is None


def test_what_an_old_release_leaves_out_is_unknown() -> None:
    old = read(line(coll_perf__coll_timing_source=..., header__nnodes=...))
    assert (old.timing, old.of.nodes) == (None, None)


def test_a_send_keeps_its_peer() -> None:
    whole = line(coll_perf=...)
    whole["p2p_perf"] = {"p2p": "Send", "p2p_sn": 4, "p2p_peer": 5, "p2p_exec_time_us": 7, "p2p_busbw_gbs": 0}
    found = read(whole)
    assert (found.coll, found.seq, found.peer, found.exec_us, found.busbw_gbs, found.bytes) == (
        "Send",
        4,
        5,
        7.0,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"coll_perf": ...}, "none of coll_perf, p2p_perf and dump_stats"),
        ({"header__id": "0xzz"}, "not a communicator hash"),
        ({"header__id": "0x" + "1" * 17}, "not a communicator hash"),
        ({"header__id": ...}, "missing required field `id`"),
        ({"coll_perf__coll_sn": 1.5}, "coll_sn 1.5 is not a whole number"),
        ({"header__rank": -1}, "rank -1.0 is not a whole number"),
        ({"coll_perf__coll_sn": "12"}, "Expected `float`"),
    ],
)
def test_a_bad_line_says_what_is_wrong(changes: dict[str, Any], why: str) -> None:
    with pytest.raises(RecordError, match=why):
        read(line(**changes))


def test_a_communicators_hash_has_sixteen_digits() -> None:
    assert communicator_id("0x9E7a479f95a66c") == "009e7a479f95a66c"


def test_a_window_is_one_process_of_one_communicator() -> None:
    send = line(header__id="0xA5C01", coll_perf=...)
    send["p2p_perf"] = {"p2p": "Recv", "p2p_sn": 1, "p2p_peer": 0}
    records = [ALL_REDUCE, read(line(metadata__pid=411)), read(send), read(line(header__id="0x2"))]
    found = windows(records, cluster="c", job="j", node=None, this_node="here")
    assert [(w.comm[-1], w.pid, w.node, w.coll, w.peer) for w in found] == [
        ("1", 410, "gpu-1", ["AllReduce", "Recv"], [None, 0]),
        ("1", 411, "gpu-1", ["AllReduce"], []),
        ("2", 410, "gpu-1", ["AllReduce"], []),
    ]


def test_a_long_window_comes_in_pieces() -> None:
    found = windows([ALL_REDUCE] * (ROWS + 1), cluster="c", job="j", node="n", this_node="here")
    assert [(len(w.rank), w.node) for w in found] == [(ROWS, "n"), (1, "n")]
