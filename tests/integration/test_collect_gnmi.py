"""gNMI against a server that is not ours: the fake target of openconfig/gnmi, in Go."""

import time
from pathlib import Path
from typing import Any

import pytest

from collectors.contract.fabric import PortScrape
from collectors.contract.topics import FABRIC_LINKS
from collectors.fabric.series import Site
from collectors.gnmi.presets import Preset, Wanted, presets
from collectors.gnmi.target import Access, Target
from tests.collectors.gnmi_collecting import collecting, errors, play, scrapes, until
from tests.collectors.list_outlet import ListOutlet
from tests.integration.gnmi_target import SYNC, FakeTarget, note, running

S = 1_000_000_000
PORT = "/interfaces/interface[name=Ethernet1]"
OCTETS = PORT + "/state/counters/in-octets"
WATCHDOG = PORT + "/ethernet/pfc/watchdog/tx-queues/tx-queue[index=3][queue-type=UNICAST]/state/stuck-count"
LLDP = "/lldp/interfaces/interface[name=Ethernet1]/neighbors/neighbor[id=1]/state/"
QUIET = Preset("quiet", "PROTO", (Wanted("/interfaces", mode="ON_CHANGE", heartbeat_s=30),))


def target(fake: FakeTarget, *, client: bool = False, preset: Preset | None = None, **access: Any) -> Target:
    made = fake.made
    given: dict[str, Any] = {"ca": made.ca, "tls_name": "switch.example", **access}
    if client:
        given |= {"cert": made.cert("client"), "key": made.key("client")}
    return Target(
        name="leaf1",
        address=fake.address,
        preset=preset or presets(None)["arista"],
        site=Site(lossless=(3,)),
        access=Access(**given),
    )


def rounds(count: int, every_ns: int = S // 5) -> tuple[str, ...]:
    """A snapshot with its end, then values that are a step apart; the target waits as long as their times differ."""
    now = time.time_ns()
    first = note(now, [(OCTETS, 2**63), (WATCHDOG, 1), (LLDP + "system-name", "node1"), (LLDP + "port-id", "eth0")])
    later = [note(now + n * every_ns, [(OCTETS, 2**63 + n), (WATCHDOG, 1)]) for n in range(1, count)]
    return (first, SYNC, *later)


def octets(outlet: ListOutlet) -> list[Any]:
    return [scrape.columns["port_rx_bytes"][0] for scrape in scrapes(outlet)]


def test_a_go_server_is_read_over_tls_and_its_snapshot_is_the_baseline(tmp_path: Path) -> None:
    async def test(fake: FakeTarget) -> None:
        async with collecting(target(fake), interval_s=0.2) as outlet:
            await until(lambda: len(scrapes(outlet)) >= 3)
        assert octets(outlet)[:2] == [2**63, 2**63 + 1]
        first: PortScrape = scrapes(outlet)[0]
        assert (first.baseline, scrapes(outlet)[1].baseline) == (True, False)
        assert first.columns["pfcwd_storm_detected.3"] == [1]
        assert [(link.port, link.far_device, link.far_port) for link in outlet.of(FABRIC_LINKS)] == [
            ("Ethernet1", "node1", "eth0")
        ]

    with running(tmp_path, *rounds(20)) as fake:
        play(lambda: test(fake))


def test_keys_of_a_go_map_in_any_order_are_one_series(tmp_path: Path) -> None:
    """Go sends the two keys of an element in either order: both byte forms come within a few messages."""
    now = time.time_ns()
    many = [note(now + n * S // 100, [(WATCHDOG, n)]) for n in range(60)]

    async def test(fake: FakeTarget) -> None:
        async with collecting(target(fake), interval_s=0.2) as outlet:
            await until(lambda: any(s.columns["pfcwd_storm_detected.3"] == [59] for s in scrapes(outlet)))
        assert {tuple(scrape.columns) for scrape in scrapes(outlet)} == {("pfcwd_storm_detected.3",)}

    with running(tmp_path, *many, SYNC) as fake:
        play(lambda: test(fake))


def test_mutual_tls_lets_a_known_client_in_and_no_other(tmp_path: Path) -> None:
    async def test(fake: FakeTarget) -> None:
        async with collecting(target(fake, client=True), interval_s=0.2) as outlet:
            await until(lambda: len(scrapes(outlet)) >= 1)
        for stranger in (target(fake), target(fake, client=True, tls_name="other.example"), target(fake, ca=None)):
            async with collecting(stranger, interval_s=0.2) as outlet:
                await until(lambda: any("UNAVAILABLE" in error for error in errors(outlet)))
            assert scrapes(outlet) == []

    with running(tmp_path, *rounds(20), mutual=True) as fake:
        play(lambda: test(fake))


def test_a_server_that_was_killed_is_read_again_from_a_baseline(tmp_path: Path) -> None:
    async def test(fake: FakeTarget) -> None:
        async with collecting(target(fake), interval_s=0.2) as outlet:
            await until(lambda: len(scrapes(outlet)) >= 2)
            fake.kill()
            await until(lambda: errors(outlet) != [])
            before = len(scrapes(outlet))
            fake.start()
            await until(lambda: len(scrapes(outlet)) > before)
        assert scrapes(outlet)[before].baseline

    with running(tmp_path, *rounds(50)) as fake:
        play(lambda: test(fake))


def test_a_deleted_port_is_absent(tmp_path: Path) -> None:
    now = time.time_ns()
    other = OCTETS.replace("Ethernet1", "Ethernet2")

    async def test(fake: FakeTarget) -> None:
        async with collecting(target(fake), interval_s=0.2) as outlet:
            await until(lambda: any([p.name for p in s.ports] == ["Ethernet2"] for s in scrapes(outlet)))
        assert [p.name for p in scrapes(outlet)[0].ports] == ["Ethernet1", "Ethernet2"]

    later = [note(now + n * S // 5, [(other, n)]) for n in range(2, 20)]
    gone = note(now + S // 5, [], [PORT])
    with running(tmp_path, note(now, [(OCTETS, 1), (other, 1)]), SYNC, gone, *later) as fake:
        play(lambda: test(fake))


def test_a_message_over_the_default_bound_of_grpc_is_read(tmp_path: Path) -> None:
    now = time.time_ns()
    text = "x" * 1_000_000
    updates = [(f"{PORT}/state/text{n}", text) for n in range(5)]

    async def test(fake: FakeTarget) -> None:
        async with collecting(target(fake), interval_s=0.2) as outlet:
            await until(lambda: len(scrapes(outlet)) >= 1)
        assert octets(outlet) == [7]
        assert all(len(str(column[0])) <= 4096 for column in scrapes(outlet)[0].named.values())

    with running(tmp_path, note(now, [(OCTETS, 7), *updates]), SYNC) as fake:
        play(lambda: test(fake))


def test_a_go_server_does_not_punish_a_quiet_connection(tmp_path: Path) -> None:
    """A Go server ends a connection that pings it while nothing is sent. Ours does not ping: held for 8 s, and by the
    channel's options, which hold no keepalive."""
    from collectors.gnmi import channel

    assert not [name for name, _ in channel._OPTIONS if "keepalive" in name]

    async def test(fake: FakeTarget) -> None:
        async with collecting(target(fake, preset=QUIET), interval_s=0.5) as outlet:
            await until(lambda: len(scrapes(outlet)) >= 16)
        assert [scrape.baseline for scrape in scrapes(outlet)].count(True) == 1
        assert errors(outlet) == []

    with running(tmp_path, note(time.time_ns(), [(OCTETS, 1)]), SYNC) as fake:
        play(lambda: test(fake))


def test_a_frozen_go_server_is_found_by_its_silence(tmp_path: Path) -> None:
    import os
    import signal

    async def test(fake: FakeTarget) -> None:
        async with collecting(target(fake), interval_s=0.2) as outlet:
            await until(lambda: len(scrapes(outlet)) >= 2)
            os.kill(fake.process.pid, signal.SIGSTOP)
            try:
                await until(lambda: any("silent for" in error for error in errors(outlet)))
            finally:
                os.kill(fake.process.pid, signal.SIGCONT)

    with running(tmp_path, *rounds(200)) as fake:
        play(lambda: test(fake))


@pytest.mark.parametrize("mode", ["POLL", "ONCE"])
def test_a_go_server_that_streams_whatever_it_is_asked_is_read_all_the_same(tmp_path: Path, mode: str) -> None:
    async def test(fake: FakeTarget) -> None:
        asked = Preset("asked", "PROTO", (Wanted("/interfaces"),), mode=mode)  # type: ignore[arg-type]
        async with collecting(target(fake, preset=asked), interval_s=0.2) as outlet:
            await until(lambda: len(scrapes(outlet)) >= 1)
        assert octets(outlet)[0] == 2**63

    with running(tmp_path, *rounds(20)) as fake:
        play(lambda: test(fake))
