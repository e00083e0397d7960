"""Training logs: one file a framework, made up in its form, and what is read from it."""

from datetime import UTC
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from collectors.contract.job import JobEvent, ModelShape
from collectors.training_log.clock import LAST_US
from collectors.training_log.log import TrainingLog
from collectors.training_log.messages import Row
from collectors.training_log.story import QUIET_US

LOGS = Path(__file__).parent / "training_logs"
S = 1_000_000


def fresh(**options: Any) -> TrainingLog:
    all_of_them: dict[str, Any] = {"cluster": "c", "job": "j", "this_node": "n1", "zone": UTC} | options
    return TrainingLog(**all_of_them)


def read(text: str | bytes, log: TrainingLog | None = None, **options: Any) -> list[Row | JobEvent]:
    log = log or fresh(**options)
    raw = text.encode() if isinstance(text, str) else text
    return [one for line in raw.split(b"\n") for one in log.read(line)] + log.rest()


def of(name: str, **options: Any) -> list[Row | JobEvent]:
    return read((LOGS / f"{name}.txt").read_bytes(), **options)


def rows(found: list[Row | JobEvent], phase: str = "train") -> list[tuple[int, float | None]]:
    return [(one.step.step, one.step.step_s) for one in found if isinstance(one, Row) and one.step.phase == phase]


def events(found: list[Row | JobEvent], kind: str) -> list[JobEvent]:
    return [one for one in found if isinstance(one, JobEvent) and one.kind == kind]


def column(found: list[Row | JobEvent], name: str) -> list[Any]:
    return [getattr(one.step, name) for one in found if isinstance(one, Row) and one.step.phase == "train"]


def test_a_line_of_megatron_stands_for_every_step_since_the_one_before() -> None:
    found = of("megatron")
    assert rows(found) == [(102, 10.0), (103, 6.5), (104, 6.5), (105, 6.6), (106, 6.6), (106, 6.5)]
    assert set(column(found, "rank")) == {15}  # the last of 16 prints
    assert set(column(found, "tokens")) == {256 // 4 * 4096}
    assert set(column(found, "global_batch_size")) == {256}
    assert column(found, "tflops_per_gpu") == [380.5, 402.1, 402.1, 396.0, 396.0, 402.0]
    first, second, *_ = (one for one in found if isinstance(one, Row) and one.step.step in (103, 104))
    assert first.end_us == second.step.start_us == 1777961786 * S + 500_000
    assert second.end_us == 1777961793 * S


def test_megatrons_timers_say_how_long_a_save_and_an_evaluation_took() -> None:
    found = of("megatron")
    (saved,) = events(found, "checkpoint")
    assert (saved.step, saved.seconds) == (104, 21.02711)
    assert rows(found, "checkpoint") == [(104, 21.02711)]
    assert rows(found, "eval") == [(104, 1.7955)]


def test_a_crash_and_a_restart_are_an_end_and_another_attempt() -> None:
    found = of("megatron")
    failed, completed = events(found, "ended")
    assert (failed.attempt, failed.state, failed.step) == (0, "failed", 106)
    assert failed.reason is not None and failed.reason.startswith("torch.distributed.DistBackendError: NCCL error in")
    assert failed.reason.endswith("(failed (exitcode: 1) local_rank: 7 (pid: 2098107))")
    (restarted,) = events(found, "restarted")
    assert (restarted.attempt, restarted.step) == (1, 106)
    assert (completed.attempt, completed.state) == (1, "completed")
    assert column(found, "attempt") == [0, 0, 0, 0, 0, 1]


def test_the_models_shape_comes_with_the_start_and_what_is_printed_later_after_it() -> None:
    found = of("megatron")
    shape = ModelShape(layers=32, heads=32, head_dim=128, seq_len=4096, dtype="bf16")
    (started,) = events(found, "started")
    assert started.model == shape
    note = next(one for one in events(found, "note") if one.state == "model")
    assert note.model is not None and note.model.params == 7.24e9


def test_megatrons_straggler_report_is_told_in_words_with_watts_that_are_watts() -> None:
    note = next(one for one in events(of("megatron"), "note") if one.state == "straggler")
    assert note.rank == 0
    assert note.reason is not None
    assert note.reason.startswith("compute 3453.08 ms (rank 8) to 3968.2 ms (rank 0); batch fetch 14.27 ms (rank 13)")
    assert "power 601.796 W (rank 8) to 683.801 W (rank 15)" in note.reason


def test_of_two_frameworks_in_one_log_the_one_that_says_more_has_the_steps() -> None:
    found = of("megatron_deepspeed")
    assert rows(found) == [(34, None), (35, 4.101)]  # DeepSpeed's line came first, and then no more
    assert column(found, "tflops_per_gpu") == [None, 113.0]


def test_nemo_counts_from_0_and_srun_says_the_rank() -> None:
    found = of("nemo")
    assert rows(found) == [(0, 23.52), (1, 4.929), (2, 4.938)]
    assert column(found, "tflops_per_gpu") == [None, None, 1249.0]
    assert column(found, "global_batch_size") == [16, 16, 16]


def test_of_now_and_mean_the_first_is_read() -> None:
    assert rows(of("primus")) == [(126, 13.3728)]
    assert column(of("primus"), "tflops_per_gpu") == [567.6]


def test_torchtitans_steps_are_timed_by_its_stamps_less_saves_and_evaluations() -> None:
    found = of("torchtitan")
    assert rows(found)[0] == (1, 5.0)
    assert rows(found)[1:10] == [(step, 2.333333) for step in range(2, 11)]
    assert rows(found)[10:20] == [(step, 2.0) for step in range(11, 21)]
    assert rows(found)[20:] == [(step, 2.0) for step in range(21, 31)]
    assert rows(found, "checkpoint") == [(10, 2.5)]
    assert rows(found, "eval") == [(20, 4.0)]
    assert set(column(found, "tokens")) == {2 * 2 * 8192}
    assert set(column(found, "global_batch_size")) == {16}
    assert column(found, "tflops_per_gpu")[:2] == [189.7, 1039.16]
    (started,) = events(found, "started")
    assert started.model == ModelShape(params=8030261248.0, seq_len=8192, name="llama3 8B")
    assert events(found, "ended")[0].state == "completed"


def test_composers_step_time_comes_from_its_tokens() -> None:
    found = of("composer")
    assert rows(found) == [(1, None), (2, 20.0), (3, 20.0), (4, 20.0)]
    assert column(found, "tokens") == [None, 524288, 524288, 524288]  # of one of eight replicas
    assert column(found, "tflops_per_gpu") == [None, 152.0, 151.0, 151.0]
    assert rows(found, "eval") == [(4, None)]


def test_lightnings_bars_count_on_over_epochs() -> None:
    found = of("lightning")
    assert rows(found)[:3] == [(1, 8.77), (2, 4.87), (3, 4.87)]
    assert rows(found)[-1] == (19, 0.125)
    assert rows(found, "eval") == [(18, None)]
    (ended,) = events(found, "ended")
    assert (ended.state, ended.reason) == ("completed", "max_steps=19")


def test_hugging_faces_bar_has_the_steps_and_its_dicts_the_rest() -> None:
    found = of("hugging_face")
    assert rows(found) == [(1, 6.0), (2, 4.0), (3, 2.0), (4, 2.0)]
    assert rows(found, "eval") == [(4, 4.25)]
    assert [one.step for one in events(found, "checkpoint")] == [4]
    assert events(found, "ended")[0].state == "completed"


BAR = " 50%|█████     | {}/10 [00:05<00:05,  1.00s/it]"
LOSS = "{'loss': 2.5, 'learning_rate': 0.1, 'epoch': 0.5}"


def test_any_programs_bar_is_no_step_until_the_trainer_shows_itself() -> None:
    assert rows(read("\n".join(BAR.format(n) for n in (1, 2)))) == []
    assert rows(read("\n".join([BAR.format(2), LOSS, BAR.format(3)]))) == [(3, 1.0)]
    assert rows(read("\n".join(BAR.format(n) for n in (1, 2)), form="hugging-face")) == [(1, 1.0), (2, 1.0)]


def test_deepspeeds_steps_are_timed_by_its_stamps() -> None:
    found = of("deepspeed")
    assert rows(found)[:2] == [(10, None), (11, 0.15)]
    assert rows(found)[-1] == (30, 0.15)
    assert set(column(found, "global_batch_size")) == {32}
    (saved,) = events(found, "checkpoint")
    assert (saved.step, saved.seconds) == (20, 0.7)
    (ended,) = events(found, "ended")
    assert (ended.state, ended.reason) == ("timeout", "cancelled due to time limit")


STEP = " iteration {0:8d}/     100 | elapsed time per iteration (ms): 1000.0 | global batch size:     8 |"


@pytest.mark.parametrize(
    ("prefix", "rank", "node"),
    [
        ("", 0, "n1"),
        ("[rank3]:", 3, "n1"),
        ("[rank3]: ", 3, "n1"),
        ("[default5]:", 5, "n1"),
        ("12: ", 12, "n1"),
        (" 3: ", 3, "n1"),
        ("gpu-7: ", 0, "gpu-7"),
        ("gpu-7: 12: ", 12, "gpu-7"),
        ("[pod/llm-worker-0/pytorch] [rank2]:", 2, "n1"),
        ("2026-05-05T06:16:47.123456789Z stdout F [rank2]:", 2, "n1"),
        ("INFO: ", 0, "n1"),
        ("\x1b[32m[rank4]:\x1b[0m", 4, "n1"),
    ],
)
def test_a_launchers_prefix_says_who_printed(prefix: str, rank: int, node: str) -> None:
    (row,) = (one for one in read(prefix + STEP.format(7)) if isinstance(one, Row))
    assert (row.step.step, row.step.rank, row.node) == (7, rank, node)


def test_what_the_user_says_wins() -> None:
    (row,) = (one for one in read("gpu-7: 12: " + STEP.format(7), node="n9", rank=5) if isinstance(one, Row))
    assert (row.step.rank, row.node) == (5, "n9")


@pytest.mark.parametrize(
    ("stamp", "second"),
    [
        ("[2026-05-05 06:16:47]", 0.0),
        ("[2026-05-05 06:16:47.123456]", 0.123456),
        ("[titan] 2026-05-05 06:16:47,250 - root - INFO -", 0.25),
        ("2026-05-05T08:16:47.5+02:00 stdout F", 0.5),
        ("2026-05-05T06:16:47Z", 0.0),
        ("[20260505 06:16:47]", 0.0),
    ],
)
def test_a_lines_own_time_is_its_time(stamp: str, second: float) -> None:
    (row,) = (one for one in read(f"{stamp} {STEP.format(7)}") if isinstance(one, Row))
    assert row.end_us == 1777961807 * S + round(second * S)


def test_a_time_without_a_zone_is_in_the_one_that_was_given() -> None:
    (row,) = (
        one
        for one in read(f"[2026-05-05 08:16:47] {STEP.format(7)}", zone=ZoneInfo("Europe/Berlin"))
        if isinstance(one, Row)
    )
    assert row.end_us == 1777961807 * S


def test_a_date_in_a_path_is_no_time_of_the_line() -> None:
    found = read(f"writing /runs/2020-01-01 00:00:00/out\n{STEP.format(7)}", since_us=5 * S)
    assert [one.end_us for one in found if isinstance(one, Row)] == [6 * S]


def test_without_times_the_printed_durations_count_on_and_the_start_says_so() -> None:
    found = read(f"{STEP.format(1)}\n{STEP.format(3)}", since_us=100 * S, walked="by the durations")
    assert [one.end_us for one in found if isinstance(one, Row)] == [101 * S, 102 * S, 103 * S]
    assert [(one.ts_us, one.reason) for one in events(found, "started")] == [(100 * S, "by the durations")]


def test_a_line_that_comes_just_now_has_the_time_of_its_arrival() -> None:
    log = fresh()
    log.read(STEP.format(1).encode(), 50 * S)
    (row,) = (one for one in log.read(STEP.format(2).encode(), 52 * S) if isinstance(one, Row))
    assert (row.end_us, row.step.start_us) == (52 * S, 51 * S)


def test_a_step_number_that_falls_is_a_restart() -> None:
    found = read("\n".join(STEP.format(n) for n in (1, 2, 3, 2, 3)))
    assert [(one.step.attempt, one.step.step) for one in found if isinstance(one, Row)] == [
        (0, 1),
        (0, 2),
        (0, 3),
        (1, 2),
        (1, 3),
    ]
    assert [(one.kind, one.attempt) for one in found if isinstance(one, JobEvent)] == [("started", 0), ("restarted", 1)]


def test_ranks_that_print_the_same_step_without_names_are_one_and_may_be_a_step_apart() -> None:
    found = read("\n".join(STEP.format(n) for n in (1, 1, 2, 1, 2, 3, 3, 2)))
    assert rows(found) == [(1, 1.0), (2, 1.0), (3, 1.0)]
    assert not events(found, "restarted")


def test_ranks_with_names_are_apart_and_restart_together() -> None:
    found = read("\n".join(f"[rank{r}]:{STEP.format(n)}" for n in (1, 2, 1, 2) for r in (0, 1)))
    assert [(one.step.attempt, one.step.rank, one.step.step) for one in found if isinstance(one, Row)] == [
        (a, r, n) for a, n in ((0, 1), (0, 2), (1, 1), (1, 2)) for r in (0, 1)
    ]
    assert len(events(found, "restarted")) == 1


def test_a_restart_after_a_sure_end_need_not_fall() -> None:
    end = "slurmstepd: error: *** JOB 7 ON n3 CANCELLED AT 2026-05-05T06:00:00 DUE TO NODE FAILURE ***"
    found = read("\n".join([STEP.format(1), end, "using world size: 8, data-parallel size: 8", STEP.format(2)]))
    assert [(one.state, one.attempt) for one in events(found, "ended")] == [("node_fail", 0)]
    assert [one.attempt for one in events(found, "restarted")] == [1]


TRACE = 'Traceback (most recent call last):\n  File "/x.py", line 1, in <module>\n    f()\nValueError: bad batch'


def test_an_error_that_was_caught_does_not_end_the_job() -> None:
    found = read("\n".join([STEP.format(1), TRACE, STEP.format(2)]))
    assert not events(found, "ended")


def test_an_error_at_the_end_of_the_log_ends_the_job() -> None:
    (ended,) = events(read("\n".join([STEP.format(1), TRACE])), "ended")
    assert (ended.state, ended.reason) == ("failed", "ValueError: bad batch")


def test_an_error_ends_a_followed_job_after_a_minute_of_silence() -> None:
    log = fresh()
    for line in (STEP.format(1), *TRACE.split("\n")):
        log.read(line.encode(), 10 * S)
    assert log.rest(10 * S + QUIET_US - 1) == []
    assert [one.kind for one in log.rest(10 * S + QUIET_US) if isinstance(one, JobEvent)] == ["ended"]


def test_tracebacks_of_many_ranks_are_taken_apart() -> None:
    first, *rest = TRACE.split("\n")
    text = "\n".join([STEP.format(1), f"[rank0]: {first}", f"[rank1]: {first}", *(f"[rank0]: {t}" for t in rest)])
    assert [one.reason for one in events(read(text), "ended")] == ["ValueError: bad batch"]


@pytest.mark.parametrize(
    ("line", "state"),
    [
        ("slurmstepd: error: *** JOB 7 ON n3 CANCELLED AT 2026-05-05T06:00:00 ***", "cancelled"),
        ("slurmstepd: error: *** STEP 7.0 ON n3 CANCELLED AT 2026-05-05T06:00:00 DUE TO PREEMPTION ***", "preempted"),
        ("srun: error: n3: task 12: Out Of Memory", "out_of_memory"),
        ("srun: error: n3: tasks 8-15: Exited with exit code 1", "failed"),
        ("[exiting program after receiving SIGTERM.] datetime: 2026-08-25 19:54:10", "cancelled"),
        ("[2026-01-01 00:00:00,000] [INFO] [launch.py:319] Process 7 exits with return code = -9", "failed"),
    ],
)
def test_launchers_say_how_a_job_ended(line: str, state: str) -> None:
    assert [one.state for one in events(read(f"{STEP.format(1)}\n{line}"), "ended")] == [state]


def test_scores_of_the_resiliency_extension_are_told_in_words() -> None:
    block = (
        "GPU relative performance:\n Worst performing 2/512 ranks:\n  Rank=76 Node=h100-1 Score=0.71\n"
        "  Rank=13 Node=h100-9 Score=0.98\n Best performing 1/512 ranks:\n  Rank=21 Node=h100-2 Score=1.00\n\n"
        "STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: {76}"
    )
    found = events(read(f"{STEP.format(1)}\n{block}"), "note")
    assert [(one.rank, one.node, one.reason) for one in found] == [
        (76, "h100-1", "GPU relative performance, lowest: rank 76 on h100-1 0.71; rank 13 on h100-9 0.98; "
         "rank 21 on h100-2 1.00"),
        (76, "n1", "STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: {76}"),
    ]  # fmt: skip


def test_the_shape_of_a_mixture_of_experts_lacks_its_size() -> None:
    text = "  num_experts ..................................... 8\nTotal number of parameters in billions: 46.7\n"
    assert [one.model for one in events(read(text + STEP.format(1)), "started")] == [None]


def test_a_cell_that_was_cut_off_is_not_read() -> None:
    found = read(" iteration        7/     100 | elapsed time per iteration (ms): 11\n")
    assert rows(found) == [(7, None)]


def test_of_two_ranks_in_one_line_the_one_that_is_whole_is_read() -> None:
    whole = STEP.format(8)
    assert rows(read(" iteration        7/     100 | elapsed time per iteration (ms): 61" + whole)) == [(8, 1.0)]
    assert rows(read(" iteration        7/     100 | elapsed time per iteration (ms): 61[rank1] |")) == [(7, None)]


def test_durations_that_lead_out_of_this_century_are_none() -> None:
    long = " iteration {0:8d}/     100 | elapsed time per iteration (ms): 999999999.0 |"
    found = read("\n".join(long.format(n) for n in range(3000)))
    assert all(0 <= one.end_us <= LAST_US for one in found if isinstance(one, Row))
    assert read(f"[0020-01-01 00:00:00] {STEP.format(1)}", since_us=S)[0].ts_us == S  # type: ignore[union-attr]


def test_what_was_known_is_kept_over_a_restart_of_the_collector() -> None:
    first = fresh()
    before = [one for n in (1, 2, 3) for one in first.read(STEP.format(n).encode())]
    second = fresh(kept=first.kept)
    after = [one for n in (4, 2) for one in second.read(STEP.format(n).encode())]
    assert rows(before + after) == [(1, 1.0), (2, 1.0), (3, 1.0), (4, 1.0), (2, 1.0)]
    assert [one.kind for one in before + after if isinstance(one, JobEvent)] == ["started", "restarted"]
