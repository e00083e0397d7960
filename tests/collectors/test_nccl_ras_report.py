"""Answers of RAS, text and JSON, into windows."""

from typing import Any

import pytest

from collectors.contract.job import CollectiveWindow
from collectors.nccl_ras.answer import read_answer
from collectors.nccl_ras.report import ReportError
from collectors.nccl_ras.window import windows
from tests.collectors.ras_answers import AGREED, GONE, LATE, OLD, OLD_MISSING, answer, rank


def told(raw: bytes | str) -> list[CollectiveWindow]:
    report = read_answer(raw if isinstance(raw, bytes) else raw.encode())
    return list(windows(report, cluster="c", job="j", node="n", ts_us=1))


def counts(window: CollectiveWindow, coll: str) -> dict[int | None, int | None]:
    return {r: s for r, s, c in zip(window.rank, window.seq, window.coll, strict=True) if c == coll}


def states(window: CollectiveWindow) -> dict[int, str | None]:
    return {member.rank: member.state for member in window.members}


def test_json_tells_how_far_every_rank_is() -> None:
    first, unused = told(answer())
    assert (first.source, first.comm, first.comm_size) == ("nccl-ras", "001e240000000abc", 8)
    assert first.coll == ["AllReduce"] * 7
    assert counts(first, "AllReduce") == {n: 6649 if n == 2 else 6650 for n in range(7)}
    assert (unused.comm, unused.rank, len(unused.members)) == ("0000000000000002", [], 2)


def test_a_dead_rank_is_a_member_without_a_count() -> None:
    first, _ = told(answer())
    assert states(first) == {**dict.fromkeys(range(7), "ready"), 7: "dead"}
    gone = first.members[7]
    assert (gone.host, gone.pid, gone.gpu) == (None, None, 3)
    assert first.comm_nodes is None


def test_a_rank_that_launched_none_of_a_kind_has_a_zero() -> None:
    comms = [{"hash": "0x1", "size": 2, "ranks": [rank(0, {"Reduce": 4}), rank(1, {})], "missing_ranks": []}]
    [window] = told(answer(communicators=comms))
    assert counts(window, "Reduce") == {0: 4, 1: 0}
    assert window.comm_nodes == 1


@pytest.mark.parametrize(
    ("status", "state", "error"),
    [
        ({"init_state": 7}, "init", None),
        ({"finalize_called": True}, "finalize", None),
        ({"destroy_flag": True}, "finalize", None),
        ({"destroy_flag": True, "abort_flag": True}, "abort", None),
        ({"async_error": 6}, "error", "Remote process error"),
        ({"init_state": 2}, "error", "System error"),
        ({"async_error": 42}, "error", "error 42"),
        ({"async_error": 7}, "ready", None),
    ],
)
def test_a_ranks_status_is_one_word(status: dict[str, Any], state: str, error: str | None) -> None:
    comms = [{"hash": "0x1", "size": 1, "ranks": [rank(0, {}, **status)], "missing_ranks": []}]
    [window] = told(answer(communicators=comms))
    assert [(m.state, m.error) for m in window.members] == [(state, error)]


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ({"unresponsive": False, "considered_dead": False}, "left"),
        ({"unresponsive": True, "considered_dead": False}, "silent"),
        ({"unresponsive": True, "considered_dead": True}, "dead"),
    ],
)
def test_a_missing_rank_left_or_is_silent_or_dead(status: dict[str, bool], state: str) -> None:
    comms = [{"hash": "0x1", "size": 1, "ranks": [], "missing_ranks": [{"rank": 0, "status": status}]}]
    [window] = told(answer(communicators=comms))
    assert (window.rank, states(window)) == ([], {0: state})


def test_text_names_the_late_and_the_rest_follow() -> None:
    [window] = told(LATE)
    assert (window.comm, window.comm_size, window.comm_nodes) == ("001e240000000abc", 8, 2)
    assert counts(window, "AllReduce") == {0: 6650, 1: 6650, 2: 6649, 3: 6650, 4: 6650, 5: 6650, 6: 6650, 7: 0}
    assert counts(window, "Broadcast") == {0: 8, 1: 8, 5: 8, 2: 9, 3: 9, 4: 9, 6: 9, 7: 9}
    late = window.members[7]
    assert (late.host, late.pid, late.gpu, late.nvml, late.state) == ("10.0.0.2", 517, 1, 3, "ready")


def test_before_2_26_all_kinds_are_counted_together() -> None:
    [window] = told(OLD)
    assert set(window.coll) == {"All", "Broadcast"}
    assert counts(window, "All")[2] == 6649


def test_a_list_that_was_shortened_says_nothing_of_the_rest() -> None:
    [window] = told(LATE.replace("  Rank 5 -- [process information not found]\n", ""))
    assert counts(window, "Broadcast") == {0: 8, 1: 8}


def test_text_tells_dead_silent_aborted_and_failed_ranks() -> None:
    [window] = told(GONE)
    ready = dict.fromkeys((2, 3, 7), "ready")
    assert states(window) == {0: "abort", 1: "silent", 4: "error", 5: "dead", 6: "error", **ready}
    assert {member.error for member in window.members if member.state == "error"} == {"Remote process error"}
    report = read_answer(GONE.encode())
    assert (report.dead, report.silent, report.timeouts, report.version) == (1, 1, 2, "2.26.2")


def test_the_old_list_of_missing_ranks_is_read() -> None:
    [window] = told(OLD_MISSING)
    assert states(window) == {5: "silent"}


def test_text_where_all_agree_has_no_window_for_it_names_no_communicator() -> None:
    report = read_answer(AGREED.encode())
    assert (report.communicators, report.comms) == (3, [])


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b"", "empty"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "ended before its section Warnings"),
        (LATE[: LATE.index("Warnings")].encode(), "ended before its section Warnings"),
        (answer()[:-40], "not the JSON of RAS: Input data was truncated"),
        (b"{}", "not the JSON of RAS: Object missing required field `communicators`"),
        (answer(communicators=[{"hash": "0xzz", "size": 1}]), "is not that of a communicator"),
        (answer(communicators=[{"hash": "0x1", "size": -1}]), "size -1"),
        (answer(communicators=[{"hash": "0x1", "size": 1, "ranks": [rank(0, {"Reduce": -1})]}]), "a count of -1"),
        (answer(communicators=[{"hash": "0x1", "size": 1, "ranks": [rank(-1, {})]}]), "no rank can be -1"),
    ],
)
def test_what_is_no_whole_answer_says_why(raw: bytes, why: str) -> None:
    with pytest.raises(ReportError, match=why):
        read_answer(raw)


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b'{"communicators":[' + b"{}," * 3_000_001, "more than 1000000 ranks"),
        (b"x" * ((32 << 20) + 1), "text of more than 32 MB"),
    ],
)
def test_an_answer_that_is_too_much_is_not_taken_apart(raw: bytes, why: str) -> None:
    with pytest.raises(ReportError, match=why):
        read_answer(raw)


def test_a_majority_is_not_looked_for_in_impossible_numbers() -> None:
    many = LATE.replace("    0         1         2         4         8         8", "    0  1  2  4  999999999  8")
    [window] = told(many)
    assert counts(window, "AllReduce") == {2: 6649, 7: 0}
