import pytest

from collectors.contract.errors import UserError
from streams.contract import HealthReason, NodeHealth
from streams.health_command import chosen
from streams.health_table import detail, table

T = 1_767_348_000_000_000
REASON = HealthReason(cause="xid_79", points=100.0, part="gpu G0", since_us=T, finding="xid|c/gpu/G0|1")
BAD = NodeHealth(
    ts_us=T,
    node="gpu-1",
    score=0.0,
    schedulable=False,
    state="cordoned",
    reasons=[REASON],
    version=2,
    cordon=True,
    since_us=T,
    before="healthy",
    why="hard_fault",
    evidence=["xid|c/gpu/G0|1"],
)
GOOD = NodeHealth(ts_us=T, node="gpu-02", score=100.0, schedulable=True, state="healthy", version=2)
IDLE = NodeHealth(
    ts_us=T,
    node="gpu-3",
    score=100.0,
    schedulable=False,
    state="in_repair",
    since_us=T,
    before="draining",
    why="empty",
    actor="person",
)


def test_the_table_shows_first_what_should_be_taken_out() -> None:
    assert table([GOOD, IDLE, BAD]) == [
        "NODE    SCORE  STATE      WORK      WHY",
        "gpu-1   0      cordoned   take out  hard fault since 2026-01-02 10:00; xid_79 on gpu G0 -100",
        "gpu-3   100    in_repair  no        no job is on it any more since 2026-01-02 10:00",
        "gpu-02  100    healthy    yes",
    ]


def test_a_node_is_shown_with_its_last_move_and_the_evidence() -> None:
    assert detail(BAD) == [
        "gpu-1 (cluster default): cordoned, 0 of 100, weights version 2",
        "take it out of service",
        "2026-01-02 10:00  healthy -> cordoned: hard fault (by lockstep)",
        "  evidence: xid|c/gpu/G0|1",
        "-100  xid_79 on gpu G0 since 2026-01-02 10:00",
    ]
    assert detail(IDLE)[2] == "2026-01-02 10:00  draining -> in_repair: no job is on it any more (by person)"


def test_a_node_that_nobody_judged_is_a_mistake_that_names_near_ones() -> None:
    assert chosen([GOOD, BAD], ["gpu-1"]) == [BAD]
    with pytest.raises(UserError, match="gpu-2: no such node was judged; did you mean gpu-02"):
        chosen([GOOD, BAD], ["gpu-2"])


def test_no_node_at_all_is_said() -> None:
    assert table([]) == ["no node was judged yet; is `lockstep stream` running?"]
