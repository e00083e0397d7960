"""The training client, against a bare socket: what it sends, and that it never stands in training's way."""

import ast
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collectors.steps.client import Run
from collectors.steps.client_courier import KEPT
from collectors.steps.client_env import attempt_of, gpu_uuid_of
from collectors.steps.client_names import names_of, pod_of
from collectors.steps.client_step import LATE_STEPS
from tests.collectors.ear import Ear

ROOT = Path(__file__).parents[2]


@pytest.fixture
def ear(tmp_path: Path) -> Iterator[Ear]:
    ear = Ear(tmp_path / "s")
    yield ear
    ear.close()


def run(path: Path, rank: int = 0, **options: Any) -> Run:
    return Run("j", rank, 4, 0, 2, path=str(path), env={}, **options)


def test_a_report_is_one_datagram(ear: Ear) -> None:
    one = run(ear.path, rank=3)
    one.report(7, phase="eval", start_us=5, step_s=1.5, compute_s=1, wait_s=0.0, tokens=8192, tflops_per_gpu=400.5)
    assert ear.next("step") == {
        "type": "step",
        "job": "j",
        "attempt": 2,
        "rank": 3,
        "dropped": 0,
        "step": 7,
        "phase": "eval",
        "start_us": 5,
        "step_s": 1.5,
        "compute_s": 1.0,
        "wait_s": 0.0,
        "tokens": 8192,
        "tflops_per_gpu": 400.5,
    }
    one.end()


def test_a_step_measures_its_parts(ear: Ear) -> None:
    one = run(ear.path)
    with one.step(1) as s:
        with s.data():
            pass
        for _ in range(2):
            with s.compute():
                pass
        s.tokens = 16
    found = ear.next("step")
    assert {"start_us", "step_s", "data_s", "compute_s", "tokens"} <= set(found)
    assert "wait_s" not in found
    assert found["step_s"] >= found["data_s"] + found["compute_s"] > 0
    one.end()


def test_the_rest_of_a_span_may_turn_into_waiting(ear: Ear) -> None:
    Timer.done = True
    one = run(ear.path, event=Timer)
    one.waits()
    with one.step(1) as s:
        with s.compute():
            Timer.clock += 2.0
            one.waits()
            one.waits()
            Timer.clock += 5.0
        with s.compute():
            pass
    found = ear.next("step")
    assert (found["compute_s"], found["wait_s"]) == (4.0, 6.0)
    one.end()


def test_forward_and_backward_are_own_work_told_by_microbatch(ear: Ear) -> None:
    Timer.done = True
    one = run(ear.path, event=Timer)
    with one.step(1) as s:
        for seconds in (2.0, 3.0):
            with s.forward():
                Timer.clock += seconds
            with s.backward():
                Timer.clock += 2 * seconds
                one.waits()
                Timer.clock += 7.0
        with s.compute():
            Timer.clock += 1.0
        s.global_batch_size = 512
    found = ear.next("step")
    assert found["microbatch_forward_s"] == [3.0, 4.0]  # each mark of this timer is a second later
    assert found["microbatch_backward_s"] == [5.0, 7.0]
    assert (found["compute_s"], found["wait_s"]) == (3 + 4 + 5 + 7 + 2, 2 * 8)
    assert found["global_batch_size"] == 512
    one.end()


def test_a_configuration_is_told_with_the_start_and_every_step_until_it_changes(ear: Ear) -> None:
    one = run(ear.path, config_hash="a1")
    assert ear.next("hello")["config_hash"] == "a1"
    with one.step(1):
        one.configure("b2")
    with one.step(2):
        pass
    told = [ear.any() for _ in range(4)]
    steps = [(m["step"], m["config_hash"]) for m in told if m["type"] == "step"]
    notes = [(m["kind"], m["state"], m["config_hash"]) for m in told if m.get("kind") == "note"]
    assert (steps, notes) == ([(1, "a1"), (2, "b2")], [("note", "config", "b2")])
    one.end()


@pytest.mark.parametrize(("given", "told"), [(None, "env"), ("", "env"), (7, "7"), ("x" * 300, "x" * 256)])
def test_a_configuration_comes_from_the_launcher_where_none_is_given(ear: Ear, given: Any, told: str) -> None:
    one = Run("j", 0, 1, path=str(ear.path), env={"LOCKSTEP_CONFIG_HASH": "env"}, config_hash=given)
    assert ear.next("hello")["config_hash"] == told
    one.end()


def test_microbatches_that_are_no_numbers_cost_that_report(ear: Ear) -> None:
    one = run(ear.path)
    one.report(1, microbatch_forward_s=["x"])  # type: ignore[list-item]
    one.report(2, microbatch_forward_s=[0.1, float("nan")], microbatch_backward_s=[0.12345678, 0])
    found = ear.next("step")
    assert (found["step"], found["dropped"]) == (2, 1)
    assert "microbatch_forward_s" not in found
    assert found["microbatch_backward_s"] == [0.123457, 0.0]
    one.end()


def test_a_step_that_fails_is_not_reported_and_the_error_goes_on(ear: Ear) -> None:
    one = run(ear.path)
    with pytest.raises(ZeroDivisionError), one.step(1):
        _ = 1 / 0
    one.report(2)
    assert ear.next("step")["step"] == 2
    one.end()


def test_steps_inside_a_phase_carry_it(ear: Ear) -> None:
    one = run(ear.path)
    with one.phase("eval"), one.step(1):
        pass
    with one.step(2):
        pass
    assert [ear.next("step")["phase"] for _ in range(2)] == ["eval", "train"]
    one.end()


def test_a_checkpoint_is_told_and_its_time_goes_with_the_next_step(ear: Ear) -> None:
    one = run(ear.path)
    with one.checkpoint(40) as saved:
        saved.bytes = 1000
    told = ear.next("checkpoint")
    assert (told["step"], told["bytes"], told["seconds"]) == (40, 1000, saved.seconds)
    assert saved.seconds is not None
    one.report(41, step_s=1.0)
    found = ear.next("step")
    assert (found["checkpoint_s"], found["step_s"]) == (saved.seconds, 1.0 + saved.seconds)
    one.report(42, step_s=1.0)
    assert "checkpoint_s" not in ear.next("step")
    with one.step(43), one.checkpoint(43):
        pass
    assert ear.next("step")["phase"] == "checkpoint"
    one.end()


def test_a_save_that_was_timed_elsewhere_may_have_no_time(ear: Ear) -> None:
    one = run(ear.path)
    one.saved(5, None, bytes=7)
    told = ear.next("checkpoint")
    assert (told["step"], told["bytes"], told["seconds"]) == (5, 7, None)
    one.saved(6, 2.5)
    one.report(7, step_s=1.0, start_us=10_000_000)
    found = ear.next("step")
    assert (found["checkpoint_s"], found["step_s"], found["start_us"]) == (2.5, 3.5, 7_500_000)
    one.end()


def test_a_rank_greets_with_what_it_is(ear: Ear) -> None:
    one = run(ear.path, gpu_uuid="0-1", coords={"dp": 1}, model={"layers": 2}, flops_per_token=6e9)
    found = ear.next("hello")
    assert (found["world_size"], found["gpu_uuid"], found["coords"], found["model"], found["flops_per_token"]) == (
        4,
        "GPU-0-1",
        {"dp": 1},
        {"layers": 2},
        6e9,
    )
    assert found["pid"] == os.getpid()
    one.end()


def test_the_heart_beats_without_the_main_loop(ear: Ear) -> None:
    one = run(ear.path, heartbeat_s=0.1)
    one.report(9)
    beats = [ear.next("heartbeat") for _ in range(3)]
    assert beats[-1]["step"] == 9
    one.end()


def test_the_end_is_told_once_by_rank_0_and_by_a_rank_that_failed(ear: Ear) -> None:
    with run(ear.path, rank=1) as quiet:
        quiet.report(1)
    with pytest.raises(ValueError, match="bad"), run(ear.path, rank=1):
        raise ValueError("bad")
    failed = ear.next("ended")
    assert (failed["rank"], failed["state"], failed["reason"]) == (1, "failed", "ValueError: bad")
    with run(ear.path) as first:
        first.report(5)
    first.end()
    ended = ear.next("ended")
    assert (ended["rank"], ended["state"], ended["step"]) == (0, "completed", 5)


def test_a_placement_is_sent_by_rank_0_in_parts(ear: Ear) -> None:
    ranks = [{"rank": rank, "node": f"n{rank // 8}"} for rank in range(450)]
    one, other = run(ear.path), run(ear.path, rank=1)
    other.place(ranks)
    one.place(ranks)
    parts = [ear.next("placed") for _ in range(3)]
    assert [(part["rank"], part["part"], part["parts"], len(part["ranks"])) for part in parts] == [
        (0, 0, 3, 200),
        (0, 1, 3, 200),
        (0, 2, 3, 50),
    ]
    assert [row for part in parts for row in part["ranks"]] == ranks
    one.end()
    other.end()


def test_a_placement_is_gathered_by_a_collective(ear: Ear) -> None:
    (ear.path.parent / "s.node").write_text("gpu-7\n")

    def gather(out: list[Any], own: Any) -> None:
        out[:] = [own, *({"rank": rank, "node": "x"} for rank in (1, 2, 3))]

    one = run(ear.path, gpu_model="H100", coords={"dp": 0})
    one.place_by(gather)
    assert ear.next("placed")["ranks"][0] == {
        "rank": 0,
        "node": "gpu-7",
        "gpu_uuid": None,
        "gpu_model": "H100",
        "coords": {"dp": 0},
    }
    one.end()


def test_nobody_listens_and_nothing_happens(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    one = run(tmp_path / "nobody")
    for step in range(10):
        with one.step(step):
            pass
    one.end()
    assert one.dropped == 10
    assert capfd.readouterr() == ("", "")


def test_what_was_dropped_is_said_to_the_next_collector(tmp_path: Path) -> None:
    one = run(tmp_path / "s", heartbeat_s=0.1)
    one.report(1)
    one.report(2)
    ear = Ear(tmp_path / "s")
    assert ear.next("heartbeat")["dropped"] == 2
    one.report(3)
    found = ear.next("step")
    assert (found["dropped"], found["step"], one.dropped) == (0, 3, 2)
    one.end()
    ear.close()


def test_a_new_collector_is_found_and_greeted(tmp_path: Path) -> None:
    first = Ear(tmp_path / "s")
    one = run(tmp_path / "s", heartbeat_s=0.1)
    assert first.next("hello")["rank"] == 0
    first.close()
    second = Ear(tmp_path / "s")
    assert second.next("hello")["rank"] == 0
    one.report(1)
    assert second.next("step")["step"] == 1
    one.end()
    second.close()


def test_an_event_waits_for_a_collector(tmp_path: Path) -> None:
    one = run(tmp_path / "s", heartbeat_s=0.1)
    with one.checkpoint(3):
        pass
    ear = Ear(tmp_path / "s")
    assert ear.next("checkpoint")["step"] == 3
    one.end()
    ear.close()


def test_a_full_queue_delays_steps_and_never_blocks(ear: Ear) -> None:
    one = run(ear.path)
    for step in range(200):
        one.report(step)
    assert sorted(ear.next("step")["step"] for _ in range(200)) == list(range(200))
    assert one.dropped == 0
    one.end()


def test_a_collector_that_hangs_costs_steps_and_not_memory(ear: Ear) -> None:
    one = run(ear.path)
    for step in range(KEPT + 200):
        one.report(step)
    assert 0 < one.dropped <= 200
    ear.close()
    one.end()


class Odd:
    """No number."""


@pytest.mark.parametrize(
    "values",
    [{"step_s": Odd()}, {"tokens": "many"}, {"compute_s": 10**400}, {"phase": "\ud800"}, {"start_us": float("nan")}],
)
def test_odd_values_are_counted_and_not_raised(ear: Ear, values: dict[str, Any]) -> None:
    one = run(ear.path)
    one.report(1, **values)
    assert one.dropped == 1
    one.end()


def test_odd_things_at_the_start_are_not_raised(ear: Ear) -> None:
    one = Run("j", path=str(ear.path), model={"x": Odd()}, coords={"dp": 0}, env={"RANK": "first", "WORLD_SIZE": "2"})
    found = ear.next("hello")
    assert (found["rank"], found["world_size"], found["model"]) == (0, 2, None)
    one.place([{"rank": Odd()}])
    assert one.dropped == 1
    one.end()


def test_a_number_that_is_none_is_left_out(ear: Ear) -> None:
    one = run(ear.path)
    one.report(1, compute_s=float("nan"), wait_s=float("inf"), step_s=2.0)
    found = ear.next("step")
    assert "compute_s" not in found and "wait_s" not in found and found["step_s"] == 2.0
    one.end()


def test_a_forked_child_speaks_for_itself(ear: Ear) -> None:
    one = run(ear.path)
    one.report(1)
    child = os.fork()
    if child == 0:
        one.report(2)
        one.end()
        os._exit(0)
    os.waitpid(child, 0)
    one.report(3)
    assert sorted(ear.next("step")["step"] for _ in range(3)) == [1, 2, 3]
    one.end()


def test_a_child_that_never_speaks_does_not_end_the_job(ear: Ear) -> None:
    one = run(ear.path)
    one.report(1)
    child = os.fork()
    if child == 0:
        one.end()
        os._exit(0)
    os.waitpid(child, 0)
    one.end("failed")
    assert ear.next("ended")["state"] == "failed"


@pytest.mark.parametrize(
    ("last_line", "state", "reason"),
    [("raise OSError('disk')", "failed", "OSError: disk"), ("", None, None)],
)
def test_a_process_that_just_exits_still_says_so(
    ear: Ear, last_line: str, state: str | None, reason: str | None
) -> None:
    program = f"from collectors.steps.client import Run\nr = Run('j', 0, path={str(ear.path)!r})\n{last_line}\n"
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, check=False)
    found = ear.next("ended")
    assert (found["state"], found["reason"]) == (state, reason)


class Timer:
    """A GPU event whose time comes when the test says so."""

    clock = 0.0
    done = False

    def record(self) -> None:
        Timer.clock += 1.0
        self.at = Timer.clock

    def query(self) -> bool:
        return Timer.done

    def elapsed_time(self, end: "Timer") -> float:
        return (end.at - self.at) * 1000


def test_a_step_is_reported_when_the_gpu_is_done(ear: Ear) -> None:
    Timer.done = False
    one = run(ear.path, event=Timer)
    for step in (1, 2):
        with one.step(step) as s:
            with s.compute():
                pass
            with s.wait():
                pass
    Timer.done = True
    with one.step(3):
        pass
    found = [ear.next("step") for _ in range(3)]
    assert [(f["step"], f.get("compute_s"), f.get("wait_s")) for f in found] == [
        (1, 1.0, 1.0),
        (2, 1.0, 1.0),
        (3, None, None),
    ]
    one.end()


def test_a_gpu_that_does_not_answer_costs_its_times_only(ear: Ear) -> None:
    Timer.done = False
    one = run(ear.path, event=Timer)
    for step in range(LATE_STEPS + 1):
        with one.step(step) as s, s.compute():
            pass
    found = ear.next("step")
    assert (found["step"], "compute_s" in found, "step_s" in found) == (0, False, True)
    one.end()


def test_timers_are_used_again_even_those_that_the_gpu_never_answered(ear: Ear) -> None:
    Timer.done = False
    made: list[Timer] = []

    def make() -> Timer:
        made.append(Timer())
        return made[-1]

    one = run(ear.path, event=make)
    for step in range(10 * LATE_STEPS):
        with one.step(step) as s, s.compute():
            pass
        ear.next("step") if step >= LATE_STEPS else None
    assert len(made) <= 2 * (LATE_STEPS + 1)
    assert one.missed == 9 * LATE_STEPS
    Timer.done = True
    one.end()
    assert [ear.next("step").get("compute_s") for _ in range(LATE_STEPS)] == [1.0] * LATE_STEPS
    assert one.missed == 9 * LATE_STEPS


@pytest.mark.parametrize("listening", [True, False])
def test_steps_leave_nothing_behind(ear: Ear, listening: bool) -> None:
    Timer.done = True
    one = run(ear.path if listening else ear.path.with_name("nobody"), event=Timer)

    def work(steps: int) -> None:
        for step in range(steps):
            with one.step(step) as s:
                with s.data():
                    pass
                with s.compute():
                    pass
            if listening:
                ear.next("step")

    work(200)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    work(2000)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 20_000  # 10 bytes a step would already be seen
    one.end()


def test_without_a_gpu_the_hosts_clock_is_used(ear: Ear) -> None:
    def no_cuda() -> Any:
        raise RuntimeError("no CUDA")

    one = run(ear.path, event=no_cuda)
    with one.step(1) as s, s.compute():
        pass
    assert ear.next("step")["compute_s"] > 0
    one.end()


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "3", "SLURM_JOB_ID": "42"}, ("42", 3, 8)),
        ({"SLURM_PROCID": "9", "SLURM_NTASKS": "16", "LOCKSTEP_JOB": "mine", "SLURM_JOB_ID": "42"}, ("mine", 9, 16)),
        ({"TORCHELASTIC_RUN_ID": "none"}, ("unnamed", 0, 1)),
        ({"TORCHELASTIC_RUN_ID": "llm-7"}, ("llm-7", 0, 1)),
    ],
)
def test_the_launcher_says_who_a_rank_is(env: dict[str, str], expected: tuple[str, int, int]) -> None:
    one = Run(path="", env=env)
    assert (one.job, one.rank, one.world_size) == expected
    one.end()


@pytest.mark.parametrize(
    ("env", "attempt"),
    [
        ({}, 0),
        ({"TORCHELASTIC_RESTART_COUNT": "2"}, 2),
        ({"SLURM_RESTART_COUNT": "1", "TORCHELASTIC_RESTART_COUNT": "0"}, 1000),
        ({"LOCKSTEP_ATTEMPT": "5", "SLURM_RESTART_COUNT": "1"}, 5),
    ],
)
def test_an_attempt_grows_with_each_restart(env: dict[str, str], attempt: int) -> None:
    assert attempt_of(None, env) == attempt


@pytest.mark.parametrize(
    ("job", "env", "names"),
    [
        ("llm", {"SLURM_JOB_ID": "4711"}, ["4711"]),
        ("4711", {"SLURM_JOB_ID": "4711"}, []),
        ("llm", {"SLURM_JOB_ID": "1", "SLURM_ARRAY_JOB_ID": "4", "SLURM_ARRAY_TASK_ID": "0"}, ["1", "4_0"]),
        ("4711", {"SLURM_JOB_ID": "4711", "SLURM_ARRAY_JOB_ID": "4700"}, []),
        ("llm", {}, []),
    ],
)
def test_slurms_names_of_a_job_are_told_beside_its_own(job: str, env: dict[str, str], names: list[str]) -> None:
    assert names_of(job, env) == names


@pytest.mark.parametrize(
    ("env", "pod"),
    [
        ({"POD_NAMESPACE": "ml", "POD_NAME": "llm-0", "HOSTNAME": "x"}, "ml/llm-0"),
        ({"HOSTNAME": "llm-0"}, "from-file/llm-0"),
        ({"HOSTNAME": "llm-0", "JOB_COMPLETION_INDEX": "0"}, None),
        ({"POD_NAME": "llm-0-x7k2p", "HOSTNAME": "llm-0", "JOB_COMPLETION_INDEX": "0"}, "from-file/llm-0-x7k2p"),
        ({"HOSTNAME": "x" * 63}, None),
        ({"POD_NAMESPACE": "ml", "POD_NAME": "a/b"}, None),
        ({"POD_NAMESPACE": "ml", "POD_NAME": "x" * 300}, None),
        ({}, None),
    ],
)
def test_a_pod_is_named_for_sure_or_not_at_all(env: dict[str, str], pod: str | None, tmp_path: Path) -> None:
    (tmp_path / "namespace").write_text("from-file\n")
    assert pod_of(env, str(tmp_path / "namespace")) == pod


def test_outside_kubernetes_a_host_name_is_no_pod(tmp_path: Path) -> None:
    assert pod_of({"HOSTNAME": "n1"}, str(tmp_path / "none")) is None


def test_a_gpu_is_named_by_uuid_or_not_at_all() -> None:
    visible = {"CUDA_VISIBLE_DEVICES": "GPU-a,GPU-b"}
    assert gpu_uuid_of(None, visible, 1) == "GPU-b"
    assert gpu_uuid_of(None, {"CUDA_VISIBLE_DEVICES": "GPU-a"}, 5) == "GPU-a"
    assert gpu_uuid_of(None, {"CUDA_VISIBLE_DEVICES": "0,1"}, 1) is None
    assert gpu_uuid_of(None, {}, 0) is None
    assert gpu_uuid_of("ab-cd", {}, 0) == "GPU-ab-cd"


def test_the_client_needs_the_standard_library_only() -> None:
    names = set()
    folder = ROOT / "collectors" / "steps"
    for path in (*folder.glob("client*.py"), folder / "lightning.py", folder / "hugging_face.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                names.add(node.module or "")
    own = {name for name in names if name.startswith("collectors.")}
    assert all(name.startswith("collectors.steps.client") for name in own)
    assert {name.split(".")[0] for name in names - own} <= sys.stdlib_module_names
