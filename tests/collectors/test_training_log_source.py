"""The training-log source: a file read once, followed, checked."""

import argparse
import asyncio
import io
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from collectors.contract.kafka import kafka_settings
from collectors.contract.topics import JOB_EVENTS, JOB_STEPS
from collectors.settings import collector_settings
from collectors.source import SourceError
from collectors.training_log import source
from collectors.training_log.pipe import follow_pipe
from tests.collectors.list_outlet import ListOutlet

LOGS = Path(__file__).parent / "training_logs"
STEP = " iteration {0:8d}/     100 | elapsed time per iteration (ms): 1000.0 | global batch size:     8 |\n"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("LOCKSTEP_STATE", str(tmp_path / "state"))
    kafka_settings.cache_clear()
    collector_settings.cache_clear()
    yield
    kafka_settings.cache_clear()
    collector_settings.cache_clear()


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    parser.add_argument("--node", default="n1")
    parser.add_argument("--interval", type=float, default=0.01)
    source.add_arguments(parser)
    return parser.parse_args(words)


def steps(outlet: ListOutlet) -> list[int]:
    return [step for report in outlet.of(JOB_STEPS) for step in report.step]


def kinds(outlet: ListOutlet) -> list[str]:
    return [event.kind for event in outlet.of(JOB_EVENTS)]


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0.01)


async def while_following(args: argparse.Namespace, outlet: ListOutlet, story: Callable[[], Awaitable[None]]) -> None:
    serving = asyncio.create_task(source.serve(args, outlet))
    try:
        await story()
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


def test_a_file_is_read_once_and_its_framework_named(capsys: pytest.CaptureFixture[str]) -> None:
    outlet = ListOutlet()
    file = str(LOGS / "torchtitan.txt")
    count = source.once(options("--file", file, "--job", "j", "--zone", "UTC"), outlet)
    assert count == len(outlet.published)
    assert steps(outlet) == [*range(1, 11), 10, *range(11, 21), 20, *range(21, 31)]
    assert kinds(outlet) == ["started", "checkpoint", "ended"]
    times = [report.ts_us for report in outlet.of(JOB_STEPS)]
    assert times == sorted(set(times))
    assert capsys.readouterr().err.endswith("torchtitan.txt: lines of torchtitan\n")


def test_events_keep_their_place_among_the_steps() -> None:
    outlet = ListOutlet()
    source.once(options("--file", str(LOGS / "megatron.txt"), "--job", "j", "--zone", "UTC"), outlet)
    assert [name.split(".")[1] for name, _ in outlet.published] == [
        *("events", "steps", "events", "steps", "events", "steps", "events", "steps"),
        *("events", "events", "steps", "events"),
    ]


def test_without_times_a_file_ends_when_it_was_last_changed(tmp_path: Path) -> None:
    file, outlet = tmp_path / "log", ListOutlet()
    file.write_text("".join(STEP.format(n) for n in (1, 2, 3)))
    os.utime(file, (1_700_000_000, 1_700_000_000))
    source.once(options("--file", str(file), "--job", "j"), outlet)
    (report,) = outlet.of(JOB_STEPS)
    assert report.start_us == [1_699_999_997_000_000, 1_699_999_998_000_000, 1_699_999_999_000_000]
    (started,) = outlet.of(JOB_EVENTS)
    assert started.reason.startswith("the log has no times")


def test_a_first_time_late_in_the_log_dates_what_stood_before(tmp_path: Path) -> None:
    file, outlet = tmp_path / "log", ListOutlet()
    file.write_text(STEP.format(1) + STEP.format(2) + "[2026-05-05 06:16:47]" + STEP.format(3))
    source.once(options("--file", str(file), "--job", "j", "--zone", "UTC"), outlet)
    assert outlet.of(JOB_STEPS)[0].start_us[0] == 1777961805_000_000
    assert outlet.of(JOB_EVENTS)[0].reason is None


def test_standard_input_is_read_as_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    outlet = ListOutlet()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO((STEP.format(1) + STEP.format(2)[:40]).encode())))
    source.once(options("--file", "-", "--job", "j"), outlet)
    assert steps(outlet) == [1]  # the second line was cut off


@pytest.mark.parametrize(
    ("content", "words", "message"),
    [
        (None, ["--job", "j"], "no such file"),
        ("hello\n", ["--job", "j"], "none of 1 lines is a step of megatron, torchtitan"),
        (STEP.format(1), [], "does not say which job it is of; give --job"),
        (STEP.format(1), ["--job", "j", "--zone", "Mars/Olympus"], "no such time zone"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, content: str | None, words: list[str], message: str) -> None:
    file = tmp_path / "log"
    if content is not None:
        file.write_text(content)
    with pytest.raises(SourceError, match=message):
        source.once(options("--file", str(file), *words), ListOutlet())


def test_slurms_file_names_its_job(tmp_path: Path) -> None:
    file, outlet = tmp_path / "slurm-4711.out", ListOutlet()
    file.write_text(STEP.format(1))
    source.once(options("--file", str(file)), outlet)
    assert outlet.of(JOB_STEPS)[0].job == "4711"


def test_a_log_is_followed_from_before_its_first_line_and_on_after_a_restart(tmp_path: Path) -> None:
    file, outlet = tmp_path / "log", ListOutlet()
    args = options("--file", str(file), "--job", "j")

    async def first() -> None:
        await until(lambda: bool(outlet.beats))
        with file.open("a") as log:
            log.write(STEP.format(1) + STEP.format(2)[:30])
        await until(lambda: steps(outlet) == [1])
        with file.open("a") as log:
            log.write(STEP.format(2)[30:])
        await until(lambda: steps(outlet) == [1, 2])

    async def second() -> None:
        with file.open("a") as log:
            log.write(STEP.format(3) + STEP.format(1))
        await until(lambda: steps(outlet) == [1, 2, 3, 1])
        await until(
            lambda: sum(beat.bytes for beat in outlet.beats[begun:]) == len((STEP.format(3) + STEP.format(1)).encode())
        )

    asyncio.run(while_following(args, outlet, first))
    assert (outlet.beats[0].ok, outlet.beats[0].error) == (False, f"no file {file}")
    begun = len(outlet.beats)
    asyncio.run(while_following(args, outlet, second))
    assert kinds(outlet) == ["started", "restarted"]
    assert [(r.attempt, s) for r in outlet.of(JOB_STEPS) for s in r.step] == [(0, 1), (0, 2), (0, 3), (1, 1)]


def test_a_bar_without_line_ends_is_followed(tmp_path: Path) -> None:
    file, outlet = tmp_path / "log", ListOutlet()
    args = options("--file", str(file), "--job", "j")

    async def story() -> None:
        with file.open("a") as log:
            for n in (1, 2, 3):
                log.write(f"\rEpoch 0:   6%|▌         | {n}/18 [00:08<02:29,  8.77s/it]")
                log.flush()
                await until(lambda n=n: steps(outlet) == list(range(1, n)))  # type: ignore[misc]

    asyncio.run(while_following(args, outlet, story))


def test_what_is_no_file_is_a_trouble_of_its_beats(tmp_path: Path) -> None:
    outlet = ListOutlet()

    async def story() -> None:
        await until(lambda: bool(outlet.beats))

    asyncio.run(while_following(options("--file", str(tmp_path), "--job", "j"), outlet, story))
    assert outlet.beats[0].error == f"--file {tmp_path}: not a regular file; pipe it to `--file -`"


def test_a_pipe_is_read_to_its_end() -> None:
    outlet = ListOutlet()
    intake = source._intake(options("--file", "-", "--job", "j"), outlet)
    asyncio.run(follow_pipe([STEP.format(n).encode() for n in (1, 2)], intake, 100.0))
    assert steps(outlet) == [1, 2]
    assert kinds(outlet) == ["started"]
    assert [(beat.samples, beat.bytes) for beat in outlet.beats] == [(2, 2 * len(STEP.format(1)))]


def test_a_log_that_says_nothing_is_a_trouble_of_its_beats(tmp_path: Path) -> None:
    file, outlet = tmp_path / "log", ListOutlet()
    file.write_text("epoch went well\n" * 10_000)

    async def story() -> None:
        await until(lambda: any(beat.error and "none of 10000 lines" in beat.error for beat in outlet.beats))

    asyncio.run(while_following(options("--file", str(file), "--job", "j"), outlet, story))


def test_a_check_says_what_a_log_shows_and_lacks(tmp_path: Path) -> None:
    def look(*words: str) -> list[tuple[bool, str, str]]:
        return [(sight.ok, sight.sees, sight.lacks) for sight in source.check(options(*words))]

    seen = look("--file", str(LOGS / "megatron.txt"), "--job", "j", "--zone", "UTC")
    assert seen[0] == (True, "megatron: 6 steps, the last is 106 at 2026-05-05 06:25:13 UTC, median 6.55 s", "")
    assert [lacks for _, _, lacks in seen[1:]] == ["each rank's own compute, by which a slow rank is found"]
    bare = tmp_path / "log"
    bare.write_text(STEP.format(1))
    assert [lacks for _, _, lacks in look("--file", str(bare), "--job", "j")][1:3] == [
        "times",
        "TFLOP/s of a GPU, for MFU",
    ]
    assert look("--file", str(tmp_path / "none"), "--job", "j")[0][:2] == (False, "nothing")
    bare.write_text("hello\n")
    assert look("--file", str(bare), "--job", "j") == [(False, "1 lines, no step", "steps")]


def test_a_line_that_does_not_end_is_read_in_bounded_pieces(tmp_path: Path) -> None:
    file, outlet = tmp_path / "log", ListOutlet()
    with file.open("wb") as log:
        log.write(b"x")
        log.truncate(1 << 24)
        log.seek(0, 2)
        log.write(b"\n" + STEP.format(1).encode())
    source.once(options("--file", str(file), "--job", "j"), outlet)
    assert steps(outlet) == [1]
