"""Streams against real gRPC servers on this machine."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio

from collectors.contract.topics import FABRIC_LINKS
from collectors.fabric.series import Site
from collectors.gnmi import wire
from collectors.gnmi.patience import Backoff
from collectors.gnmi.presets import presets
from collectors.gnmi.stream import Stream
from collectors.gnmi.target import Access, Target
from infra.fleet.gnmi_server import GnmiFleet, Login, serve
from infra.fleet.gnmi_switch import Readings, Switch
from tests.collectors.certificates import Certificates
from tests.collectors.gnmi_collecting import collecting, play, reporting, scrapes, until
from tests.collectors.list_outlet import ListOutlet

PORTS = ("Ethernet1", "Ethernet2")


class Model:
    """Counters that grow by one at each read."""

    def __init__(self) -> None:
        self.reads = 0

    def __call__(self, _now_us: int) -> Readings:
        self.reads += 1
        n = 2**60 + self.reads
        return {"port_rx_bytes": [n, n], "queue_drop_packets.3": [0, 0], "pg_drop_packets.3": [0, 0]}


def switch(name: str = "leaf1", **options: Any) -> Switch:
    return Switch(name=name, ports=PORTS, read=Model(), **options)


def target(fleet: GnmiFleet, name: str = "leaf1", *, preset: str = "arista", access: Access | None = None) -> Target:
    return Target(
        name=name,
        address=fleet.addresses[name],
        preset=presets(None)[preset],
        site=Site(lossless=(3,)),
        access=access or Access(insecure=True),
    )


def test_rounds_become_scrapes_and_the_first_is_the_baseline() -> None:
    async def test() -> None:
        fleet = await serve([switch(neighbours={"Ethernet1": ("node1", "eth0")})])
        async with collecting(target(fleet)) as outlet:
            await until(lambda: len(scrapes(outlet)) >= 4)
        await fleet.close()
        seen = scrapes(outlet)
        assert [s.baseline for s in seen[:4]] == [True, False, False, False]
        values = [s.columns["port_rx_bytes"][0] for s in seen]
        assert values == sorted(set(values))  # type: ignore[type-var]
        assert values[0] is not None
        assert values[0] > 2**60
        assert [(p.name, p.lossless, p.speed_gbps, p.oper_up) for p in seen[0].ports] == [
            ("Ethernet1", [3], 400.0, True),
            ("Ethernet2", [3], 400.0, True),
        ]
        assert [(link.port, link.far_device) for link in outlet.of(FABRIC_LINKS)] == [("Ethernet1", "node1")]
        good = [beat for beat in outlet.beats if beat.ok]
        assert len(good) == len(seen)
        assert (good[1].target, good[1].subject, good[1].collector) == (fleet.addresses["leaf1"], "leaf1", "gnmi@here")
        assert good[1].samples >= 6

    play(test)


def test_a_beat_counts_the_bytes_of_the_responses_since_the_last() -> None:
    sent = [b"no response", wire.SubscribeResponse(sync_response=True).SerializeToString()]

    async def answer(_requests: Any, _context: Any) -> AsyncIterator[bytes]:
        for raw in sent:
            yield raw

    async def test() -> None:
        server = grpc.aio.server()
        handler = grpc.stream_stream_rpc_method_handler(answer)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("gnmi.gNMI", {"Subscribe": handler}),))
        address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        await server.start()
        outlet = ListOutlet()
        leaf = Target(
            name="leaf1", address=address, preset=presets(None)["arista"], site=Site(), access=Access(insecure=True)
        )
        stream = Stream(leaf, reporting(outlet))
        for _ in range(2):
            await stream.attempt()
        await server.stop(None)
        assert [beat.bytes for beat in outlet.beats] == [sum(map(len, sent))] * 2

    play(test)


def test_all_dialects_and_bundles_show_the_same_counters() -> None:
    async def test() -> None:
        fleet = await serve(
            [
                switch("switch", bundle="switch"),
                switch("port", bundle="port"),
                switch("leaf", bundle="leaf"),
                switch("sonic", dialect="sonic"),
            ]
        )
        wanted = [target(fleet, name) for name in ("switch", "port", "leaf")]
        async with collecting(*wanted, target(fleet, "sonic", preset="sonic")) as outlet:
            await until(lambda: all(len(scrapes(outlet, name)) >= 2 for name in fleet.addresses))
        await fleet.close()
        for name in fleet.addresses:
            columns = scrapes(outlet, name)[1].columns
            assert {"port_rx_bytes", "queue_drop_packets.3", "pg_drop_packets.3"} <= set(columns), name
            assert columns["queue_drop_packets.3"] == [0, 0]

    play(test)


def test_a_switch_that_restarts_begins_with_a_baseline() -> None:
    async def test() -> None:
        fleet = await serve([switch()])
        async with collecting(target(fleet)) as outlet:
            await until(lambda: len(scrapes(outlet)) >= 2)
            await fleet.switches["leaf1"].stop()
            await until(lambda: any(not beat.ok for beat in outlet.beats))
            before = len(scrapes(outlet))
            await fleet.switches["leaf1"].start()
            await until(lambda: len(scrapes(outlet)) >= before + 2)
        await fleet.close()
        assert [s.baseline for s in scrapes(outlet)[before : before + 2]] == [True, False]
        failed = next(beat for beat in outlet.beats if not beat.ok)
        assert failed.error is not None
        assert "UNAVAILABLE" in failed.error or "ended the stream" in failed.error

    play(test)


def test_a_switch_that_falls_silent_is_cut_off_and_tried_again() -> None:
    async def test() -> None:
        fleet = await serve([switch()])
        async with collecting(target(fleet)) as outlet:
            await until(lambda: len(scrapes(outlet)) >= 2)
            fleet.switches["leaf1"].frozen = True
            await until(lambda: any("silent for" in (beat.error or "") for beat in outlet.beats))
            before = len(scrapes(outlet))
            fleet.switches["leaf1"].frozen = False
            await until(lambda: len(scrapes(outlet)) > before)
        await fleet.close()
        assert scrapes(outlet)[before].baseline

    play(test)


def test_a_dead_switch_does_not_hold_up_another() -> None:
    async def test() -> None:
        fleet = await serve([switch("good"), switch("dead")])
        await fleet.switches["dead"].stop()
        async with collecting(target(fleet, "good"), target(fleet, "dead")) as outlet:
            await until(lambda: len(scrapes(outlet, "good")) >= 3)
            await until(lambda: any(not beat.ok and beat.subject == "dead" for beat in outlet.beats))
        await fleet.close()
        assert scrapes(outlet, "dead") == []
        assert all(beat.ok for beat in outlet.beats if beat.subject == "good")

    play(test)


def test_a_wrong_password_is_said_and_the_right_one_reads() -> None:
    async def test() -> None:
        fleet = await serve([switch()], login=Login(username="reader", password="right"))
        wrong = Access(insecure=True, username="reader", password="wrong")
        async with collecting(target(fleet, access=wrong)) as outlet:
            await until(lambda: any("UNAUTHENTICATED" in (beat.error or "") for beat in outlet.beats))
        assert scrapes(outlet) == []
        right = Access(insecure=True, username="reader", password="right")
        async with collecting(target(fleet, access=right)) as outlet:
            await until(lambda: len(scrapes(outlet)) >= 1)
        await fleet.close()

    play(test)


def test_mutual_tls_reads_and_a_client_without_certificate_does_not(tmp_path: Path) -> None:
    made = Certificates(tmp_path)

    async def test() -> None:
        credentials = grpc.ssl_server_credentials(
            [(made.key("switch"), made.cert("switch"))], made.ca, require_client_auth=True
        )
        fleet = await serve([switch()], credentials=credentials)
        known = Access(ca=made.ca, cert=made.cert("client"), key=made.key("client"), tls_name="switch.example")
        async with collecting(target(fleet, access=known)) as outlet:
            await until(lambda: len(scrapes(outlet)) >= 1)
        for stranger in (
            Access(ca=made.ca, tls_name="switch.example"),
            Access(ca=made.ca, cert=made.cert("client"), key=made.key("client"), tls_name="other.example"),
            Access(insecure=True),
        ):
            async with collecting(target(fleet, access=stranger)) as outlet:
                await until(lambda: any("UNAVAILABLE" in (beat.error or "") for beat in outlet.beats))
            assert scrapes(outlet) == []
        await fleet.close()

    play(test)


def test_waits_double_up_to_a_limit_and_differ_by_chance() -> None:
    backoff = Backoff(1.0, 60.0)
    assert [backoff.wait_s(n, 1.0) for n in (0, 1, 5, 6, 99)] == [1.0, 2.0, 32.0, 60.0, 60.0]
    assert backoff.wait_s(0, 0.0) == 0.5
