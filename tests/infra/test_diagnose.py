"""Why a job is slow: the injected cause is named, with the numbers that show it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from collectors.contract.envelope import write
from collectors.contract.job import StepReport
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from infra.command.main import main
from infra.diagnose.judged import judge
from infra.diagnose.report import Report
from infra.diagnose.series import counted, slow_stretch, steps_of
from infra.diagnose.verdict import diagnose
from infra.diagnose.view import text
from infra.fleet.scenario import parse
from infra.fleet.virtual import messages
from streams.pipeline import Pipeline

Pair = tuple[Topic[Any], Message]
FLEET = """
seconds = 150
[fleet]
nodes = 4
gpus = 8
switches = 2
[[jobs]]
name = "train"
nodes = ["node-01", "node-02", "node-03", "node-04"]
"""


def told(fault: str = "") -> Iterator[Pair]:
    return iter(messages(parse(FLEET + fault, "test.toml", "test")))


def report(pairs: Iterator[Pair]) -> Report:
    return diagnose(judge(pairs, "default", "train", Pipeline()))


def answers(made: Report) -> dict[str, str]:
    return {answer.question: answer.reply for answer in made.answers}


def longer(pairs: Iterator[Pair], part: str, by_s: float, from_step: int) -> Iterator[Pair]:
    """The same job with one part of every rank's steps longer from a step on."""

    def grown(values: list[float | None], steps: list[int]) -> list[float | None]:
        return [v + by_s if v is not None and s >= from_step else v for v, s in zip(values, steps, strict=True)]

    for topic, message in pairs:
        if isinstance(message, StepReport):
            both = {name: grown(getattr(message, name), message.step) for name in (part, "step_s")}
            message = structs.replace(message, **both)
        yield topic, message


def test_a_hot_gpu_is_named_with_its_clock_and_its_rank() -> None:
    made = report(told('[[faults]]\nkind = "thermal_throttle"\ntarget = "node-03/5"\nfrom_s = 70\nsize = 0.3\n'))
    assert made.verdict.cause == "thermal_throttle"
    assert made.verdict.confidence == "high"
    assert made.verdict.part.startswith("gpu ")
    assert made.verdict.runbook == "docs/runbooks/thermal_throttle.md"
    replies = answers(made)
    assert replies["Is it slow against its own past?"] == "yes"
    assert replies["One rank or all?"] == "one"
    assert replies["Compute, wait, transfer, data or checkpoint?"] == "compute"
    assert "rank 21: 1." in text(made)
    assert "SM clock" in text(made)


def test_a_slow_host_is_named_and_none_of_its_gpus() -> None:
    made = report(told('[[faults]]\nkind = "slow_host"\ntarget = "node-02"\nfrom_s = 60\nsize = 0.3\n'))
    assert (made.verdict.cause, made.verdict.part) == ("host_slow", "node node-02")
    replies = answers(made)
    assert replies["One rank or all?"] == "some"
    assert replies["Which GPU?"] == "none alone"
    assert replies["Which host?"] == "node-02"


def test_longer_transfers_of_all_ranks_are_the_network() -> None:
    made = report(longer(told(), "transfer_s", 0.5, 60))
    assert made.verdict.cause == "comm_slow"
    replies = answers(made)
    assert replies["One rank or all?"] == "all alike"
    assert replies["Compute, wait, transfer, data or checkpoint?"] == "transfer"


def test_longer_compute_of_all_ranks_is_the_job_itself() -> None:
    made = report(longer(told(), "compute_s", 0.5, 60))
    assert (made.verdict.cause, made.verdict.part) == ("job_regression", "job train")
    assert answers(made)["One rank or all?"] == "all alike"


def test_a_job_that_keeps_its_pace_is_not_slow() -> None:
    made = report(told())
    assert (made.verdict.cause, made.verdict.confidence) == ("not_slow", "high")
    assert answers(made)["Is it slow against its own past?"] == "no"


def test_another_configuration_and_batch_are_among_what_changed() -> None:
    pairs = [
        (
            topic,
            structs.replace(
                message,
                config_hash="a1" if message.step[0] < 60 else "b2",
                global_batch_size=[512 if message.step[0] < 60 else 1024] * len(message.step),
            )
            if isinstance(message, StepReport)
            else message,
        )
        for topic, message in longer(told(), "compute_s", 0.5, 60)
    ]
    changed = next(answer for answer in report(iter(pairs)).answers if answer.question == "What changed?")
    assert changed.reply == "yes"
    words = [line.split("  ", 1)[1] for line in changed.details]
    assert "configuration a1 -> b2, step 60" in words
    assert "global batch size 512 -> 1024, step 60" in words


def test_a_hung_job_is_not_called_slow() -> None:
    made = report(told('[[faults]]\nkind = "job_hang"\ntarget = "train"\nfrom_s = 60\n'))
    assert made.verdict.cause.startswith(("job_hang", "comm_hang", "rank_silent"))


def test_a_slow_stretch_that_is_over_is_still_found() -> None:
    reports = [m for _, m in longer(told(), "compute_s", 0.0, 0) if isinstance(m, StepReport)]
    slowed = [
        structs.replace(m, step_s=[2.0 * s if s and 50 <= n < 80 else s for s, n in zip(m.step_s, m.step, strict=True)])
        for m in reports
    ]
    stretch = slow_stretch(counted(steps_of(slowed)))
    assert stretch is not None
    assert (stretch.now, round(stretch.factor, 1)) == (False, 2.0)
    assert 45 <= stretch.since.number <= 52


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "told.jsonl"
    path.write_bytes(b"".join(write(topic, message) + b"\n" for topic, message in told()))
    return path


def test_the_command_reads_files_and_writes_json_and_a_picture(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    svg = file.with_suffix(".svg")
    assert main(["diagnose", "train", "--files", str(file), "--json", "--svg", str(svg)]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["answers"][0]["question"] == "Is it slow against its own past?"
    assert document["verdict"]["cause"] == "not_slow"
    assert "<svg" in svg.read_text()
    assert "@font-face" not in svg.read_text()


def test_an_unknown_job_is_answered_with_those_that_are_known(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "trian", "--files", str(file)]) == 2
    assert "no job 'trian' in these files; there is train" in capsys.readouterr().err


@pytest.mark.parametrize("argument", [["--at", "noon"], ["--last", "0"]])
def test_a_time_that_is_none_is_named(argument: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    ask: Callable[[], int] = lambda: main(["diagnose", "train", *argument])  # noqa: E731
    try:
        assert ask() == 2
    except SystemExit as ended:
        assert ended.code == 2
    assert argument[0] in capsys.readouterr().err
