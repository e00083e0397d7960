"""Jobs that hang: known phases, heartbeats, ranks that are missing, and the end that is no silence."""

from collections.abc import Sequence

from collectors.contract.job import JobEvent, JobEventKind, Phase, StepReport
from collectors.contract.message import Message
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.hang import HangDetector

S = 1_000_000
T0 = 1_700_000_000
Items = list[Message | Tick]


def report(
    ts_s: float,
    step: int,
    *,
    node: str = "n0",
    first: int = 0,
    ranks: int = 2,
    phase: Phase = "train",
    step_s: float = 10.0,
    attempt: int = 0,
    checkpoint_s: float | None = None,
) -> StepReport:
    return StepReport(
        ts_us=int((T0 + ts_s) * S),
        job="j",
        attempt=attempt,
        node=node,
        rank=list(range(first, first + ranks)),
        step=[step] * ranks,
        phase=[phase] * ranks,
        step_s=[step_s] * ranks,
        checkpoint_s=[checkpoint_s] * ranks if checkpoint_s is not None else [],
    )


def event(ts_s: float, kind: JobEventKind, attempt: int = 0, seconds: float | None = None) -> JobEvent:
    return JobEvent(ts_us=int((T0 + ts_s) * S), job="j", attempt=attempt, kind=kind, seconds=seconds)


def tick(ts_s: float) -> Tick:
    return Tick(int((T0 + ts_s) * S))


def steps(n: int, every_s: float = 10.0) -> Items:
    """`n` steps of two nodes with two ranks each; the second reports a moment later."""
    out: Items = []
    for i in range(n):
        out.append(report(every_s * i, i, step_s=every_s))
        out.append(report(every_s * i + 0.5, i, node="n1", first=2, step_s=every_s))
    return out


def run(items: Sequence[Message | Tick]) -> list[Finding]:
    detector = HangDetector()
    return detector.step(detector.fresh(), items)[1]


def shape(findings: Sequence[Finding]) -> list[tuple[str, str, float]]:
    return [(f.state, f.cause, f.ts_us / S - T0) for f in findings]


def test_a_job_without_a_step_for_five_of_its_step_times_may_hang() -> None:
    start = steps(11, every_s=20)
    assert run([*start, tick(300)]) == []
    found = run([*start, tick(301)])
    assert shape(found) == [("opened", "job_hang_suspected", 300.5)]
    assert (found[0].subject.kind, found[0].subject.id, found[0].jobs) == ("job", "j", ["j"])


def test_a_job_of_short_steps_gets_a_minute() -> None:
    assert shape(run([*steps(100, every_s=1), tick(500)])) == [("opened", "job_hang_suspected", 159.5)]


def test_a_node_that_reports_many_steps_at_once_sets_the_rhythm() -> None:
    flushed: Items = [report(70 * i, 10 * i, step_s=7.0) for i in range(20)]
    assert run([*flushed, tick(70 * 19 + 200)]) == []


def test_heartbeats_tell_hung_from_dead() -> None:
    start = steps(11)
    alive = [event(100 + 30 * i, "heartbeat") for i in range(4)]
    dead = [event(10, "heartbeat")]
    assert shape(run([*start, *alive, tick(279)])) == [("opened", "job_hang_suspected", 160.5)]
    assert shape(run([*start[:4], *dead, *start[4:], tick(500)])) == [("opened", "job_silent", 160.5)]


def test_a_job_whose_heartbeats_stop_with_its_steps_is_gone_and_not_stuck() -> None:
    """A minute after the last step the last heartbeat is not old enough to say so: it is said when it is."""
    beats = [event(10 + 30 * i, "heartbeat") for i in range(4)]
    items = sorted([*steps(11), *beats], key=lambda item: item.ts_us)
    found = run([*items, tick(500)])
    assert shape(found) == [("opened", "job_hang_suspected", 160.5), ("updated", "job_silent", 190)]
    assert found[0].summary.endswith("its last heartbeat came 60 s ago")
    assert found[1].summary.endswith("its heartbeats stopped too")
    again = [event(300 + 30 * i, "heartbeat") for i in range(4)]
    assert shape(run([*items, tick(299), *again]))[2:] == [("updated", "job_hang_suspected", 390)]
    late = run([*items, tick(299), *again, tick(600)])
    assert shape(late)[3:] == [("updated", "job_silent", 480)]


def test_a_worker_that_starts_again_waits_for_heartbeats_before_it_calls_a_job_gone() -> None:
    """What was kept of them may be a minute old."""
    beats = [event(100 + 30 * i, "heartbeat") for i in range(4)]
    detector = HangDetector()
    state, before = detector.step(detector.fresh(), [*steps(11), *beats[:2], tick(165), *beats[2:]])
    assert shape(before) == [("opened", "job_hang_suspected", 160.5)]
    kept = detector.keep(state)
    assert kept is not None
    state, after = detector.step(detector.restore(kept), [tick(260), event(280, "heartbeat"), tick(340)])
    assert after == []
    _, after = detector.step(state, [tick(380)])
    assert shape(after) == [("updated", "job_silent", 370)]


def test_a_job_that_ended_is_not_silent() -> None:
    assert run([*steps(11), event(101, "ended"), tick(5000)]) == []


def test_a_job_that_never_reported_a_step_is_not_watched() -> None:
    assert run([event(0, "placed"), event(1, "started"), event(30, "heartbeat"), tick(90000)]) == []


def test_steps_that_end_again_clear_it() -> None:
    found = run([*steps(11), tick(300), report(310, 11), tick(320)])
    assert shape(found) == [("opened", "job_hang_suspected", 160.5), ("cleared", "job_hang_suspected", 310)]
    assert len({f.episode_us for f in found}) == 1


def test_a_step_held_up_by_a_hang_does_not_make_hangs_normal() -> None:
    held: Items = [report(1000, 11, step_s=900.0), report(1000.5, 11, node="n1", first=2, step_s=900.0)]
    found = run([*steps(11), *held, tick(1500)])
    assert shape(found) == [
        ("opened", "job_hang_suspected", 160.5),
        ("cleared", "job_hang_suspected", 1000),
        ("opened", "job_hang_suspected", 1072.5),
    ]


def test_the_end_closes_an_open_hang() -> None:
    found = run([*steps(11), tick(300), event(310, "ended")])
    assert [f.state for f in found] == ["opened", "cleared"]


def test_the_last_words_of_an_ended_job_do_not_wake_it() -> None:
    assert run([*steps(10), event(95, "ended"), report(100, 10), tick(9000)]) == []


def test_an_ended_job_is_forgotten_after_an_hour() -> None:
    detector = HangDetector()
    state, _ = detector.step(detector.fresh(), [*steps(10), event(95, "ended"), tick(95 + 3600)])
    assert state == detector.fresh()
    assert detector.keep(state) is None


def test_a_checkpoint_may_take_three_times_the_longest_one() -> None:
    saved = [report(110, 11, phase="checkpoint", checkpoint_s=100.0)]
    assert run([*steps(11), *saved, tick(409)]) == []
    assert shape(run([*steps(11), *saved, tick(411)])) == [("opened", "job_hang_suspected", 410)]


def test_the_first_checkpoint_may_take_45_minutes() -> None:
    begun = [event(105, "checkpoint")]
    assert run([*steps(11), *begun, tick(105 + 2699)]) == []
    assert len(run([*steps(11), *begun, tick(105 + 2701)])) == 1


def test_an_evaluation_may_take_ten_minutes() -> None:
    evaluation = [report(110, 11, phase="eval"), report(110.5, 11, node="n1", first=2, phase="eval")]
    assert run([*steps(11), *evaluation, tick(710)]) == []
    assert len(run([*steps(11), *evaluation, tick(711)])) == 1


def test_a_restart_may_load_for_long_and_ends_the_hang_before_it() -> None:
    found = run([*steps(11), tick(300), event(400, "restarted", attempt=1), tick(2000)])
    assert [f.state for f in found] == ["opened", "cleared"]


def test_ranks_that_stop_while_others_go_on_are_named() -> None:
    rest: Items = [report(110 + 10 * i, 11 + i) for i in range(8)]
    found = run([*steps(11), *rest])
    assert shape(found) == [("opened", "rank_silent", 160.5)]
    assert found[0].summary.endswith(": 2, 3 (n1)")
    assert found[0].severity == "warning"
    back: Items = [report(190, 19), report(190.5, 19, node="n1", first=2)]
    assert shape(run([*steps(11), *rest, *back]))[-1] == ("cleared", "rank_silent", 190.5)


def test_a_job_that_stops_as_a_whole_is_one_finding() -> None:
    ticks = [tick(100 + 0.25 * i) for i in range(2000)]
    assert [f.cause for f in run([*steps(11), *ticks])] == ["job_hang_suspected"]


def test_the_ranks_behind_are_named_in_a_hang() -> None:
    start = [*steps(11), report(110, 11, ranks=2), report(110.1, 11, node="n1", first=2, ranks=1)]
    (edge,) = run([*start, tick(999)])
    assert "ranks behind the others: 3" in [e.what for e in edge.evidence]


def test_ticks_in_any_rhythm_and_messages_twice_change_nothing() -> None:
    items: Items = [*steps(11), report(400, 11), event(405, "ended")]
    expected = run(items)
    assert [f.state for f in expected] == ["opened", "cleared"]
    assert run([m for item in items for m in (item, item)]) == expected
    dense = [*items[:-2], *(tick(101 + t) for t in range(290)), *items[-2:]]
    assert run(dense) == expected


def test_an_open_hang_survives_a_restart() -> None:
    detector = HangDetector()
    items = steps(11)
    state, before = detector.step(detector.fresh(), [*items, tick(300)])
    kept = detector.keep(state)
    assert kept is not None
    state, warm = detector.step(detector.restore(kept), items)
    assert warm == []
    after = detector.step(state, [tick(305), report(310, 11)])[1]
    assert before + after == run([*items, tick(300), tick(305), report(310, 11)])
