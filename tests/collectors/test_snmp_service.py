"""Many switches in one process: one that is silent, absent or beyond us stops no other."""

import argparse
import asyncio
import socket
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from collectors.contract.topics import FABRIC_SCRAPES
from collectors.snmp.check import check
from collectors.snmp.login import Login
from collectors.snmp.service import Service, serve, snapshot
from collectors.snmp.source import add_arguments
from collectors.snmp.target import targets
from collectors.source import SourceError
from streams.detectors.lossless import LosslessDropDetector
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.snmp_agent import Agent, switch
from tests.collectors.snmp_agent import serve as serve_agent


def options(tmp_path: Path, *addresses: str, interval: float = 15.0, more: tuple[str, ...] = ()) -> argparse.Namespace:
    (tmp_path / "community").write_text("public\n")
    parser = argparse.ArgumentParser()
    parser.add_argument("--node")
    parser.add_argument("--interval", type=float, default=interval)
    add_arguments(parser)
    login = ["--community-file", str(tmp_path / "community"), "--timeout", "0.05", "--retries", "0"]
    return parser.parse_args([*login, *more, *(word for at in addresses for word in ("--target", at))])


def silent_port() -> socket.socket:
    """A port that takes everything and answers nothing."""
    held = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    held.bind(("127.0.0.1", 0))
    return held


def test_a_silent_switch_is_a_beat_with_the_reason_and_the_others_are_read(tmp_path: Path) -> None:
    outlet, agent = ListOutlet(), Agent(switch(2))

    async def run() -> int:
        host, port, close = await serve_agent(agent)
        with silent_port() as silent:
            away = f"away=127.0.0.1:{silent.getsockname()[1]}"
            # A label of 64 letters is no name; nobody is asked for it.
            args = options(tmp_path, away, f"nowhere={'a' * 64}", f"here={host}:{port}")
            try:
                return await snapshot(args, outlet)
            finally:
                close()

    assert asyncio.run(run()) == 2
    assert [scrape.device for scrape in outlet.of(FABRIC_SCRAPES)] == ["here"]
    beats = {beat.subject: beat for beat in outlet.beats}
    assert [(name, beats[name].ok) for name in ("away", "nowhere", "here")] == [
        ("away", False),
        ("nowhere", False),
        ("here", True),
    ]
    assert "no answer" in (beats["away"].error or "") and "no address" in (beats["nowhere"].error or "")
    assert beats["here"].samples > 0 and beats["here"].messages == 1
    assert (beats["away"].bytes, beats["nowhere"].bytes, beats["here"].bytes) == (0, 0, agent.sent)


def test_where_no_switch_answers_once_says_so(tmp_path: Path) -> None:
    with silent_port() as silent, pytest.raises(SourceError, match="no switch answered"):
        asyncio.run(snapshot(options(tmp_path, f"127.0.0.1:{silent.getsockname()[1]}"), ListOutlet()))


def test_switches_are_read_again_and_again_until_it_is_cancelled(tmp_path: Path) -> None:
    outlet = ListOutlet()

    async def run() -> None:
        host, port, close = await serve_agent(Agent(switch(2)))
        serving = asyncio.create_task(serve(options(tmp_path, f"here={host}:{port}", interval=0.05), outlet))
        while len(outlet.of(FABRIC_SCRAPES)) < 3:
            await asyncio.sleep(0)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        close()

    asyncio.run(asyncio.wait_for(run(), 20))
    assert {scrape.epoch for scrape in outlet.of(FABRIC_SCRAPES)} == {outlet.of(FABRIC_SCRAPES)[0].epoch}


def test_a_fault_of_ours_with_one_switch_is_its_beat(tmp_path: Path) -> None:
    class Broken:
        def security(self) -> None:
            raise ZeroDivisionError("of ours")

    outlet = ListOutlet()

    async def run() -> None:
        args = options(tmp_path, "bad=127.0.0.1:9")
        service = Service(args, outlet)
        (target,) = targets(args)
        assert await service.sweep(replace(target, login=cast(Login, Broken()))) is None
        service.close()

    asyncio.run(run())
    assert str(outlet.beats[0].error).startswith("defect: ZeroDivisionError: of ours at ")


def test_a_drop_on_a_lossless_priority_that_snmp_shows_is_found(tmp_path: Path) -> None:
    outlet = ListOutlet()

    async def run() -> None:
        agent = Agent(switch(2, priorities=8))
        host, port, close = await serve_agent(agent)
        args = options(tmp_path, f"leaf1={host}:{port}", more=("--preset", "mellanox", "--lossless", "3"))
        service = Service(args, outlet)
        (target,) = targets(args)
        reader = await service.sweep(target)
        values = switch(2, priorities=8, uptime=101_500)
        # mellanoxQoSPGNoBufferDiscard of ifIndex 3, group 3: one more than before.
        values["1.3.6.1.4.1.33049.15.1.3.1.6.3.3"] = b"\x46\x01\x06"
        agent.fill(values)
        await service.sweep(target, reader)
        service.close()
        close()

    asyncio.run(run())
    detector = LosslessDropDetector()
    _, (finding,) = detector.step(detector.fresh(), outlet.of(FABRIC_SCRAPES))
    assert (finding.subject.port, finding.value, finding.state) == ("Ethernet2", 1.0, "opened")


def test_a_check_ends_by_itself_and_names_what_to_switch_on(tmp_path: Path) -> None:
    with silent_port() as silent:
        (sight,) = check(options(tmp_path, f"away=127.0.0.1:{silent.getsockname()[1]}"))
    assert (sight.ok, sight.lacks) == (False, "an answer") and "community" in sight.advice
