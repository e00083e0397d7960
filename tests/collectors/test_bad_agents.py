"""Agents and trainers that send bad datagrams: one beat with the reason, the others are read, then it is good again."""

import argparse
import asyncio
import random
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from collectors.snmp import source as snmp
from collectors.steps import listener as steps_listener
from collectors.steps import source as steps
from tests.collectors.bad_targets import options, serving
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.snmp_agent import Agent, serve, switch
from tests.collectors.test_bad_targets import resident, until

Mangle = Callable[[bytes], list[bytes]]
CHANCE = random.Random(7)
BAD: dict[str, Mangle] = {
    "silent": lambda answer: [],
    "half": lambda answer: [answer[: len(answer) // 2]],
    "garbage": lambda answer: [CHANCE.randbytes(len(answer))],
    "largest": lambda answer: [bytes(65_000)],
    "claims-more": lambda answer: [answer[:1] + b"\x82\xff\xff" + answer[2:]],
    "claims-less": lambda answer: [answer[:1] + b"\x05" + answer[2:]],
    "flood-of-garbage": lambda answer: [CHANCE.randbytes(1400) for _ in range(300)],
}


def asking(tmp_path: Path, *agents: tuple[str, str, int]) -> argparse.Namespace:
    (tmp_path / "community").write_text("public\n")
    targets = [f"--target={name}={host}:{port}" for name, host, port in agents]
    file = f"--community-file={tmp_path / 'community'}"
    args: argparse.Namespace = options("snmp", snmp, file, "--timeout=0.1", "--retries=0", *targets)
    return args


@pytest.mark.parametrize("bad", BAD)
def test_a_bad_agent_costs_one_beat_with_the_reason_and_no_other_anything(bad: str, tmp_path: Path) -> None:
    outlet = ListOutlet()

    async def story() -> None:
        agent, other = Agent(switch(2)), Agent(switch(2))
        (host, port, close), (host_2, port_2, close_2) = await serve(agent), await serve(other)
        args = asking(tmp_path, ("bad", host, port), ("good", host_2, port_2))

        def since(count: int, subject: str, ok: bool) -> list[str | None]:
            beats = outlet.beats[count:]
            return [beat.error for beat in beats if beat.subject == subject and beat.ok is ok]

        async with serving(snmp.serve(args, outlet)):
            await until(lambda: bool(since(0, "bad", True) and since(0, "good", True)), "two good sweeps")
            before, begun = resident(), len(outlet.beats)
            agent.mangle = BAD[bad]
            await until(
                lambda: bool(since(begun, "bad", False)) and len(since(begun, "good", True)) > 1, "a failed beat"
            )
            assert since(begun, "good", False) == []
            error = since(begun, "bad", False)[0]
            assert error and "defect" not in error and "\n" not in error
            assert resident() - before < 50 << 20
            agent.mangle = lambda answer: [answer]
            healed = len(outlet.beats)
            await until(lambda: bool(since(healed, "bad", True)), "a good sweep after it")
        close()
        close_2()

    asyncio.run(story())


def test_answers_that_come_a_hundred_times_are_taken_once(tmp_path: Path) -> None:
    outlet = ListOutlet()

    async def story() -> None:
        host, port, close = await serve(Agent(switch(2), mangle=lambda answer: [answer] * 100))
        async with serving(snmp.serve(asking(tmp_path, ("leaf1", host, port)), outlet)):
            await until(lambda: sum(beat.ok for beat in outlet.beats) > 2, "good sweeps")
        close()

    asyncio.run(story())
    assert [beat.error for beat in outlet.beats if not beat.ok] == []


def test_datagrams_that_wait_are_bounded_in_bytes_and_what_is_dropped_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steps_listener, "WAITING_BYTES", 1000)
    here = steps_listener.Listener(tmp_path / "s", 0o600, "n", lambda: None)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.connect(str(tmp_path / "s"))
        for _ in range(30):
            sender.send(b"x" * 100)
    here.close()
    taken, _, overflown = here.take()
    assert (len(taken), overflown) == (10, 20)


def test_a_trainer_that_floods_the_socket_with_garbage_hides_no_other(tmp_path: Path) -> None:
    outlet, path = ListOutlet(), tmp_path / "s"

    def flood() -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.connect(str(path))
            for number in range(3000):
                sender.send(CHANCE.randbytes((7, 1400, 100_000)[number % 3]))

    async def story() -> None:
        async with serving(steps.serve(options("steps", steps, f"--socket={path}"), outlet)):
            await until(path.exists, "the socket")
            before = resident()
            await asyncio.to_thread(flood)
            await until(lambda: len(outlet.rejected) >= 3000, "all of it")
            assert resident() - before < 300 << 20

    asyncio.run(story())
    assert outlet.published == []
    assert [beat.error for beat in outlet.beats if "defect" in (beat.error or "")] == []
