"""Simulated switches, read with bare gRPC."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import grpc.aio
import pytest

from collectors.contract.errors import UserError
from collectors.gnmi import wire
from collectors.gnmi.channel import SUBSCRIBE
from collectors.gnmi.path import GnmiPath, parse_path, read_path, write_path
from infra.fleet.gnmi_server import GnmiFleet, serve
from infra.fleet.gnmi_switch import Readings, Switch, leaf_path, sonic_field

STREAM, ONCE, POLL = 0, 1, 2
ON_CHANGE, SAMPLE = 1, 2
PRIORITY = "pfc/priorities/priority[index=3]/state"
PORTS = ("Ethernet0", "Ethernet4")
READINGS: Readings = {
    "port_rx_bytes": [2**64 - 1, 7],
    "queue_drop_packets.3": [0, 1],
    "pfc_rx_pause_us.3": [5, 6],
    "pfcwd_state.3": [0, 1],
}


def switch(**options: Any) -> Switch:
    return Switch(name="leaf1", ports=PORTS, read=options.pop("read", lambda _: READINGS), **options)


async def ask(
    address: str,
    *paths: str,
    mode: int = ONCE,
    how: int = SAMPLE,
    interval_ns: int = 0,
    target: str = "",
    stop: int = 99,
) -> list[Any]:
    """The answers: notifications, and None for sync_response; at most `stop`."""
    request = wire.SubscribeRequest()
    request.subscribe.mode = mode
    request.subscribe.prefix = write_path(GnmiPath(target=target))
    for path in paths:
        request.subscribe.subscription.add(path=write_path(parse_path(path)), mode=how, sample_interval=interval_ns)
    out: list[Any] = []
    async with grpc.aio.insecure_channel(address) as channel:
        call = channel.stream_stream(SUBSCRIBE, request_serializer=None, response_deserializer=None)()
        await call.write(request.SerializeToString())
        async for raw in call:
            response = wire.SubscribeResponse.FromString(raw)
            out.append(response.update if response.WhichOneof("response") == "update" else None)
            if len(out) >= stop:
                break
        call.cancel()
    return out


def leaves(answers: list[Any]) -> dict[str, int | str]:
    out: dict[str, int | str] = {}
    for note in filter(None, answers):
        for update in note.update:
            held = update.val
            path = str(read_path(note.prefix) + read_path(update.path))
            out[path] = held.string_val.decode() if held.WhichOneof("value") == "string_val" else held.uint_val
    return out


def play(test: Callable[[GnmiFleet], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        fleet = await serve([switch(**options)])
        try:
            await test(fleet)
        finally:
            await fleet.close()

    asyncio.run(main())


@pytest.mark.parametrize("bundle", ["switch", "port", "leaf"])
def test_only_what_is_asked_for_is_sent(bundle: str) -> None:
    async def test(fleet: GnmiFleet) -> None:
        answers = await ask(fleet.addresses["leaf1"], "/interfaces/interface[name=*]/state/counters")
        assert answers[-1] is None
        assert leaves(answers) == {
            "/interfaces/interface[name=Ethernet0]/state/counters/in-octets": 2**64 - 1,
            "/interfaces/interface[name=Ethernet4]/state/counters/in-octets": 7,
        }

    play(test, bundle=bundle)


def test_one_port_may_be_asked_for() -> None:
    async def test(fleet: GnmiFleet) -> None:
        answers = await ask(
            fleet.addresses["leaf1"],
            "/interfaces/interface[name=Ethernet4]",
            "/qos/interfaces/interface[interface-id=Ethernet4]",
        )
        assert leaves(answers) == {
            "/interfaces/interface[name=Ethernet4]/state/counters/in-octets": 7,
            f"/interfaces/interface[name=Ethernet4]/ethernet/{PRIORITY}/pfc-on-total-rx-time": 6000,
            "/qos/interfaces/interface[interface-id=Ethernet4]/output/queues/queue[name=3]/state/dropped-pkts": 1,
        }

    play(test)


def test_a_plain_openconfig_switch_has_no_pfc() -> None:
    assert leaf_path("pfc_rx_frames.3", "Ethernet0", "openconfig") is None
    assert leaf_path("pfc_rx_frames.3", "Ethernet0", "arista") is not None


def test_sonic_answers_with_json_of_strings() -> None:
    async def test(fleet: GnmiFleet) -> None:
        answers = await ask(
            fleet.addresses["leaf1"],
            "COUNTERS/Ethernet*",
            "COUNTERS/Ethernet*/Queues",
            "COUNTERS/Ethernet*/Pfcwd",
            "COUNTERS/Ethernet4/SAI_PORT_STAT_IF_IN_OCTETS",
            target="COUNTERS_DB",
        )
        held = [json.loads(u.val.json_ietf_val) for note in filter(None, answers) for u in note.update]
        ports, queues, watchdog, one = held
        assert ports["Ethernet0"]["SAI_PORT_STAT_IF_IN_OCTETS"] == "18446744073709551615"
        assert ports["Ethernet4"]["SAI_PORT_STAT_PFC_3_RX_PAUSE_DURATION_US"] == "6"
        assert queues["Ethernet4:3"] == {"SAI_QUEUE_STAT_DROPPED_PACKETS": "1", "PFC_WD_STATUS": "stormed"}
        assert watchdog == {
            "Ethernet0:3": {"PFC_WD_STATUS": "operational"},
            "Ethernet4:3": {"PFC_WD_STATUS": "stormed"},
        }
        assert one == {"SAI_PORT_STAT_IF_IN_OCTETS": "7"}

    play(test, dialect="sonic")


def test_a_counter_without_a_sonic_field_is_not_shown() -> None:
    assert sonic_field("port_rx_packets") is None
    assert sonic_field("pfc_rx_frames.3") == "SAI_PORT_STAT_PFC_3_RX_PKTS"


def test_a_stream_goes_on_after_the_snapshot() -> None:
    counted = iter(range(1, 1000))

    async def test(fleet: GnmiFleet) -> None:
        answers = await ask(fleet.addresses["leaf1"], "/interfaces", mode=STREAM, interval_ns=20_000_000, stop=5)
        values = [note.update[0].val.uint_val for note in answers if note is not None]
        assert (answers[1], values) == (None, [1, 2, 3, 4])
        times = [note.timestamp for note in answers if note is not None]
        assert times == sorted(set(times))

    play(test, read=lambda _: {"port_rx_bytes": [next(counted), 0]})


def test_a_leaf_without_a_value_is_absent_and_comes_back() -> None:
    values = iter((None, 5))

    async def test(fleet: GnmiFleet) -> None:
        first, second = [leaves(await ask(fleet.addresses["leaf1"], "/interfaces")) for _ in range(2)]
        assert (len(first), len(second)) == (1, 2)

    play(test, read=lambda _: {"port_rx_bytes": [next(values), 7]})


def test_states_are_told_when_they_change() -> None:
    state = {"port_oper_state": [1, 1]}

    async def test(fleet: GnmiFleet) -> None:
        leaf = "/interfaces/interface[name=*]/state/oper-status"
        asked = asyncio.create_task(ask(fleet.addresses["leaf1"], leaf, mode=STREAM, how=ON_CHANGE, stop=3))
        await asyncio.sleep(0.2)
        state["port_oper_state"] = [1, 2]
        answers = await asked
        assert leaves(answers[:2]) == {
            "/interfaces/interface[name=Ethernet0]/state/oper-status": "UP",
            "/interfaces/interface[name=Ethernet4]/state/oper-status": "UP",
        }
        assert leaves(answers[2:]) == {"/interfaces/interface[name=Ethernet4]/state/oper-status": "DOWN"}

    play(test, read=lambda _: state)


@pytest.mark.parametrize(
    ("options", "code"),
    [({"mode": POLL}, "UNIMPLEMENTED"), ({"mode": STREAM, "interval_ns": 1}, "INVALID_ARGUMENT")],
)
def test_what_the_switch_cannot_do_is_refused(options: dict[str, int], code: str) -> None:
    async def test(fleet: GnmiFleet) -> None:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await ask(fleet.addresses["leaf1"], "/interfaces", **options)  # type: ignore[arg-type]
        assert refused.value.code().name == code

    play(test)


def test_a_port_that_is_taken_is_said() -> None:
    async def main() -> None:
        fleet = await serve([switch()])
        taken = int(fleet.addresses["leaf1"].rpartition(":")[2])
        try:
            with pytest.raises(UserError, match=f"leaf1: cannot listen on 127.0.0.1:{taken}"):
                await serve([switch()], base_port=taken)
        finally:
            await fleet.close()

    asyncio.run(main())


def test_sixty_four_switches_listen_in_one_process() -> None:
    async def main() -> None:
        fleet = await serve([Switch(name=f"leaf{n}", ports=PORTS, read=lambda _: READINGS) for n in range(64)])
        answers = await asyncio.gather(*(ask(a, "/interfaces") for a in fleet.addresses.values()))
        await fleet.close()
        assert len(set(fleet.addresses.values())) == 64
        assert all(len(leaves(a)) >= 2 for a in answers)

    asyncio.run(main())
