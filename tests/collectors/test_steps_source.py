"""The steps source: the socket, the client at its other end, and files of envelopes."""

import argparse
import asyncio
import socket
import stat
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from collectors.contract.envelope import write
from collectors.contract.job import StepReport
from collectors.contract.kafka import kafka_settings
from collectors.contract.topics import GPU_SCRAPES, JOB_EVENTS, JOB_PLACEMENTS, JOB_STEPS
from collectors.source import SourceError
from collectors.steps import source
from collectors.steps.client import Run
from collectors.steps.datagram import MAX_BYTES
from collectors.steps.listener import Listener
from collectors.steps.sight import look
from tests.collectors.list_outlet import ListOutlet


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("LOCKSTEP_CLUSTER", "c")
    kafka_settings.cache_clear()
    yield tmp_path / "run" / "steps.sock"
    kafka_settings.cache_clear()


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    parser.add_argument("--node")
    parser.add_argument("--interval", type=float)
    source.add_arguments(parser)
    return parser.parse_args(words)


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0.01)


async def while_serving(path: Path, outlet: ListOutlet, story: Callable[[], Awaitable[None]]) -> None:
    args = options("--socket", str(path), "--node", "n1", "--interval", "0.02")
    serving = asyncio.create_task(source.serve(args, outlet))
    try:
        await until(path.with_name(path.name + ".node").exists)
        await story()
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


def test_ranks_of_a_node_are_heard(path: Path) -> None:
    outlet = ListOutlet()

    async def story() -> None:
        ranks = [Run("j", rank, 2, path=str(path), env={}) for rank in (0, 1)]
        for step in range(3):
            for rank in ranks:
                rank.report(step, step_s=1.0, compute_s=0.5 + rank.rank)
        await until(lambda: sum(len(report.rank) for report in outlet.of(JOB_STEPS)) == 6)
        for rank in ranks:
            await asyncio.to_thread(rank.end)
        await until(lambda: any(event.kind == "ended" for event in outlet.of(JOB_EVENTS)))

    asyncio.run(while_serving(path, outlet, story))
    rows = {(r, s): c for m in outlet.of(JOB_STEPS) for r, s, c in zip(m.rank, m.step, m.compute_s, strict=True)}
    assert rows == {(rank, step): 0.5 + rank for rank in (0, 1) for step in range(3)}
    assert {(m.cluster, m.job, m.node) for m in outlet.of(JOB_STEPS)} == {("c", "j", "n1")}
    kinds = [event.kind for event in outlet.of(JOB_EVENTS) if event.kind != "heartbeat"]
    assert kinds == ["started", "placed", "ended"]
    assert [row.node for row in outlet.of(JOB_PLACEMENTS)[0].placement] == ["n1", "n1"]
    assert outlet.rejected == []


def test_a_client_goes_on_with_the_next_collector(path: Path) -> None:
    first, second = ListOutlet(), ListOutlet()
    run: list[Run] = []

    async def before() -> None:
        run.append(Run("j", 1, 2, path=str(path), env={}, heartbeat_s=0.1))
        run[0].report(1)
        await until(lambda: bool(first.of(JOB_STEPS)))

    async def after() -> None:
        await until(lambda: any(event.kind == "heartbeat" for event in second.of(JOB_EVENTS)))
        run[0].report(2)
        await until(lambda: bool(second.of(JOB_STEPS)))

    asyncio.run(while_serving(path, first, before))
    asyncio.run(while_serving(path, second, after))
    run[0].end()
    assert [report.step for report in second.of(JOB_STEPS)] == [[2]]


def test_a_stop_publishes_what_had_come(path: Path) -> None:
    outlet = ListOutlet()

    async def story() -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bare:
            bare.connect(str(path))
            bare.send(b'{"type":"step","job":"j","rank":0,"step":1}')

    asyncio.run(while_serving(path, outlet, story))
    assert [report.step for report in outlet.of(JOB_STEPS)] == [[1]]
    assert not path.exists()
    assert len(outlet.beats) == 1


def test_the_socket_is_open_to_every_user_and_gone_afterwards(path: Path) -> None:
    listener = Listener(path, 0o666, "n1", lambda: None)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666
    assert path.with_name("steps.sock.node").read_text() == "n1\n"
    listener.close()
    assert sorted(file.name for file in path.parent.iterdir()) == ["steps.sock.lock"]


def test_a_dead_collectors_socket_is_replaced(path: Path) -> None:
    path.parent.mkdir()
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    dead.bind(str(path))
    dead.close()
    Listener(path, 0o666, "n1", lambda: None).close()


def test_a_second_collector_is_turned_away(path: Path) -> None:
    listener = Listener(path, 0o666, "n1", lambda: None)
    with pytest.raises(SourceError, match="another collector listens there"):
        Listener(path, 0o666, "n1", lambda: None)
    listener.close()


def test_a_file_in_the_way_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("precious")
    with pytest.raises(SourceError, match="a file that is no socket"):
        Listener(path, 0o666, "n1", lambda: None)
    assert path.read_text() == "precious"


def test_a_path_that_is_too_long_is_said(path: Path) -> None:
    with pytest.raises(SourceError, match="too long"):
        Listener(path.with_name("x" * 150), 0o666, "n1", lambda: None)


def test_a_datagram_that_is_too_long_is_told_apart(path: Path) -> None:
    listener = Listener(path, 0o666, "n1", lambda: None)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as bare:
        bare.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * MAX_BYTES)
        bare.connect(str(path))
        sent = [b"x" * size for size in (MAX_BYTES + 1, 0, 5)]
        if bare.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) <= MAX_BYTES + 1000:
            sent = sent[1:]
        for raw in sent:
            bare.send(raw)
    listener.close()
    datagrams, too_long, overflown = listener.take()
    assert [raw for raw in datagrams if raw] == [b"xxxxx"]
    assert (too_long, overflown) == ([b"x" * 1000] if len(sent) == 3 else [], 0)


def test_a_file_of_envelopes_is_published_and_its_bad_lines_named(tmp_path: Path) -> None:
    report = StepReport(ts_us=1, job="j", node="n", rank=[0], step=[1], phase=["train"])
    file = tmp_path / "steps.jsonl"
    file.write_bytes(write(JOB_STEPS, report) + b"\n\nnonsense\n" + b'{"topic":"gpu.scrapes.v1","value":{}}\n')
    outlet = ListOutlet()
    assert source.once(options("--file", str(file)), outlet) == 1
    assert outlet.published == [(JOB_STEPS.name, report)]
    assert [why.split(": ")[0] for _, _, why in outlet.rejected] == [f"{file}:3", f"{file}:4"]
    assert GPU_SCRAPES.name in outlet.rejected[1][2]


def test_once_needs_a_file() -> None:
    with pytest.raises(SourceError, match="give --file"):
        source.once(options(), ListOutlet())


def test_a_check_says_whether_a_rank_would_be_heard(path: Path) -> None:
    def look() -> list[tuple[bool, str]]:
        seen = source.check(options("--socket", str(path)))
        return [(sight.ok, sight.sees) for sight in seen if "datagrams" not in sight.sees]

    assert look() == [(False, f"no folder {path.parent}")]
    path.parent.mkdir()
    assert look() == [(False, "no socket")]

    async def story() -> None:
        assert look() == [(True, "a collector listens, as node n1")]

    asyncio.run(while_serving(path, ListOutlet(), story))
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    dead.bind(str(path))
    dead.close()
    assert look() == [(False, "a dead collector's socket")]


def test_a_check_of_a_file_counts_what_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "f"
    report = StepReport(ts_us=1, job="j", node="n", rank=[0], step=[1], phase=["train"])
    file.write_bytes(write(JOB_STEPS, report) + b"\n{}\n")
    (sight,) = source.check(options("--file", str(file)))
    assert not sight.ok and sight.sees.startswith("1 messages; 1 lines cannot be read: ")
    (none,) = source.check(options("--file", str(tmp_path / "none")))
    assert (none.ok, none.sees) == (False, "nothing")


def test_a_short_queue_is_a_lack_that_can_be_mended(path: Path) -> None:
    *_, sight = look(path, lambda _: "10\n")
    assert sight.sees == "the kernel holds 10 datagrams"
    assert "max_dgram_qlen" in sight.advice
    assert len(list(look(path, lambda _: "512\n"))) == 1
