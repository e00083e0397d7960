"""What windows cannot do: grow without end, or bring the detectors down."""

from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.contract.job import CollectiveWindow
from streams.detector import Detector, Tick
from streams.detectors.comm import CommDetector
from streams.detectors.comm_limits import CommLimits
from streams.detectors.hang import HangDetector
from streams.detectors.hang_limits import HangLimits
from tests.streams.collectives import START_US, S

NUMBERS = st.none() | st.integers(-(1 << 40), 1 << 40)
TIMES = st.none() | st.floats(allow_nan=True, allow_infinity=True)


def window(at_s: float, **more: Any) -> CollectiveWindow:
    fields: dict[str, Any] = {"job": "j", "node": "n0", "comm": "a", "comm_size": 4, "rank": [], "seq": [], "coll": []}
    return CollectiveWindow(ts_us=START_US + int(at_s * S), **{**fields, **more})


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["nccl-inspector", "nccl-ras", "flight-recorder", "nccl-log", "nccl-inspector-prom"]),
            st.none() | st.integers(-2, 6),
            st.lists(st.tuples(NUMBERS, NUMBERS, st.sampled_from(["AllReduce", "Send", "Recv", ""]), TIMES, NUMBERS)),
            st.sampled_from([None, "0-3", "", "junk", "3-0"]),
            st.floats(0, 5000),
        ),
        max_size=12,
    )
)
def test_windows_of_any_content_break_nothing(told: list[tuple[Any, Any, Any, Any, float]]) -> None:
    detectors: list[Detector[Any]] = [CommDetector(), HangDetector()]
    for detector in detectors:
        state = detector.fresh()
        for source, size, rows, ranks, at_s in told:
            columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], [], [], []]
            item = window(
                at_s,
                source=source,
                comm_size=size,
                comm_ranks=ranks,
                job_rank=columns[0][0] if columns[0] else None,
                rank=columns[0],
                seq=columns[1],
                coll=columns[2],
                exec_us=columns[3],
                busbw_gbs=columns[3],
                peer=columns[4],
            )
            state, _ = detector.step(state, [item, Tick(item.ts_us + 30 * S)])
        kept = detector.keep(state)
        assert kept is None or detector.keep(detector.restore(kept)) == kept


def test_collectives_that_never_become_whole_are_given_up() -> None:
    detector = CommDetector(CommLimits(most_rows=1000, most_open=100))
    state = detector.fresh()
    for item in _halves(400):
        state, _ = detector.step(state, [item])
        assert state.rows <= 1000
        assert state.rows == sum(comm.joins.rows() for comm in state.comms.values())
    state, _ = detector.step(state, [Tick(START_US + 2000 * S)])
    assert state.rows == 0


def test_communicators_beyond_the_limit_make_room_or_are_not_followed() -> None:
    comms = CommDetector(CommLimits(most_comms=10))
    hangs = HangDetector(HangLimits(most_comms=10))
    one: Any = comms.fresh()
    two: Any = hangs.fresh()
    for number in range(100):
        rows: dict[str, Any] = {"comm": f"{number:x}", "rank": [0], "seq": [1], "coll": ["AllReduce"], "exec_us": [5.0]}
        one, _ = comms.step(one, [window(number, **rows)])
        two, _ = hangs.step(two, [window(number, source="nccl-ras", **rows)])
    assert (len(one.comms), one.rows, len(two.ras.comms)) == (10, 10, 10)


def _halves(count: int) -> Iterator[CollectiveWindow]:
    """One of four ranks tells of ever new collectives."""
    for number in range(count):
        seq = list(range(number * 50, number * 50 + 50))
        yield window(number, rank=[0] * 50, seq=seq, coll=["AllReduce"] * 50, exec_us=[100.0] * 50)
