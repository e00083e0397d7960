"""RAS over a real socket, well and badly behaved."""

import argparse
import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from collectors.contract.topics import NCCL_WINDOWS
from collectors.nccl_ras import client, source
from collectors.nccl_ras.client import Address, RasError
from collectors.nccl_ras.names import Names, reverse
from collectors.nccl_ras.poller import Poller
from collectors.nccl_ras.target import Target, targets
from collectors.source import SourceError
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.ras_answers import LATE, answer
from tests.collectors.serving import parsed, until

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Ras:
    """Behaves as NCCL's does. `json_known` False: a release that has only text."""

    def __init__(self, *, json_known: bool = True, status: bytes | None = None, text: str = LATE) -> None:
        self.json_known = json_known
        self.status = status
        self.text = text
        self.commands: list[str] = []

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        as_json = False
        while line := (await reader.readline()).decode().strip():
            self.commands.append(line)
            command = line.lower()
            if command.startswith("client protocol "):
                writer.write(b"SERVER PROTOCOL 2\n")
            elif command.startswith("timeout "):
                writer.write(b"OK\n")
            elif command == "set format json" and self.json_known:
                as_json = True
                writer.write(b"OK\n")
            elif command == "verbose status":
                whole = self.status if self.status is not None else answer() if as_json else self.text.encode()
                writer.write(whole)
                await writer.drain()
                break
            else:
                writer.write(f"ERROR: Unknown command {line}\n".encode())
        writer.close()


@contextmanager
def served(*talks: Talk) -> Iterator[list[int]]:
    """Servers on ports of their own, in a thread with a loop of its own."""
    loop, ready, ports = asyncio.new_event_loop(), threading.Event(), list[int]()

    async def begin() -> None:
        for talk in talks:
            server = await asyncio.start_server(talk, "127.0.0.1", 0)
            ports.append(server.sockets[0].getsockname()[1])
        ready.set()

    def run() -> None:
        loop.create_task(begin())
        loop.run_forever()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield ports
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


def options(*words: str) -> argparse.Namespace:
    return parsed(source, *words)


def once(talk: Talk, *words: str) -> ListOutlet:
    outlet = ListOutlet()
    with served(talk) as [port]:
        source.once(options("--address", f"j=127.0.0.1:{port}", *words), outlet)
    return outlet


def failed(talk: Talk, *words: str) -> ListOutlet:
    outlet = ListOutlet()
    with served(talk) as [port], pytest.raises(SourceError, match="none of 1 jobs answered"):
        source.once(options("--address", f"j=127.0.0.1:{port}", *words), outlet)
    assert [beat.ok for beat in outlet.beats] == [False]
    assert outlet.of(NCCL_WINDOWS) == []
    return outlet


def test_a_job_is_asked_in_json() -> None:
    ras = Ras()
    outlet = once(ras.talk)
    assert ras.commands == ["CLIENT PROTOCOL 2", "SET FORMAT json", "VERBOSE STATUS"]
    first, second = outlet.of(NCCL_WINDOWS)
    assert (first.job, first.node, len(first.rank), len(first.members), len(second.members)) == (
        "j",
        "127.0.0.1",
        7,
        8,
        2,
    )
    [beat] = outlet.beats
    assert (beat.ok, beat.messages, beat.samples, beat.subject, beat.error) == (True, 2, 10, "j", None)
    assert beat.bytes == len(answer())


def test_a_release_without_json_is_read_as_text() -> None:
    outlet = once(Ras(json_known=False).talk)
    [window] = outlet.of(NCCL_WINDOWS)
    assert window.comm == "001e240000000abc"
    assert outlet.beats[0].ok


def test_half_an_answer_is_one_beat_and_one_reject() -> None:
    outlet = failed(Ras(status=answer()[:-30]).talk)
    assert (outlet.beats[0].error or "").startswith("not the JSON of RAS: Input data was truncated")
    assert outlet.rejected[0][1] == answer()[:-30]


def test_one_that_hangs_mid_way_is_one_time_out() -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        writer.write(b"SERVER PROTOCOL 2\nOK\n" + answer()[:100])
        await reader.read()

    assert failed(hang, "--timeout", "0.2").beats[0].error == "no whole answer within 0.2 s"


def test_what_is_not_ras_says_so() -> None:
    async def web(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    assert failed(web).beats[0].error == "not RAS: it answers 'HTTP/1.1 400 Bad Request'"


def test_a_line_without_end_is_bounded() -> None:
    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"x" * 100_000)
        await reader.read()

    assert failed(flood).beats[0].error == "not RAS: more than 4096 bytes without a newline"


def test_an_answer_without_end_is_bounded() -> None:
    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SERVER PROTOCOL 2\nOK\n")
        while not writer.is_closing():
            writer.write(b"x" * 65536)
            try:
                await writer.drain()
            except ConnectionError:
                return

    async def ask(port: int) -> bytes:
        return await client.ask(Address("127.0.0.1", port), timeout_s=10, most=1 << 20)

    with served(flood) as [port], pytest.raises(RasError, match="an answer of more than 1 MB"):
        asyncio.run(ask(port))


def test_one_that_closes_at_once_says_so() -> None:
    async def close(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    assert failed(close).beats[0].error in ("closed without a word", "Connection reset by peer")


def test_the_next_process_is_asked_where_one_is_gone() -> None:
    outlet = ListOutlet()
    with served(Ras(status=b"").talk, Ras().talk) as [dead, alive]:
        source.once(options("--address", f"j=127.0.0.1:{dead},127.0.0.1:{alive}"), outlet)
    [beat] = outlet.beats
    assert (beat.ok, beat.messages) == (True, 2)
    assert beat.error == "the answer is empty"


def test_one_job_that_hangs_delays_no_other() -> None:
    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    outlet = ListOutlet()

    async def story(good: int, bad: int) -> None:
        args = options("--address", f"good=127.0.0.1:{good}", "--address", f"bad=127.0.0.1:{bad}")
        serving = asyncio.create_task(source.serve(args, outlet))
        await until(lambda: len(outlet.of(NCCL_WINDOWS)) >= 6)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    with served(Ras().talk, hang) as [good, bad]:
        asyncio.run(story(good, bad))
    assert {beat.subject for beat in outlet.beats} == {"good"}


def test_a_job_that_starts_later_is_found() -> None:
    outlet = ListOutlet()
    ras = Ras(status=b"")

    async def story(port: int) -> None:
        serving = asyncio.create_task(source.serve(options("--address", f"j=127.0.0.1:{port}"), outlet))
        await until(lambda: bool(outlet.beats))
        ras.status = None
        await until(lambda: bool(outlet.of(NCCL_WINDOWS)))
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)

    with served(ras.talk) as [port]:
        asyncio.run(story(port))
    assert not outlet.beats[0].ok
    assert outlet.beats[-1].ok


@pytest.mark.parametrize("raw", [answer(), LATE.encode()])
def test_a_kept_answer_is_read_at_its_own_time(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "a").write_bytes(raw)
    outlet = ListOutlet()
    source.once(options("--file", str(tmp_path / "a"), "--job", "j", "--node", "n"), outlet)
    window = outlet.of(NCCL_WINDOWS)[0]
    assert (window.job, window.node, window.ts_us) == ("j", "n", (tmp_path / "a").stat().st_mtime_ns // 1000)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([], "give --address JOB=HOST"),
        (["--address", "j=host:x"], r"write \[JOB=\]HOST\[:PORT\]"),
        (["--address", "j=host:99999"], r"write \[JOB=\]HOST\[:PORT\]"),
        (["--address", "j="], r"write \[JOB=\]HOST\[:PORT\]"),
        (["--address", "=host"], "no job before the ="),
        (["--address", "a=h", "--address", "b=h"], "h:28028 is given twice"),
        (["--file", "/nowhere/x", "--job", "j"], "/nowhere/x: No such file"),
    ],
)
def test_a_mistake_of_the_users_is_said(words: list[str], why: str) -> None:
    with pytest.raises(SourceError, match=why):
        source.once(options(*words), ListOutlet())


def test_addresses_take_a_name_a_port_and_more_hosts() -> None:
    found = targets(["a=h1:1,h2", "[fd00::1]:7"], "b")
    assert [(t.job, t.name) for t in found] == [("a", "h1:1,h2:28028"), ("b", "[fd00::1]:7")]
    assert [t.job for t in targets(["h1", "a=h2"], None)] == ["h1:28028", "a"]


def test_check_tells_json_text_and_silence_apart() -> None:
    with served(Ras().talk, Ras(json_known=False).talk) as [new, old]:
        words = [f"j=127.0.0.1:{port}" for port in (new, old, 1)]
        sights = list(source.check(options(*(w for word in words for w in ("--address", word)))))
    assert [sight.ok for sight in sights] == [True, False, False]
    assert sights[0].sees == "NCCL 2.28.7, 2 communicators, 10 ranks in them"
    assert sights[1].advice == "NCCL 2.28.7 and later answer in JSON"
    assert sights[2].lacks.startswith("an answer: refused: no job runs there")


def test_a_whole_answer_of_many_ranks_comes_in_pieces(tmp_path: Path) -> None:
    whole = json.loads(answer())
    one = whole["communicators"][0]
    one["size"], one["missing_ranks"] = 3000, []
    one["ranks"] = [one["ranks"][0] | {"rank": n} for n in range(3000)]
    (tmp_path / "a").write_text(json.dumps(whole))
    outlet = ListOutlet()
    source.once(options("--file", str(tmp_path / "a"), "--job", "j"), outlet)
    pieces = [window for window in outlet.of(NCCL_WINDOWS) if window.comm_size == 3000]
    assert [(len(piece.rank), len(piece.members)) for piece in pieces] == [(2000, 2000), (1000, 1000)]


def test_addresses_get_names_once_and_a_slow_resolver_delays_nothing() -> None:
    outlet, asked, gate = ListOutlet(), list[str](), threading.Event()

    def lookup(address: str) -> str | None:
        asked.append(address)
        if address == "10.0.0.2":
            gate.wait(10)
            return "gpu-2"
        return "gpu-1"

    async def told(address: Address) -> bytes:
        return answer()

    async def story() -> None:
        names = Names(lookup, within_s=0.05)
        target = Target("j", (Address("h"),))
        poller = Poller(target, outlet, told, cluster="c", collector="x", interval_s=None, names=names)
        await poller.sweep()
        gate.set()
        await until(lambda: names.of("10.0.0.2") == "gpu-2")
        await poller.sweep()
        names.close()

    asyncio.run(story())
    first, _, second, _ = outlet.of(NCCL_WINDOWS)
    assert [member.host for member in first.members[2:5]] == ["gpu-1", "gpu-1", "10.0.0.2"]
    assert [member.host for member in second.members[2:5]] == ["gpu-1", "gpu-1", "gpu-2"]
    assert sorted(asked) == ["10.0.0.1", "10.0.0.2"]


def test_names_of_this_host_come_from_the_resolver_and_nonsense_has_none() -> None:
    assert reverse("127.0.0.1", own=lambda: "short") == "localhost"
    assert [reverse(text) for text in ("", "x" * 300, "not an address", "1.2.3")] == [None] * 4
