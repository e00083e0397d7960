"""POLL, ONCE, heartbeats, side calls, and switches that misbehave on the wire."""

import argparse
import asyncio
from typing import Any

import pytest

from collectors.contract.topics import FABRIC_LINKS
from collectors.gnmi import wire
from collectors.gnmi.presets import Mode, Preset, Wanted, presets
from collectors.gnmi.request import requests
from collectors.gnmi.source import add_arguments, once
from collectors.gnmi.stream import Stream
from collectors.gnmi.target import Access, Target
from tests.collectors.gnmi_bytes import IN_OCTETS, response, sync
from tests.collectors.gnmi_collecting import collecting, errors, play, reporting, scrapes, until
from tests.collectors.gnmi_peer import ONCE, POLL, STREAM, Asked, peer
from tests.collectors.list_outlet import ListOutlet

S = 1_000_000_000
T0 = 1_700_000_000 * S
LLDP = "/lldp/interfaces/interface[name=Ethernet1]/neighbors/neighbor[id=1]/state/system-name"


def target(
    address: str, *, mode: Mode = "STREAM", subscribe: tuple[Wanted, ...] | None = None, **preset: Any
) -> Target:
    wanted = subscribe or (Wanted("/interfaces/interface[name=*]/state/counters"),)
    return Target(
        name="leaf1",
        address=address,
        preset=Preset(name="test", encoding="PROTO", subscribe=wanted, mode=mode, **preset),
        access=Access(insecure=True),
    )


def octets(n: int) -> bytes:
    return response(T0 + n * S, {IN_OCTETS: n})


def values(outlet: ListOutlet) -> list[Any]:
    return [scrape.columns["port_rx_bytes"][0] for scrape in scrapes(outlet)]


async def poll_only(asked: Asked) -> None:
    if asked.mode != POLL:
        await asked.refuse("UNIMPLEMENTED", "STREAM")
    n = 0
    while await asked.polled():
        n += 1
        await asked.send(octets(n), sync())


async def once_only(asked: Asked) -> None:
    if asked.mode != ONCE:
        await asked.refuse("INVALID_ARGUMENT", "only ONCE")
    once_only.n += 1  # type: ignore[attr-defined]
    await asked.send(octets(once_only.n), sync())  # type: ignore[attr-defined]


def test_a_switch_is_polled_each_interval_and_only_the_first_is_the_baseline() -> None:
    async def test() -> None:
        async with peer(poll_only) as address, collecting(target(address, mode="POLL")) as outlet:
            await until(lambda: len(scrapes(outlet)) >= 4)
        assert values(outlet)[:4] == [1, 2, 3, 4]
        assert [s.baseline for s in scrapes(outlet)[:3]] == [True, False, False]
        assert errors(outlet) == []

    play(test)


def test_a_switch_that_refuses_to_stream_is_polled() -> None:
    async def test() -> None:
        async with peer(poll_only) as address, collecting(target(address)) as outlet:
            await until(lambda: len(scrapes(outlet)) >= 2)
        assert errors(outlet)[0] == "UNIMPLEMENTED: STREAM (asked as STREAM; POLL is next)"

    play(test)


def test_a_switch_that_knows_only_once_is_asked_once_an_interval() -> None:
    once_only.n = 0  # type: ignore[attr-defined]

    async def test() -> None:
        async with peer(once_only) as address, collecting(target(address)) as outlet:
            await until(lambda: len(scrapes(outlet)) >= 3)
        assert values(outlet)[:3] == [1, 2, 3]
        assert [s.baseline for s in scrapes(outlet)[:3]] == [True, False, False]

    play(test)


def test_a_once_answer_without_sync_is_whole_when_the_call_ends() -> None:
    async def answer(asked: Asked) -> None:
        await asked.send(octets(7))

    async def test() -> None:
        async with peer(answer) as address, collecting(target(address, mode="ONCE")) as outlet:
            await until(lambda: len(scrapes(outlet)) >= 1)
        assert values(outlet)[0] == 7

    play(test)


def test_a_poll_that_the_switch_ends_is_begun_again() -> None:
    async def answer(asked: Asked) -> None:
        await asked.polled()
        await asked.send(octets(1), sync())

    async def test() -> None:
        async with peer(answer) as address, collecting(target(address, mode="POLL")) as outlet:
            await until(lambda: len(scrapes(outlet)) >= 2)
            await until(lambda: "the switch ended the stream" in errors(outlet))
        assert all(s.baseline for s in scrapes(outlet)[:2])

    play(test)


def test_a_neighbour_that_is_missing_from_the_next_once_is_down() -> None:
    told: list[dict[str, Any]] = [{LLDP: "node1", IN_OCTETS: 1}, {IN_OCTETS: 2}, {LLDP: "node1", IN_OCTETS: 3}]
    rounds = iter(told)

    async def answer(asked: Asked) -> None:
        told = next(rounds, None)
        if told is None:
            await asked.wait()
        else:
            await asked.send(response(T0 + told[IN_OCTETS] * S, told), sync())

    async def test() -> None:
        async with peer(answer) as address, collecting(target(address, mode="ONCE")) as outlet:
            await until(lambda: len(outlet.of(FABRIC_LINKS)) >= 3)
        assert [link.up for link in outlet.of(FABRIC_LINKS)] == [True, False, True]

    play(test)


def options(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    namespace = parser.parse_args(list(given))
    namespace.node = namespace.instance = None
    return namespace


@pytest.mark.parametrize("mode", [STREAM, POLL, ONCE])
def test_a_snapshot_is_had_from_a_switch_that_knows_only_one_mode(mode: int) -> None:
    async def answer(asked: Asked) -> None:
        if asked.mode != mode:
            await asked.refuse("UNIMPLEMENTED", "not so")
        if mode == POLL:
            await asked.polled()
        await asked.send(octets(5), sync())
        if mode == STREAM:
            await asked.wait()

    async def test() -> None:
        async with peer(answer) as address:
            outlet = ListOutlet()
            args = options("--target", f"leaf1={address}", "--insecure", "--interval", "1")
            assert await asyncio.to_thread(once, args, outlet) == 1
            assert values(outlet) == [5]

    play(test)


def test_heartbeats_and_suppression_are_asked_for() -> None:
    preset = Preset(
        "p",
        "PROTO",
        (
            Wanted("/a", mode="ON_CHANGE", heartbeat_s=30),
            Wanted("/b", suppress=True, heartbeat_s=60, interval_s=5),
            Wanted("/c", mode="TARGET_DEFINED"),
            Wanted("/d"),
        ),
    )
    (request,) = requests(preset, 10, "STREAM")
    asked = wire.SubscribeRequest.FromString(request.raw).subscribe.subscription
    assert [(s.mode, s.sample_interval, s.heartbeat_interval, s.suppress_redundant) for s in asked] == [
        (1, 0, 30 * S, False),
        (2, 5 * S, 60 * S, True),
        (0, 0, 0, False),
        (2, 10 * S, 0, False),
    ]
    assert [s.every.sent_us for s in preset.subscribed(10)] == [30_000_000, 60_000_000, None, 10_000_000]


def test_a_switch_that_tells_only_changes_is_scraped_each_interval_all_the_same() -> None:
    async def answer(asked: Asked) -> None:
        await asked.send(octets(3), sync())
        await asked.wait()

    async def test() -> None:
        changes = (Wanted("/interfaces", mode="ON_CHANGE"),)
        async with peer(answer) as address, collecting(target(address, subscribe=changes)) as outlet:
            await until(lambda: len(scrapes(outlet)) >= 4)
        assert values(outlet)[:4] == [3, 3, 3, 3]
        times = [scrape.ts_us for scrape in scrapes(outlet)[1:]]
        assert times == sorted(set(times))
        assert errors(outlet) == []

    play(test)


def test_neighbours_come_on_a_call_of_their_own_where_a_switch_answers_one_database_a_call() -> None:
    async def answer(asked: Asked) -> None:
        if asked.target == "APPL_DB":
            held = {"Ethernet1": {"lldp_rem_sys_name": "node1", "lldp_rem_port_id": "eth0"}}
            await asked.send(response(T0, {"LLDP_ENTRY_TABLE": held}, target="APPL_DB"), sync())
            await asked.wait()
        n = 0
        while True:
            n += 1
            fields = {"Ethernet1": {"SAI_PORT_STAT_IF_IN_OCTETS": str(n)}}
            await asked.send(response(T0 + n * S, {"COUNTERS/Ethernet*": fields}, target="COUNTERS_DB"), sync())
            await asyncio.sleep(0.05)

    async def test() -> None:
        async with peer(answer) as address, collecting(sonic(address)) as outlet:
            await until(lambda: len(outlet.of(FABRIC_LINKS)) >= 1 and len(scrapes(outlet)) >= 2)
        (link,) = outlet.of(FABRIC_LINKS)
        assert (link.port, link.far_device, link.far_port, link.up) == ("Ethernet1", "node1", "eth0", True)
        assert "LLDP_ENTRY_TABLE" not in str(scrapes(outlet)[-1].named)

    play(test)


def sonic(address: str) -> Target:
    return target(
        address,
        target="COUNTERS_DB",
        subscribe=(Wanted("COUNTERS/Ethernet*"), Wanted("LLDP_ENTRY_TABLE", interval_s=30, target="APPL_DB")),
    )


def test_a_call_beside_the_counters_that_fails_is_told_and_stops_nothing() -> None:
    async def answer(asked: Asked) -> None:
        if asked.target == "APPL_DB":
            await asked.refuse("NOT_FOUND", "Failed to find LLDP_ENTRY_TABLE")
        n = 0
        while True:
            n += 1
            fields = {"Ethernet1": {"SAI_PORT_STAT_IF_IN_OCTETS": str(n)}}
            await asked.send(response(T0 + n * S, {"COUNTERS/Ethernet*": fields}, target="COUNTERS_DB"))
            await asyncio.sleep(0.05)

    async def test() -> None:
        async with peer(answer) as address, collecting(sonic(address)) as outlet:
            await until(lambda: any("APPL_DB" in scrape.errors for scrape in scrapes(outlet)))
        told = next(scrape.errors["APPL_DB"] for scrape in scrapes(outlet) if "APPL_DB" in scrape.errors)
        assert told == "NOT_FOUND: Failed to find LLDP_ENTRY_TABLE"
        assert all(beat.ok for beat in outlet.beats if beat.samples)

    play(test)


def test_a_message_beyond_the_bound_ends_the_stream_with_the_reason() -> None:
    async def answer(asked: Asked) -> None:
        await asked.send(b"\x0a" + b"\xff" * (65 * 1024 * 1024))

    async def test() -> None:
        async with peer(answer) as address, collecting(target(address)) as outlet:
            await until(lambda: any("RESOURCE_EXHAUSTED" in error for error in errors(outlet)))

    play(test)


def test_bytes_that_are_no_response_are_rejected_and_the_stream_goes_on() -> None:
    async def answer(asked: Asked) -> None:
        await asked.send(b"\xff\xff", octets(1)[:-3], octets(2), sync())
        await asked.wait()

    async def test() -> None:
        async with peer(answer) as address, collecting(target(address)) as outlet:
            await until(lambda: len(scrapes(outlet)) >= 1)
        assert values(outlet)[0] == 2
        assert [source for source, _, _ in outlet.rejected][:2] == [f"gnmi:{address}"] * 2

    play(test)


def test_a_switch_that_sends_nothing_but_the_end_of_a_snapshot_fails_each_interval() -> None:
    async def answer(asked: Asked) -> None:
        while True:
            await asked.send(sync())
            await asyncio.sleep(0.02)

    async def test() -> None:
        async with peer(answer) as address, collecting(target(address)) as outlet:
            await until(lambda: len(errors(outlet)) >= 2)
        assert "nothing came" in errors(outlet)[0]

    play(test)


def test_a_connection_that_is_no_gnmi_is_told() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    async def test() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()[:2]
        outlet = ListOutlet()
        stream = Stream(target(f"{host}:{port}"), reporting(outlet))
        await asyncio.wait_for(stream.attempt(), 30)
        server.close()
        assert errors(outlet)[0].startswith("UNAVAILABLE")

    play(test)


def test_every_built_in_preset_becomes_requests_in_every_mode() -> None:
    for preset in presets(None).values():
        for mode in ("STREAM", "POLL", "ONCE"):
            main, *beside = requests(preset, 10, mode)
            assert not main.side, preset.name
            assert all(request.side for request in beside), preset.name
