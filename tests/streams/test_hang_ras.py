"""Level 2 of a hang: counts of NCCL RAS that stand still, who is behind, and who is gone."""

from collections.abc import Sequence

from msgspec import structs

from collectors.contract.job import CollectiveWindow, CommMember, JobEvent, MemberState, Placement
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.hang import HangDetector
from tests.streams.collectives import START_US, S
from tests.streams.stories_collectives import poll, step
from tests.streams.story_form import Item

HUNG_S = 205


def tick(at_s: float) -> Tick:
    return Tick(START_US + int(at_s * S))


def run(items: Sequence[Item]) -> list[Finding]:
    detector = HangDetector()
    return detector.step(detector.fresh(), items)[1]


def placed() -> JobEvent:
    rows = [Placement(rank=r, node=f"n{r // 2}", gpu_uuid=f"GPU-{r}", gpu_index=r % 2) for r in range(4)]
    return JobEvent(job="j", ts_us=START_US, kind="placed", placement=rows)


def healthy(until_s: int = 200, steps: bool = True) -> list[Item]:
    """A step and five all-reduces every ten seconds; RAS is asked every thirty."""
    out: list[Item] = [placed()]
    for at in range(10, until_s + 1, 10):
        out += step(at, at // 10) if steps else []
        out += [poll(at + 1, [at // 2] * 4)] if at % 30 == 0 else []
    return out


def hung(counts: Sequence[int], first_s: int, last_s: int, **more: object) -> list[Item]:
    """Polls whose counts stand still, and the time."""
    polls: list[Item] = [structs.replace(poll(at, counts), **more) for at in range(first_s, last_s, 30)]
    return by_time([*polls, *(tick(at) for at in range(first_s, last_s))])


def by_time(items: Sequence[Item]) -> list[Item]:
    return sorted(items, key=lambda item: item.ts_us)


def shape(found: Sequence[Finding]) -> list[tuple[str, str, int]]:
    return [(f.state, f.cause, round((f.ts_us - START_US) / S)) for f in found]


def test_a_hang_is_confirmed_within_a_minute_and_names_the_rank_that_is_behind() -> None:
    found = run([*healthy(), *hung([101, 101, 101, 100], 211, 400)])
    assert shape(found) == [("opened", "job_hang_confirmed", 260)]
    (edge,) = found
    assert (edge.subject.kind, edge.subject.id) == ("job", "j")
    assert (edge.subject.rank, edge.subject.node, edge.subject.gpu_uuid) == (3, "n1", "GPU-3")
    assert edge.summary == ("j hangs: its collective counts stand still for 30 s; 3 ranks wait for rank 3 (n1 GPU 1)")
    assert [(c.kind, c.id, c.score) for c in edge.candidates] == [("rank", "j/3", 1.0)]
    assert edge.gpu_hours_lost_per_hour == 4.0


def test_a_hang_that_is_suspected_first_gets_the_better_cause_in_the_same_episode() -> None:
    found = run([*healthy(), *hung([101, 101, 101, 100], 265, 400)])
    assert shape(found) == [("opened", "job_hang_suspected", 260), ("updated", "job_hang_confirmed", 297)]
    assert len({(f.subject.id, f.episode_us) for f in found}) == 1


def test_a_rank_that_is_late_because_it_waits_elsewhere_is_not_blamed() -> None:
    """Rank 3 is stuck. Rank 2 waits for it in their own group, so it does not come to the group of 0 and 2 either."""
    polls: list[Item] = []
    for at in range(211, 331, 30):
        polls += [
            _of(poll(at, [51, 50], "a0"), [2, 3]),
            _of(poll(at, [31, 30], "b0"), [0, 2]),
            _of(poll(at, [31, 30], "c0"), [1, 3]),
            _of(poll(at, [51, 51], "e0"), [0, 1]),
        ]
    (edge,) = run([*healthy(), *polls, tick(400)])
    assert (edge.cause, edge.subject.rank) == ("job_hang_confirmed", 3)


def test_ranks_that_wait_for_each_other_are_all_shown_and_none_is_blamed() -> None:
    polls: list[Item] = []
    for at in range(211, 331, 30):
        polls += [_of(poll(at, [51, 50], "a0"), [0, 1]), _of(poll(at, [30, 31], "b0"), [0, 1])]
    (edge,) = run([*healthy(), *polls, tick(400)])
    assert edge.summary.endswith("ranks wait for each other in different communicators")
    assert edge.candidates == []


def test_equal_counts_say_that_no_rank_is_late() -> None:
    (edge,) = run([*healthy(), *hung([101] * 4, 211, 400)])
    assert edge.cause == "job_hang_confirmed"
    assert edge.summary.endswith("are the same on all ranks: the network holds an operation, or no rank calls the next")
    assert edge.subject.rank is None


def test_counts_that_move_mean_that_only_the_reports_are_missing() -> None:
    going = [poll(at, [at // 2] * 4) for at in range(211, 700, 30)]
    found = run([*healthy(), *by_time([*going, *map(tick, range(211, 700))])])
    assert shape(found) == [("opened", "job_silent", 333)]
    assert found[0].severity == "warning"
    assert "its collectives go on" in found[0].summary


def test_counts_that_moved_after_the_last_step_are_asked_once_more_before_anybody_is_woken() -> None:
    """Polls that fall late between two steps: at the deadline one has moved, and only the next can tell why."""
    going = [poll(at, [at // 2] * 4) for at in range(231, 700, 30)]
    found = run([*healthy(), *by_time([*going, *map(tick, range(211, 700))])])
    assert [(edge.state, edge.cause, edge.severity) for edge in found] == [("opened", "job_silent", "warning")]


def test_counts_that_move_on_all_ranks_end_a_hang() -> None:
    found = run([*healthy(), *hung([101, 101, 101, 100], 211, 300), poll(301, [110] * 4), tick(310)])
    assert shape(found) == [("opened", "job_hang_confirmed", 260), ("cleared", "job_hang_confirmed", 303)]


def test_one_rank_that_moves_a_little_ends_nothing() -> None:
    more = [poll(at, [at, at, at, 100]) for at in range(301, 400, 30)]
    found = run([*healthy(), *hung([101, 101, 101, 100], 211, 300), *more])
    assert [f.state for f in found] == ["opened"]


def test_a_difference_in_a_single_poll_means_nothing() -> None:
    racing: list[Item] = []
    for at in range(210, 600, 10):
        racing += [*step(at, at // 10), poll(at + 1, [at // 2 + 1, at // 2, at // 2, at // 2])]
    assert run([*healthy(), *racing]) == []


def test_long_steps_are_found_by_their_counts_before_a_step_is_overdue() -> None:
    """Steps of 46 s: five of them are 230 s; counts that differ and stand still for two minutes say it sooner."""
    start: list[Item] = [placed()]
    for at in range(46, 500, 46):
        start += [structs.replace(one, step_s=[46.0] * 2) for one in step(at, at // 46)]
        start += [poll(at + 1 + more, [at + more] * 4) for more in (0, 15, 30)]
    last_s = 460
    found = run([*start, *hung([999, 999, 999, 998], last_s + 40, 900)])
    assert shape(found) == [("opened", "job_hang_confirmed", 622)]
    assert found[0].ts_us - START_US - (last_s + 20) * S < 180 * S


def test_a_job_without_step_reports_needs_ten_minutes_of_standing_still() -> None:
    start = healthy(steps=False)
    assert run([*start, *hung([101, 101, 101, 100], 211, 800)]) == []
    (edge,) = run([*start, *hung([101, 101, 101, 100], 211, 900)])
    assert (edge.cause, round((edge.ts_us - START_US) / S), edge.subject.rank) == ("job_hang_confirmed", 813, 3)


def test_a_start_that_stands_still_is_no_hang() -> None:
    """Rank 0 loads a checkpoint and the others wait for it in their first broadcast."""
    assert run([placed(), *hung([0, 1, 1, 1], 11, 2000)]) == []


def test_a_process_that_ras_gave_up_is_dead() -> None:
    (edge,) = run([*healthy(), *hung([101, 101, 101, 100], 211, 400, members=_members(dead=[3]))])
    assert edge.cause == "process_dead"
    assert edge.summary.startswith("j stands still: rank 3 (n1 GPU 1) is gone; RAS has not reached")


def test_all_processes_of_a_host_are_a_dead_host() -> None:
    (edge,) = run([*healthy(), *hung([101, 101, 100, 100], 211, 400, members=_members(dead=[2, 3]))])
    assert (edge.cause, edge.subject.node) == ("host_dead", "n1")


def test_a_heartbeat_that_stops_makes_a_suspected_hang_a_dead_process() -> None:
    beats = [_beat(at, rank) for at in range(15, 400, 30) for rank in range(4) if rank != 3 or at < HUNG_S]
    items = by_time([*healthy(), *beats, *map(tick, range(200, 400))])
    found = run([item for item in items if not isinstance(item, CollectiveWindow)])
    assert shape(found) == [("opened", "job_hang_suspected", 260), ("updated", "process_dead", 285)]
    assert found[1].subject.rank == 3


def test_heartbeats_that_come_again_node_by_node_do_not_make_those_dead_that_come_last() -> None:
    beats = [_beat(at, rank) for at in range(15, HUNG_S, 30) for rank in range(4)]
    back = [_beat(at + (20 if rank > 1 else 0), rank) for at in range(415, 560, 30) for rank in range(4)]
    items = by_time([*healthy(), *beats, *back, *map(tick, range(200, 560))])
    found = run([item for item in items if not isinstance(item, CollectiveWindow)])
    assert [edge.cause for edge in found] == ["job_hang_suspected", "job_silent", "job_hang_suspected"]


def test_an_end_while_it_hangs_clears_it() -> None:
    ended = JobEvent(job="j", ts_us=START_US + 350 * S, kind="ended", state="failed")
    found = run([*healthy(), *hung([101, 101, 101, 100], 211, 340), ended, *hung([101] * 4, 361, 800)])
    assert [f.state for f in found] == ["opened", "cleared"]


def test_ten_thousand_ranks_in_a_thousand_communicators_are_counted_quickly_and_bounded() -> None:
    detector = HangDetector()
    state = detector.fresh()
    for at in (11, 41):
        for comm in range(5000):
            state, _ = detector.step(state, [poll(at, [7, 7, 7, 6], f"{comm:016x}")])
    assert len(state.ras.comms) == detector.limits.most_comms


def _members(dead: Sequence[int]) -> list[CommMember]:
    def state(rank: int) -> MemberState:
        return "dead" if rank in dead else "ready"

    return [CommMember(rank=r, host=f"n{r // 2}", pid=1000 + r, nvml=r % 2, state=state(r)) for r in range(4)]


def _of(window: CollectiveWindow, ranks: Sequence[int]) -> CollectiveWindow:
    """The communicator's ranks are these of the job."""
    members = [
        CommMember(rank=i, host=f"n{r // 2}", pid=1000 + r, nvml=r % 2, state="ready") for i, r in enumerate(ranks)
    ]
    return structs.replace(window, members=members)


def _beat(at_s: int, rank: int) -> JobEvent:
    return JobEvent(
        job="j", ts_us=START_US + at_s * S, kind="heartbeat", rank=rank, node=f"n{rank // 2}", pid=1000 + rank
    )
