"""Slurm's JSON of every age as placements and ends."""

import argparse
import asyncio
import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collectors.contract.job import Placement
from collectors.contract.kafka import kafka_settings
from collectors.contract.topics import JOB_EVENTS, JOB_PLACEMENTS
from collectors.placement.listing import Ended, Held, Listing
from collectors.placement.told import news
from collectors.slurm import source
from collectors.slurm.gres import GresError, gpus_of_tres, indexes
from collectors.slurm.reply import ReplyError, read_reply
from collectors.source import SourceError
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.slurm_json import reply, sacct_job, scontrol_job

START_US = 1_767_348_000_000_000


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("LOCKSTEP_STATE", str(tmp_path / "state"))
    kafka_settings.cache_clear()
    yield tmp_path
    kafka_settings.cache_clear()


def read(*jobs: dict[str, Any], **more: Any) -> Listing:
    return read_reply(json.dumps(reply(*jobs, **more)).encode())


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--interval", type=float, default=0.01)
    source.add_arguments(parser)
    return parser.parse_args(words)


GRES = {
    "gpu:a100:2(IDX:0-1)": [0, 1],
    "gpu:a100:3(IDX:0,2-3)": [0, 2, 3],
    "gpu(IDX:0-7)": [0, 1, 2, 3, 4, 5, 6, 7],
    "gpu:2(CNT:2)": [None, None],
    "gpu:8": [None] * 8,
    "gres/gpu:h100:2(IDX:4-5)": [4, 5],
    "gpu:a100:1(IDX:0),gpu:h100:1(IDX:6)": [0, 6],
    "gpu:a100:2(IDX:N/A)": [None, None],
    "shard:4(0/2,1/2),license:1": [],
    "": [],
}


@pytest.mark.parametrize("text", GRES)
def test_a_nodes_gpus_are_read_from_its_generic_resources(text: str) -> None:
    assert indexes(text) == GRES[text]


@pytest.mark.parametrize("text", ["gpu:2(IDX:0-99999)", "gpu:999999", "gpu:2(IDX:a)", "gpu:1(CNT:x)"])
def test_resources_that_are_no_gpus_of_a_node_are_said(text: str) -> None:
    with pytest.raises(GresError):
        indexes(text)


def test_typed_and_untyped_gpus_are_not_added_up() -> None:
    assert gpus_of_tres("cpu=16,gres/gpu=4,gres/gpu:h100=4") == 4
    assert gpus_of_tres("gres/gpu:h100=4,gres/gpu:a100=2") == 6
    assert gpus_of_tres("cpu=16,mem=128G") == 0


@pytest.mark.parametrize("new", [True, False])
def test_a_running_job_holds_its_gpus_by_node_and_index(new: bool) -> None:
    (held,) = read(scontrol_job(4711, "RUNNING", new=new)).held
    assert held == Held(
        job="4711",
        attempt=0,
        since_us=START_US,
        placement=(
            Placement(rank=-1, node="gpu-005", gpu_index=0),
            Placement(rank=-2, node="gpu-005", gpu_index=1),
            Placement(rank=-3, node="gpu-006", gpu_index=3),
            Placement(rank=-4, node="gpu-006", gpu_index=7),
        ),
    )


def test_a_running_job_with_a_flag_still_runs() -> None:
    job = scontrol_job(1, "RUNNING") | {"job_state": ["RUNNING", "COMPLETING"]}
    assert [held.job for held in read(job).held] == ["1"]


def test_a_task_of_an_array_is_known_by_both_names() -> None:
    job = scontrol_job(4712, "RUNNING") | {
        "array_job_id": {"set": True, "infinite": False, "number": 4700},
        "array_task_id": {"set": True, "infinite": False, "number": 12},
    }
    (held,) = read(job).held
    assert (held.job, held.aliases) == ("4712", ("4700_12",))


def test_without_indexes_the_number_of_gpus_is_told_and_none_is_made_up() -> None:
    (held,) = read(sacct_job(9, "RUNNING")).held
    assert [(p.node, p.gpu_index) for p in held.placement] == [
        ("gpu-005", None),
        ("gpu-005", None),
        ("gpu-006", None),
        ("gpu-006", None),
    ]


def test_gpus_that_do_not_go_into_the_nodes_evenly_are_said() -> None:
    listing = read(scontrol_job(5, "RUNNING", gres_detail=[], tres_alloc_str="gres/gpu=3"))
    assert (listing.held, listing.complete) == ((), False)
    assert listing.unread == ("job 5: 3 GPUs on 2 nodes, and no gres_detail that says which",)


def test_a_job_without_gpus_or_without_nodes_is_none_of_ours() -> None:
    idle = scontrol_job(1, "RUNNING", gres_detail=[], tres_alloc_str="cpu=4,mem=1G,node=1")
    waiting = scontrol_job(2, "PENDING", nodes="", gres_detail=[])
    assert read(idle, waiting) == Listing("slurm", (), ())


ENDS = {
    "COMPLETED": ("completed", None),
    "NODE_FAIL": ("node_fail", None),
    "TIMEOUT": ("timeout", "TimeLimit"),
    "FAILED": ("failed", "NonZeroExitCode, exit code 1"),
}


@pytest.mark.parametrize("state", ENDS)
def test_an_end_has_slurms_own_word_and_reason(state: str) -> None:
    word, reason = ENDS[state]
    more: dict[str, Any] = {"state_reason": reason.partition(",")[0] if reason else "None"}
    if state == "FAILED":
        more["exit_code"] = sacct_job(1, state)["exit_code"]
    (ended,) = read(scontrol_job(7, state, **more)).ended
    assert ended == Ended(job="7", attempt=0, ts_us=1_767_400_000_000_000, state=word, reason=reason)


def test_sacct_tells_ends_too() -> None:
    (ended,) = read(sacct_job(7, "OUT_OF_MEMORY")).ended
    assert (ended.state, ended.reason, ended.ts_us) == ("out_of_memory", "exit code 1", 1_767_351_600_000_000)


def test_a_requeued_job_that_waits_has_ended_its_former_life() -> None:
    waiting = scontrol_job(7, "PENDING", nodes="", gres_detail=[], restart_cnt=2)
    (ended,) = read(waiting).ended
    assert (ended.state, ended.attempt, ended.ts_us) == ("requeued", 1000, 1_767_347_000_000_000)
    (held,) = read(scontrol_job(7, "RUNNING", restart_cnt=2)).held
    assert held.attempt == 2000


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"", "not JSON"),
        (b"[]", "no list of jobs"),
        (b'{"jobs": 3}', "no list of jobs"),
        (json.dumps(reply(errors=[{"description": "Unable to query jobs"}])).encode(), "Unable to query jobs"),
    ],
)
def test_what_is_no_answer_is_said(raw: bytes, said: str) -> None:
    with pytest.raises(ReplyError, match=said):
        read_reply(raw)


def test_one_bad_job_hides_no_other_and_ends_none() -> None:
    listing = read({"job_id": "x"}, scontrol_job(2, "RUNNING"), scontrol_job(3, "RUNNING", nodes="gpu-[1-"))
    assert [held.job for held in listing.held] == ["2"]
    assert len(listing.unread) == 2
    kept, events = news({"99": _told()}, listing, 5, "c")
    assert ([e.job for e in events], "99" in kept) == (["2"], True)


def test_a_time_outside_the_calendar_is_none() -> None:
    running = scontrol_job(1, "RUNNING", start_time=10**12)
    assert read(running).unread == ("job 1: RUNNING without a start time",)
    assert read(scontrol_job(1, "FAILED", end_time=10**12)).ended == ()


def _told() -> Any:
    from collectors.placement.told import Told

    return Told(0, 1, "x", 2)


def test_only_news_is_told_and_a_job_that_is_listed_no_more_has_ended() -> None:
    running = read(scontrol_job(1, "RUNNING"), scontrol_job(2, "RUNNING"))
    jobs, first = news({}, running, 10, "c")
    assert [(e.kind, e.job, e.source, e.ts_us) for e in first] == [
        ("placed", "1", "slurm", START_US),
        ("placed", "2", "slurm", START_US),
    ]
    jobs, again = news(jobs, running, 20, "c")
    assert again == []
    jobs, ends = news(jobs, read(scontrol_job(1, "FAILED")), 30, "c")
    assert [(e.kind, e.job, e.state, e.ts_us) for e in ends] == [
        ("ended", "1", "failed", 1_767_400_000_000_000),
        ("ended", "2", "unknown", 20),
    ]
    assert jobs == {}


def test_a_job_that_was_given_other_gpus_is_placed_again_now() -> None:
    jobs, _ = news({}, read(scontrol_job(1, "RUNNING")), 10, "c")
    smaller = scontrol_job(1, "RUNNING", nodes="gpu-005", gres_detail=["gpu:2(IDX:0-1)"])
    _, (event,) = news(jobs, read(smaller), START_US + 99, "c")
    assert (event.ts_us, len(event.placement)) == (START_US + 99, 2)


def test_a_file_is_read_once_and_everything_in_it_is_told(state: Path) -> None:
    file = state / "jobs.json"
    file.write_text(json.dumps(reply(scontrol_job(1, "RUNNING"), scontrol_job(2, "NODE_FAIL"), {"job_id": None})))
    outlet = ListOutlet()
    assert source.once(options("--file", str(file)), outlet) == 2
    assert [e.job for e in outlet.of(JOB_PLACEMENTS)] == ["1"]
    assert [(e.job, e.state) for e in outlet.of(JOB_EVENTS)] == [("2", "node_fail")]
    assert outlet.rejected == [(f"slurm:{file}", b"", "job None: no job_id")]


def test_a_missing_file_is_said(state: Path) -> None:
    with pytest.raises(SourceError, match=r"none\.json: No such file"):
        source.once(options("--file", str(state / "none.json")), ListOutlet())


def fake_scontrol(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A command on the path that writes the answer beside it, or fails as Slurm does."""
    answer, command = folder / "answer.json", folder / "scontrol"
    command.write_text(
        f'#!/bin/sh\n[ "$1 $2 $3" = "show job --json" ] || exit 9\n[ -f {answer} ] && exec cat {answer}\n'
        'echo "scontrol: error: Unable to contact slurm controller (connect failure)" >&2; exit 1\n'
    )
    command.chmod(command.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return answer


def test_slurm_is_asked_again_and_its_silence_ends_no_job(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = fake_scontrol(state, monkeypatch)
    outlet = ListOutlet()

    async def until(so: Any) -> None:
        while not so():
            await asyncio.sleep(0.01)

    async def run() -> None:
        serving = asyncio.create_task(source.serve(options(), outlet))
        answer.write_text(json.dumps(reply(scontrol_job(1, "RUNNING"))))
        await until(lambda: outlet.of(JOB_PLACEMENTS))
        answer.unlink()
        await until(lambda: any(not beat.ok for beat in outlet.beats))
        bad = next(beat for beat in outlet.beats if not beat.ok)
        assert bad.error == "scontrol: error: Unable to contact slurm controller (connect failure)"
        assert outlet.of(JOB_EVENTS) == []
        answer.write_text(json.dumps(reply(scontrol_job(1, "COMPLETED"))))
        await until(lambda: outlet.of(JOB_EVENTS))
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    asyncio.run(asyncio.wait_for(run(), 30))
    assert len(outlet.of(JOB_PLACEMENTS)) == 1
    assert [(e.job, e.state) for e in outlet.of(JOB_EVENTS)] == [("1", "completed")]


def test_a_restart_tells_nothing_twice_and_misses_no_end(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = fake_scontrol(state, monkeypatch)
    answer.write_text(json.dumps(reply(scontrol_job(1, "RUNNING"), scontrol_job(2, "RUNNING"))))

    def life(enough: int) -> ListOutlet:
        outlet = ListOutlet()

        async def run() -> None:
            serving = asyncio.create_task(source.serve(options(), outlet))
            while len(outlet.beats) < enough:
                await asyncio.sleep(0.01)
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)

        asyncio.run(asyncio.wait_for(run(), 30))
        return outlet

    first = life(2)
    assert len(first.of(JOB_PLACEMENTS)) == 2
    assert {beat.bytes for beat in first.beats} == {answer.stat().st_size}
    answer.write_text(json.dumps(reply(scontrol_job(1, "RUNNING"), scontrol_job(2, "NODE_FAIL"))))
    second = life(2)
    assert second.of(JOB_PLACEMENTS) == []
    assert [(e.job, e.state) for e in second.of(JOB_EVENTS)] == [("2", "node_fail")]


def test_a_check_says_what_slurm_does_not_tell(state: Path) -> None:
    file = state / "jobs.json"
    file.write_text(json.dumps(reply(sacct_job(1, "RUNNING"))))
    (sight,) = source.check(options("--file", str(file)))
    assert (sight.ok, sight.sees, sight.lacks) == (
        False,
        "1 jobs on 4 GPUs, 0 that ended",
        "which GPUs of their nodes 1 jobs hold",
    )


def test_a_check_where_there_is_no_slurm_says_so(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(state))
    (sight,) = source.check(options())
    assert (sight.ok, "there is no `scontrol` here" in sight.lacks) == (False, True)
