"""Datagrams of a node's ranks as step reports and job events; hostile ones as rejects."""

import json
from typing import Any

import pytest

from collectors.contract.job import Coords, JobEvent, ModelShape, Placement, StepReport
from collectors.contract.topics import JOB_EVENTS, JOB_PLACEMENTS, JOB_STEPS
from collectors.steps.batch import ROWS_A_REPORT
from collectors.steps.intake import Intake
from collectors.steps.life import JOBS, MOST_ALIASES
from tests.collectors.list_outlet import ListOutlet

NOW = 1_764_500_000_000_000


def datagram(type_: str, rank: int = 0, **fields: Any) -> bytes:
    return json.dumps({"type": type_, "job": "j", "attempt": 0, "rank": rank, "dropped": 0, **fields}).encode()


def step(rank: int, number: int, **fields: Any) -> bytes:
    return datagram("step", rank, step=number, phase="train", **fields)


def hello(rank: int, **fields: Any) -> bytes:
    return datagram("hello", rank, ts_us=NOW, world_size=2, pid=100 + rank, **fields)


def taken(*flushes: list[bytes]) -> ListOutlet:
    outlet = ListOutlet()
    intake = Intake("c", "n1", "/s", outlet, lambda: NOW)
    for datagrams in flushes:
        intake.take(datagrams, [], 0)
    intake.beat(10.0)
    return outlet


def test_a_flush_is_one_report_for_each_job() -> None:
    other = json.dumps({"type": "step", "job": "k", "attempt": 3, "rank": 9, "step": 1}).encode()
    outlet = taken([step(0, 5, step_s=1.0, compute_s=0.5, tokens=8), step(1, 5, step_s=1.5), other])
    assert outlet.of(JOB_STEPS) == [
        StepReport(
            cluster="c",
            ts_us=NOW,
            job="j",
            node="n1",
            rank=[0, 1],
            step=[5, 5],
            phase=["train", "train"],
            step_s=[1.0, 1.5],
            compute_s=[0.5, None],
            tokens=[8, None],
        ),
        StepReport(cluster="c", ts_us=NOW, job="k", attempt=3, node="n1", rank=[9], step=[1], phase=["train"]),
    ]


def test_zero_seconds_are_not_unknown() -> None:
    assert taken([step(0, 1, wait_s=0.0)]).of(JOB_STEPS)[0].wait_s == [0.0]


def test_a_flush_without_steps_sends_nothing() -> None:
    assert taken([]).published == []


def test_a_long_flush_comes_in_pieces() -> None:
    reports = taken([step(0, number) for number in range(ROWS_A_REPORT + 1)]).of(JOB_STEPS)
    assert [len(report.rank) for report in reports] == [ROWS_A_REPORT, 1]


def test_many_microbatches_make_a_report_shorter() -> None:
    times = [0.123456] * 1600
    rows = [step(0, n, microbatch_forward_s=times, microbatch_backward_s=times) for n in range(30)]
    reports = taken(rows).of(JOB_STEPS)
    assert [len(report.rank) for report in reports] == [9, 9, 9, 3]
    assert max(len(JOB_STEPS.encode(report)) for report in reports) < 400_000
    assert reports[0].microbatch_forward_s == [times] * 9


def test_steps_of_two_configurations_are_two_reports() -> None:
    rows = [step(0, 1, config_hash="a"), step(0, 2, config_hash="b", global_batch_size=64), step(1, 1, config_hash="a")]
    first, second = taken(rows).of(JOB_STEPS)
    assert (first.config_hash, first.step, first.global_batch_size) == ("a", [1, 1], [])
    assert (second.config_hash, second.step, second.global_batch_size) == ("b", [2], [64])


def test_the_start_and_a_note_carry_the_configuration() -> None:
    note = datagram("event", kind="note", ts_us=NOW, state="config", config_hash="b", step=9)
    events = taken([hello(0, config_hash="a"), note]).of(JOB_EVENTS)
    assert [(e.kind, e.state, e.config_hash, e.step) for e in events] == [
        ("started", None, "a", None),
        ("note", "config", "b", 9),
    ]


def test_a_placement_carries_virtual_stages() -> None:
    coords = {"pp": 0, "virtual_stages": [0, 2]}
    outlet = taken([hello(0, coords=coords), hello(1, coords={"pp": 1, "virtual_stages": [1, 3]})])
    (placed,) = outlet.of(JOB_PLACEMENTS)
    assert [place.coords.virtual_stages for place in placed.placement] == [(0, 2), (1, 3)]


def test_steps_before_an_event_are_published_before_it() -> None:
    end = datagram("event", kind="ended", ts_us=NOW, state="completed")
    beat = datagram("event", kind="heartbeat", ts_us=NOW)
    outlet = taken([step(0, 1), beat, step(1, 1), end, step(0, 2)])
    assert [(name, getattr(m, "kind", None)) for name, m in outlet.published] == [
        (JOB_EVENTS.name, "heartbeat"),
        (JOB_STEPS.name, None),
        (JOB_EVENTS.name, "ended"),
        (JOB_STEPS.name, None),
    ]


def test_rank_0_starts_the_job_with_its_model() -> None:
    events = taken([hello(0, model={"layers": 2, "params": 7e9}, flops_per_token=4.2e10), hello(1)]).of(JOB_EVENTS)
    assert events[0] == JobEvent(
        cluster="c",
        ts_us=NOW,
        job="j",
        kind="started",
        model=ModelShape(layers=2, params=7e9),
        flops_per_token=4.2e10,
        rank=0,
        node="n1",
        pid=100,
    )


def test_a_later_attempt_is_a_restart() -> None:
    assert [event.kind for event in taken([hello(0, attempt=1)]).of(JOB_EVENTS)] == ["restarted"]


def test_a_job_on_one_node_is_placed_when_its_last_rank_came() -> None:
    outlet = taken([hello(1, gpu_uuid="GPU-b", coords={"dp": 1})], [hello(0, gpu_uuid="GPU-a", gpu_model="H100")])
    placed = outlet.of(JOB_PLACEMENTS)
    assert [event.placement for event in placed] == [
        [
            Placement(rank=0, node="n1", gpu_uuid="GPU-a", gpu_model="H100"),
            Placement(rank=1, node="n1", gpu_uuid="GPU-b", coords=Coords(dp=1)),
        ]
    ]
    assert placed[0] in outlet.of(JOB_EVENTS)


def test_a_rank_that_greets_again_changes_nothing() -> None:
    outlet = taken([hello(0), hello(1), hello(1), hello(0)])
    assert len(outlet.of(JOB_PLACEMENTS)) == 1


def test_a_part_of_a_job_is_never_told_as_its_placement() -> None:
    assert taken([hello(0)]).of(JOB_PLACEMENTS) == []


def placed(part: int, parts: int, *ranks: int, ts_us: int = NOW) -> bytes:
    rows = [{"rank": rank, "node": f"n{rank}"} for rank in ranks]
    return datagram("placed", ts_us=ts_us, part=part, parts=parts, ranks=rows)


def test_a_gathered_placement_is_told_when_all_parts_came() -> None:
    outlet = taken([placed(1, 2, 2, 3)], [placed(0, 2, 1, 0)])
    assert [[row.node for row in event.placement] for event in outlet.of(JOB_PLACEMENTS)] == [["n0", "n1", "n2", "n3"]]


def test_parts_of_an_older_gathering_do_not_mix_in() -> None:
    outlet = taken([placed(0, 2, 0), placed(1, 2, 9, ts_us=NOW + 1), placed(1, 2, 1), placed(0, 2, 8, ts_us=NOW + 1)])
    assert [[row.rank for row in event.placement] for event in outlet.of(JOB_PLACEMENTS)] == [[8, 9]]


def test_a_job_tells_its_names_at_the_scheduler_with_its_start_and_its_placement() -> None:
    names = ["4711", "4700_11"]
    outlet = taken([hello(0, aliases=names, pod="ml/llm-0"), hello(1, aliases=names, pod="ml/llm-1")])
    start, place = outlet.of(JOB_EVENTS)
    assert (start.kind, start.aliases) == ("started", ["4711", "4700_11", "ml/llm-0"])
    assert (place.kind, place.aliases) == ("placed", ["4711", "4700_11", "ml/llm-0", "ml/llm-1"])
    assert [row.pod for row in place.placement] == ["ml/llm-0", "ml/llm-1"]


def test_a_gathered_placement_tells_each_pod_once_and_only_so_many() -> None:
    def rank(number: int, pod: str) -> dict[str, Any]:
        return {"rank": number, "node": f"n{number}", "pod": pod}

    def part(number: int, parts: int, rows: list[dict[str, Any]]) -> bytes:
        return datagram("placed", ts_us=NOW, part=number, parts=parts, ranks=rows, aliases=["4711", "j"])

    two = [rank(0, "ml/a"), rank(1, "ml/a"), rank(2, "ml/b")]
    (event,) = taken([part(0, 1, two)]).of(JOB_PLACEMENTS)
    assert event.aliases == ["4711", "ml/a", "ml/b"]
    many = [[rank(number, f"ml/p{number}") for number in range(at, at + 1000)] for at in range(0, 5000, 1000)]
    (event,) = taken([part(at, 5, rows) for at, rows in enumerate(many)]).of(JOB_PLACEMENTS)
    assert (len(event.placement), len(event.aliases)) == (5000, MOST_ALIASES)


def test_a_host_name_that_is_the_nodes_is_no_pods() -> None:
    row = {"rank": 0, "node": "n7.cluster.local", "pod": "ml/n7"}
    (event,) = taken([datagram("placed", ts_us=NOW, part=0, parts=1, ranks=[row])]).of(JOB_PLACEMENTS)
    assert (event.placement[0].pod, event.aliases) == (None, [])
    assert taken([hello(0, pod="ml/n1")]).of(JOB_EVENTS)[0].aliases == []


def test_a_gathered_placement_is_not_overruled_by_greetings() -> None:
    outlet = taken([placed(0, 1, 0, 1), hello(0), hello(1)])
    assert [event.placement[0].node for event in outlet.of(JOB_PLACEMENTS)] == ["n0"]


def test_endless_jobs_are_forgotten_and_not_kept() -> None:
    outlet = ListOutlet()
    intake = Intake("c", "n1", "/s", outlet, lambda: NOW)
    for number in range(JOBS + 1):
        intake.take([datagram("hello", 0, ts_us=NOW, world_size=2).replace(b'"j"', b'"%d"' % number)], [], 0)
    intake.take([datagram("hello", 1, ts_us=NOW, world_size=2).replace(b'"j"', b'"0"')], [], 0)
    intake.take([datagram("hello", 1, ts_us=NOW, world_size=2).replace(b'"j"', b'"9"')], [], 0)
    assert [event.job for event in outlet.of(JOB_PLACEMENTS)] == ["9"]


HOSTILE = {
    b"": "truncated",
    b"\xff\xfe": "malformed",
    b"[" * 100_000: "Expected `object`",
    b'{"x":' * 100_000: "recursion",
    datagram("spam"): "Invalid value 'spam'",
    datagram("step"): "missing required field `step`",
    step(-1, 1): "at `$.rank`",
    step(1 << 30, 1): "at `$.rank`",
    step(0, 1, step_s=-1.0): "at `$.step_s`",
    step(0, 1, step_s=1e300): "at `$.step_s`",
    step(0, 1, tokens=1 << 70): "at `$.tokens`",
    step(0, 1, start_us=1): "is not of this week",
    step(0, 1, job="x" * 300): "at `$.job`",
    step(0, 1, job=""): "at `$.job`",
    datagram("step", step=1, phase="lunch"): "Invalid enum value 'lunch'",
    hello(2): "rank 2 of 2",
    hello(0, flops_per_token=-1): "flops_per_token",
    hello(0, coords={"dp": "x"}): "at `$.coords.dp`",
    datagram("event", kind="placed", ts_us=NOW): "comes as its own datagram",
    datagram("event", kind="ended", ts_us=NOW + 3_600_000_000): "is not of this week",
    placed(3, 2, 0): "part 3 of 2",
    hello(0, pod="no-namespace"): "at `$.pod`",
    hello(0, aliases=["x"] * 17): "at `$.aliases`",
}


@pytest.mark.parametrize("raw", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_datagram_is_rejected_with_the_reason(raw: bytes) -> None:
    outlet = taken([raw, step(0, 1)])
    assert [(source, bad) for source, bad, _ in outlet.rejected] == [("steps:/s", raw)]
    assert HOSTILE[raw] in outlet.rejected[0][2]
    assert len(outlet.of(JOB_STEPS)) == 1


def test_a_beat_says_what_was_lost() -> None:
    outlet = ListOutlet()
    intake = Intake("c", "n1", "/s", outlet, lambda: NOW)
    intake.take([step(0, 1, dropped=3)], [b"long"], 2)
    intake.beat(10.0)
    intake.beat(10.0)
    read = len(step(0, 1, dropped=3)) + len(b"long")
    assert [(beat.messages, beat.samples, beat.bytes, beat.error) for beat in outlet.beats] == [
        (1, 1, read, "3 datagrams were dropped by clients; 2 datagrams came faster than they could be read"),
        (0, 0, 0, None),
    ]
    assert outlet.rejected == [("steps:/s", b"long", "longer than any datagram of the training client")]
