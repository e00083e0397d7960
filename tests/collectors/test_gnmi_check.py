"""What a check says of switches that are well, half well and not there."""

import argparse
import asyncio
from pathlib import Path
from typing import Any

from collectors.gnmi.source import add_arguments, check
from collectors.source import Sight
from infra.fleet.gnmi_server import Login, serve
from infra.fleet.gnmi_switch import Switch
from tests.collectors.gnmi_collecting import play
from tests.collectors.gnmi_peer import Asked, peer

READINGS = {"port_rx_bytes": [1], "queue_drop_packets.3": [0], "pfc_rx_frames.3": [0]}


def options(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    namespace = parser.parse_args([*given, "--interval", "1"])
    namespace.node = namespace.instance = None
    return namespace


def switch(**given: Any) -> Switch:
    return Switch(name="leaf1", ports=("Ethernet1",), read=lambda _: READINGS, **given)


async def looked(*given: str) -> list[Sight]:
    return list(await asyncio.to_thread(check, options(*given)))


def test_a_switch_that_shows_everything_lacks_nothing() -> None:
    async def test() -> None:
        fleet = await serve([switch(neighbours={"Ethernet1": ("node1", "eth0")})])
        at = f"leaf1={fleet.addresses['leaf1']}"
        sights = await looked("--target", at, "--insecure", "--preset", "arista", "--lossless", "3")
        await fleet.close()
        assert [(s.target, s.ok, s.lacks) for s in sights] == [(at, True, "")]
        assert "1 neighbours" in sights[0].sees

    play(test)


def test_a_switch_without_pfc_is_told_what_to_switch_on() -> None:
    async def test() -> None:
        fleet = await serve([switch(dialect="openconfig")])
        sights = await looked("--target", f"leaf1={fleet.addresses['leaf1']}", "--insecure")
        await fleet.close()
        assert [(s.ok, s.lacks) for s in sights[1:]] == [
            (False, "PFC counters"),
            (False, "which priorities are lossless"),
            (True, "neighbours"),
        ]
        assert "take the preset of the vendor" in sights[1].advice

    play(test)


def test_a_login_that_is_refused_is_told_with_where_to_give_it() -> None:
    async def test() -> None:
        fleet = await serve([switch()], login=Login(username="reader", password="right"))
        (sight,) = await looked("--target", f"leaf1={fleet.addresses['leaf1']}", "--insecure")
        await fleet.close()
        assert (sight.ok, sight.lacks[:15]) == (False, "UNAUTHENTICATED")
        assert "LOCKSTEP_GNMI_PASSWORD" in sight.advice

    play(test)


def test_a_switch_that_is_away_and_one_that_is_well_are_both_told(tmp_path: Path) -> None:
    async def test() -> None:
        fleet = await serve([switch()])
        targets = tmp_path / "targets.toml"
        targets.write_text(
            f'[[target]]\nname = "gone"\naddress = "127.0.0.1:1"\n'
            f'[[target]]\nname = "leaf1"\naddress = "{fleet.addresses["leaf1"]}"\npreset = "arista"\n'
        )
        sights = await looked("--targets", str(targets), "--insecure", "--lossless", "3")
        await fleet.close()
        assert [(s.target.partition("=")[0], s.ok) for s in sights[:2]] == [("gone", False), ("leaf1", True)]
        assert "turn gNMI on" in sights[0].advice

    play(test)


def test_a_switch_that_knows_none_of_the_paths_is_told_to_have_another_preset() -> None:
    async def answer(asked: Asked) -> None:
        await asked.refuse("INVALID_ARGUMENT", "unknown path")

    async def test() -> None:
        async with peer(answer) as address:
            (sight,) = await looked("--target", f"leaf1={address}", "--insecure")
        assert "take the preset of its vendor" in sight.advice, sight.lacks

    play(test)
