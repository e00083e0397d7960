"""Level 3 of a hang: the flight recorder's dumps name the rank that did not enter, or the network."""

from collections.abc import Sequence

from collectors.contract.job import CollectiveWindow, JobEvent, OperationState, Placement
from collectors.contract.ranks import pack_ranks
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.hang import HangDetector
from tests.streams.collectives import START_US, S
from tests.streams.stories_collectives import step
from tests.streams.story_form import Item

DUMPED_S = 810.0
Row = tuple[str, int, OperationState]


def placed() -> JobEvent:
    rows = [Placement(rank=r, node=f"n{r // 2}", gpu_uuid=f"GPU-{r}", gpu_index=r % 2) for r in range(4)]
    return JobEvent(job="j", ts_us=START_US, kind="placed", placement=rows)


def dump(
    rank: int,
    rows: Sequence[Row],
    *,
    group: str = "pg:0",
    ranks: Sequence[int] = (0, 1, 2, 3),
    at_s: float = DUMPED_S,
    peers: Sequence[int | None] = (),
    called_s: float = 205.0,
) -> CollectiveWindow:
    """One rank's window of one group. `rows`: operation, sequence number, state."""
    return CollectiveWindow(
        job="j",
        node=f"n{rank // 2}",
        ts_us=START_US + int(at_s * S) + rank,
        source="flight-recorder",
        comm=group,
        comm_size=len(ranks),
        comm_name="dp",
        comm_ranks=pack_ranks(ranks),
        job_rank=rank,
        rank=[list(ranks).index(rank)] * len(rows),
        coll=[coll for coll, _, _ in rows],
        seq=[seq for _, seq, _ in rows],
        state=[state for _, _, state in rows],
        peer=list(peers),
        created_us=[START_US + int(called_s * S)] * len(rows),
    )


def inside(seq: int = 7) -> list[Row]:
    return [("AllReduce", seq - 1, "completed"), ("AllReduce", seq, "started")]


BEFORE: list[Row] = [("AllReduce", 5, "completed"), ("AllReduce", 6, "completed")]


def run(dumps: Sequence[Item], steps: bool = True) -> list[Finding]:
    """Steps of ten seconds until 200 s, then nothing but dumps at 810 s."""
    start: list[Item] = [placed()]
    for at in range(10, 201, 10):
        start += step(at, at // 10) if steps else []
    detector = HangDetector()
    end = Tick(START_US + int((DUMPED_S + 60) * S))
    return detector.step(detector.fresh(), [*start, Tick(START_US + 700 * S), *dumps, end])[1]


def test_the_rank_that_did_not_enter_is_named_in_the_episode_that_is_open() -> None:
    found = run([dump(0, inside()), dump(1, BEFORE), dump(2, inside()), dump(3, inside())])
    assert [(f.state, f.cause) for f in found] == [("opened", "job_hang_suspected"), ("updated", "rank_absent")]
    edge = found[1]
    assert edge.summary == "j hangs: rank 1 (n0 GPU 1) did not enter AllReduce 7 of dp, in which 3 ranks wait"
    assert (edge.subject.rank, edge.subject.gpu_uuid, edge.confidence) == (1, "GPU-1", "high")
    assert [c.id for c in edge.candidates] == ["j/1"]
    assert found[0].episode_us == edge.episode_us


def test_all_inside_one_collective_is_the_network() -> None:
    edge = run([dump(r, inside()) for r in range(4)])[-1]
    assert edge.cause == "comm_hang"
    assert edge.summary == "j hangs in communication: all ranks are inside AllReduce 7 of dp and it does not end"
    assert [(c.kind, c.id) for c in edge.candidates] == [("comm", "j/pg:0")]


def test_no_rank_inside_a_collective_is_the_application() -> None:
    assert run([dump(r, BEFORE) for r in range(4)])[-1].cause == "application_hang"


def test_a_rank_whose_kernel_has_not_started_is_the_one_that_the_others_wait_for() -> None:
    queued: list[Row] = [("AllReduce", 6, "completed"), ("AllReduce", 7, "scheduled")]
    edge = run([dump(0, inside()), dump(1, inside()), dump(2, queued), dump(3, inside())])[-1]
    assert (edge.cause, edge.subject.rank) == ("rank_absent", 2)


def test_a_rank_that_waits_in_another_group_is_not_the_one() -> None:
    """Rank 3 is stuck; rank 2 waits for it in their group and so misses the collective of 0 and 2."""
    dumps = [
        dump(2, inside(50), group="pg:a", ranks=(2, 3)),
        dump(3, [("AllReduce", 49, "completed")], group="pg:a", ranks=(2, 3)),
        dump(0, inside(30), group="pg:b", ranks=(0, 2)),
        dump(2, [("AllReduce", 29, "completed")], group="pg:b", ranks=(0, 2)),
    ]
    edge = run(dumps)[-1]
    assert (edge.cause, edge.subject.rank) == ("rank_absent", 3)


def test_a_rank_without_a_dump_is_named_where_the_others_wait() -> None:
    edge = run([dump(r, inside()) for r in (0, 1, 3)])[-1]
    assert (edge.cause, edge.subject.rank, edge.confidence) == ("rank_absent", 2, "medium")
    assert edge.summary.endswith("rank 2 (n1 GPU 0) left no dump")


def test_a_receive_that_nobody_sends_names_the_sender() -> None:
    pair = (0, 1, 2, 3)
    dumps = [
        dump(1, [("Recv", 9, "started")], ranks=pair, peers=[0]),
        dump(2, [("Recv", 9, "started")], ranks=pair, peers=[1]),
        dump(3, [("Recv", 9, "started")], ranks=pair, peers=[2]),
        dump(0, [("Send", 8, "completed")], ranks=pair, peers=[1]),
    ]
    edge = run(dumps)[-1]
    assert (edge.cause, edge.subject.rank) == ("rank_absent", 0)


def test_a_send_and_its_receive_that_both_do_not_end_are_the_network() -> None:
    dumps = [
        dump(0, [("Send", 9, "started")], ranks=(0, 1), peers=[1]),
        dump(1, [("Recv", 9, "started")], ranks=(0, 1), peers=[0]),
    ]
    assert run(dumps)[-1].cause == "comm_hang"


def test_ranks_in_different_collectives_wait_for_each_other() -> None:
    dumps = [
        dump(0, inside(7), group="pg:a", ranks=(0, 1)),
        dump(1, BEFORE, group="pg:a", ranks=(0, 1)),
        dump(1, inside(3), group="pg:b", ranks=(0, 1)),
        dump(0, [("AllReduce", 2, "completed")], group="pg:b", ranks=(0, 1)),
    ]
    assert run(dumps)[-1].cause == "application_hang"


def test_dumps_that_come_twice_or_in_another_order_say_the_same() -> None:
    dumps: list[Item] = [dump(0, inside()), dump(1, BEFORE), dump(2, inside()), dump(3, inside())]
    expected = run(dumps)
    assert run([*reversed(dumps), *dumps]) == expected


def test_dumps_open_a_hang_where_no_steps_are_told_if_something_waited_long() -> None:
    dumps = [dump(0, inside()), dump(1, BEFORE), dump(2, inside()), dump(3, inside())]
    assert [(f.state, f.cause) for f in run(dumps, steps=False)] == [("opened", "rank_absent")]
    fresh = [dump(r, inside() if r != 1 else BEFORE, called_s=800.0) for r in range(4)]
    assert run(fresh, steps=False) == []


def test_an_old_dump_says_nothing_of_a_hang_that_came_after() -> None:
    old = [dump(r, inside() if r != 1 else BEFORE, at_s=150.0) for r in range(4)]
    found = run(old)
    assert [f.cause for f in found] == ["job_hang_suspected"]
