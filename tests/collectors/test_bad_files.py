"""Files that are none, have no end or never begin: a reason that names them, little memory, and nobody else waits."""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from collectors import whole_file
from collectors.contract.errors import UserError
from collectors.contract.kafka import kafka_settings
from collectors.sources import load
from tests.collectors.bad_targets import options, serving
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.test_bad_targets import resident, until

MIB = 1 << 20
# How long a call may last before it counts as one that never ends: many times what the slowest takes.
ENDS_S = 120.0
TERA = 1 << 40


def fifo(path: Path) -> None:
    """A pipe that nobody writes to."""
    os.mkfifo(path)


def sparse(size: int) -> Callable[[Path], None]:
    """A file of zeros that takes no room."""

    def make(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(size)

    return make


def folder(path: Path) -> None:
    path.mkdir()


def loop(path: Path) -> None:
    """A link to itself."""
    path.symlink_to(path)


def zeros(path: Path) -> None:
    """The device without end."""
    path.symlink_to("/dev/zero")


def gone(path: Path) -> None:
    """Nothing there."""


def forbidden(path: Path) -> None:
    path.write_text("x")
    path.chmod(0)


def noise(path: Path) -> None:
    path.write_bytes(bytes(range(256)) * 400)


MAKERS: dict[str, Callable[[Path], None]] = {
    "fifo": fifo,
    "folder": folder,
    "loop": loop,
    "zeros": zeros,
    "gone": gone,
    "noise": noise,
}
if os.geteuid():
    MAKERS["forbidden"] = forbidden
# Read whole: more than any of them takes. Read line by line: a part of a terabyte would last as long as it lasts.
ENDLESS = {"endless": sparse(TERA)}
LONG = {"long-line": sparse(200 * MIB)}

WHOLE: dict[str, tuple[str, tuple[str, ...]]] = {
    "slurm": ("slurm", ("--file={}",)),
    "kubernetes": ("kubernetes", ("--file={}",)),
    "links": ("links", ("--file={}",)),
    "nccl-tests": ("nccl-tests", ("--file={}",)),
    "nccl-ras": ("nccl-ras", ("--file={}", "--job=j")),
    "snmp": ("snmp", ("--file={}",)),
    "sonic": ("sonic", ("--file={}",)),
    "gnmi": ("gnmi", ("--responses={}",)),
    "nic": ("nic", ("--ethtool={}",)),
    "perfquery": ("infiniband", ("--perfquery={}",)),
    "ibqueryerrors": ("infiniband", ("--ibqueryerrors={}",)),
    "iblinkinfo": ("infiniband", ("--iblinkinfo={}",)),
    "ibnetdiscover": ("infiniband", ("--ibnetdiscover={}",)),
    "ibdiagnet": ("infiniband", ("--ibdiagnet={}",)),
    "ufm": ("infiniband", ("--ufm={}",)),
    "remote-write": ("remote-write", ("--file={}",)),
    "dcgm": ("dcgm", ("--target={}",)),
    "dcgm-targets": ("dcgm", ("--targets={}",)),
}
LINES: dict[str, tuple[str, tuple[str, ...]]] = {
    "kernel": ("kernel", ("--file={}",)),
    "steps": ("steps", ("--file={}",)),
    "training-log": ("training-log", ("--file={}", "--job=j")),
    "nccl-log": ("nccl-log", ("--file={}", "--job=j")),
}
CASES = [
    pytest.param(name, words, make, id=f"{called}-{kind}")
    for called, (name, words) in {**WHOLE, **LINES}.items()
    for kind, make in {**MAKERS, **(ENDLESS if called in WHOLE else LONG)}.items()
    # Bytes that are no lines of theirs are all that a log is full of.
    if not (called in LINES and kind in ("noise", "long-line") and called != "steps")
]


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("LOCKSTEP_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(whole_file, "WAIT_S", 0.2)
    kafka_settings.cache_clear()
    yield
    kafka_settings.cache_clear()


def in_time(work: Callable[[], Any]) -> BaseException | None:
    """What it raised. A call that hangs is a failed test, not a hung one."""
    raised: list[BaseException | None] = []

    def run() -> None:
        try:
            work()
        except BaseException as why:  # noqa: BLE001 (it is looked at below)
            raised.append(why)
        else:
            raised.append(None)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(ENDS_S)
    assert raised, "it hangs"
    return raised[0]


@pytest.mark.parametrize(("name", "words", "make"), CASES)
def test_a_file_that_cannot_be_read_is_said_and_costs_little(
    name: str, words: tuple[str, ...], make: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "given"
    make(path)
    source, outlet, before = load(name), ListOutlet(), resident()
    raised = in_time(lambda: source.once(options(name, source, *(word.format(path) for word in words)), outlet))
    assert resident() - before < 150 * MIB
    assert raised is None or isinstance(raised, UserError | OSError), repr(raised)
    said = [str(raised)] if raised is not None else []
    said += [f"{beat.target}: {beat.error}" for beat in outlet.beats if beat.error]
    said += [f"{source} {why}" for source, _, why in outlet.rejected]
    assert said, "nothing is said of it"
    assert any(str(path) in one for one in said), said
    assert not any("defect" in one or "\n" in one.strip() for one in said), said


@pytest.mark.parametrize("called", LINES)
def test_a_line_without_end_costs_little_memory(called: str, tmp_path: Path) -> None:
    name, words = LINES[called]
    sparse(200 * MIB)(tmp_path / "given")
    source, outlet, before = load(name), ListOutlet(), resident()
    args = options(name, source, *(word.format(tmp_path / "given") for word in words))
    raised = in_time(lambda: source.once(args, outlet))
    assert raised is None or isinstance(raised, UserError), repr(raised)
    assert resident() - before < 100 * MIB


FOLLOWED: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "kernel": ("kernel", "log", ("--file={}/log", "--follow")),
    "training-log": ("training-log", "log", ("--file={}/log", "--job=j")),
    "nccl-log": ("nccl-log", "log", ("--file={}/log", "--job=j", "--follow")),
    "nccl-log-dir": ("nccl-log", "a.log", ("--dir={}", "--job=j", "--follow")),
    "nccl-inspector": ("nccl-inspector", "h-pid1.log", ("--dir={}", "--job=j")),
    "nccl-inspector-pages": ("nccl-inspector", "nccl_inspector_metrics_GPU-0.prom", ("--dir={}", "--job=j")),
    "flight-recorder": ("flight-recorder", "nccl_trace_rank_0", ("--dir={}", "--job=j")),
    "perfquery": ("infiniband", "log", ("--perfquery={}/log", "--timeout=0.5")),
    "dcgm": ("dcgm", "log", ("--target={}/log", "--timeout=0.5")),
}
HUNG = {kind: MAKERS[kind] for kind in ("fifo", "folder", "loop", "zeros")}


@pytest.mark.parametrize("kind", HUNG)
@pytest.mark.parametrize("called", FOLLOWED)
def test_a_file_that_turns_bad_while_it_is_followed_keeps_nobody_waiting(
    called: str, kind: str, tmp_path: Path
) -> None:
    """That `asyncio.run` comes back shows that no thread of the pool hangs on it either."""
    name, file, words = FOLLOWED[called]
    place = tmp_path / "place"
    place.mkdir()
    (place / file).write_text("nothing to see\n")
    source, outlet, other = load(name), ListOutlet(), ListOutlet()
    args = options(name, source, *(word.format(place) for word in words))
    good = tmp_path / "good.log"
    good.write_text("nothing to see\n")
    kernel = load("kernel")

    async def story() -> None:
        beside = kernel.serve(options("kernel", kernel, f"--file={good}", "--follow"), other)
        async with serving(source.serve(args, outlet), beside):
            await until(lambda: bool(outlet.beats and other.beats), "first beats")
            (place / file).unlink()
            HUNG[kind](place / file)
            begun, beside_begun = len(outlet.beats), len(other.beats)
            await until(lambda: len(outlet.beats) > begun + 2, "beats that go on")
            await until(lambda: len(other.beats) > beside_begun + 2, "the other's beats")
            said = [beat.error for beat in outlet.beats[begun:] if beat.error] + [why for _, _, why in outlet.rejected]
            assert not any("defect" in one for one in said), said
            # Of a folder only what is a file is read, and a page of which nobody writes any more.
            assert said or called in ("nccl-log-dir", "nccl-inspector-pages")

    assert in_time(lambda: asyncio.run(story())) is None
