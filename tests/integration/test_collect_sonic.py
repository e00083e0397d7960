"""COUNTERS_DB of a real redis-server: maps, restarts, ports that come and go."""

import argparse
import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.contract.fabric import Link, PortScrape
from collectors.contract.topics import FABRIC_LINKS, FABRIC_SCRAPES
from collectors.fabric.series import Site
from collectors.sonic.box import Box, Reporting
from collectors.sonic.source import add_arguments, check, once, serve
from collectors.sonic.target import RedisTarget, read_redis
from collectors.source import SourceError
from tests.collectors.gnmi_collecting import until
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.sonic_redis import APPL, COUNTERS, FLEX, SERVER, SonicRedis, running

pytestmark = pytest.mark.skipif(SERVER is None and "CI" not in os.environ, reason="no redis-server here")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SonicRedis]:
    with running(tmp_path) as made:
        yield made


class Follower:
    """A box that is swept by hand; `now_s` is its clock."""

    def __init__(self, made: SonicRedis) -> None:
        self.outlet = ListOutlet()
        self.now_s = 0.0
        reporting = Reporting(
            outlet=self.outlet, collector="sonic@here", cluster="c", interval_s=1.0, site=Site(lossless=(3,))
        )
        self.box = Box(read_redis(made.option), reporting, clock=lambda: self.now_s)

    def scrape(self) -> PortScrape:
        return self.outlet.of(FABRIC_SCRAPES)[-1]  # type: ignore[no-any-return]

    def links(self) -> list[tuple[str, str, bool]]:
        links: list[Link] = self.outlet.of(FABRIC_LINKS)
        return [(link.port, link.far_device, link.up) for link in links]


def test_a_scrape_holds_ports_queues_groups_pools_and_what_the_ports_are(database: SonicRedis) -> None:
    database.fill(2, neighbours={"Ethernet0": ("node1", "mlx5_0")})

    async def test() -> None:
        follower = Follower(database)
        assert await follower.box.sweep() == 2
        scrape = follower.scrape()
        assert (scrape.device, scrape.baseline, scrape.epoch[:6]) == ("leaf7", True, "redis:")
        assert [(p.name, p.speed_gbps, p.oper_up, p.lossless) for p in scrape.ports] == [
            ("Ethernet0", 400.0, True, [3]),
            ("Ethernet4", 400.0, True, [3]),
            ("pool:ingress_lossless_pool", None, None, None),
        ]
        assert {name: scrape.columns[name] for name in SOME} == SOME
        assert {name: scrape.forms[name].refresh_us for name in ("queue_drop_packets.3", "pg_drop_packets.4")} == {
            "queue_drop_packets.3": 10_000_000,
            "pg_drop_packets.4": 10_000_000,
        }
        assert not any(name.startswith("SAI_PORT_STAT_IP") for name in scrape.named)
        assert follower.links() == [("Ethernet0", "node1", True)]
        beat = follower.outlet.beats[0]
        assert (beat.ok, beat.subject, beat.source, beat.messages) == (True, "leaf7", "sonic", 2)
        await follower.box.close()

    asyncio.run(test())


SOME: dict[str, list[int | float | None]] = {
    "port_rx_bytes": [2**64 - 1, 2**64 - 2, None],
    "port_rx_discard_packets": [0, 0, None],
    "pfc_rx_pause_us.3": [7, 7, None],
    "queue_drop_packets.3": [5, 5, None],
    "queue_watermark_bytes.3": [900, 900, None],
    "pg_drop_packets.4": [4, 4, None],
    "pfcwd_state.3": [0, 0, None],
    "fec_pre_ber": [1.5e-8, 1.5e-8, None],
    "pool_watermark_bytes": [None, None, 77],
}


def test_the_second_sweep_moves_and_is_no_baseline(database: SonicRedis) -> None:
    database.fill(1)

    async def test() -> None:
        follower = Follower(database)
        await follower.box.sweep()
        database.client(COUNTERS).hset("COUNTERS:oid:0x1004", "SAI_QUEUE_STAT_DROPPED_PACKETS", "6")
        database.client(COUNTERS).hset("COUNTERS:oid:0x1005", "SAI_QUEUE_STAT_DROPPED_PACKETS", "N/A")
        database.client(COUNTERS).hdel("COUNTERS:oid:0x1004", "SAI_QUEUE_STAT_PACKETS")
        await follower.box.sweep()
        scrape = follower.scrape()
        columns = scrape.columns
        assert (columns["queue_drop_packets.3"][0], columns["queue_drop_packets.4"][0]) == (6, None)
        assert columns["queue_tx_packets.3"][0] is None
        assert (scrape.baseline, list(scrape.errors)) == (False, ["queue_drop_packets.4"])
        await follower.box.close()

    asyncio.run(test())


def test_a_port_that_was_split_is_read_by_its_new_objects(database: SonicRedis) -> None:
    database.fill(2)

    async def test() -> None:
        follower = Follower(database)
        await follower.box.sweep()
        client = database.client(COUNTERS)
        client.delete("COUNTERS:oid:0x1020")
        client.hset("COUNTERS_PORT_NAME_MAP", "Ethernet4", "oid:0x9999")
        client.hset("COUNTERS:oid:0x9999", "SAI_PORT_STAT_IF_IN_OCTETS", "3")
        await follower.box.sweep()
        assert follower.scrape().columns["port_rx_bytes"][1] is None
        await follower.box.sweep()
        assert follower.scrape().columns["port_rx_bytes"][1] == 3
        assert not follower.scrape().baseline
        await follower.box.close()

    asyncio.run(test())


def test_a_counter_that_is_switched_on_later_is_found_within_a_minute(database: SonicRedis) -> None:
    database.fill(1)

    async def test() -> None:
        follower = Follower(database)
        await follower.box.sweep()
        database.client(COUNTERS).hset("COUNTERS:oid:0x1004", "SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", "8")
        follower.now_s = 61.0
        await follower.box.sweep()
        assert follower.scrape().columns["queue_ecn_marked_packets.3"][0] == 8
        await follower.box.close()

    asyncio.run(test())


def test_an_emptied_database_begins_a_new_epoch_when_it_is_filled_again(database: SonicRedis) -> None:
    database.fill(1)

    async def test() -> None:
        follower = Follower(database)
        await follower.box.sweep()
        before = follower.scrape().epoch
        database.client(COUNTERS).flushdb()
        assert [await follower.box.sweep(), await follower.box.sweep()] == [0, 0]
        said = [beat.error or "" for beat in follower.outlet.beats if not beat.ok]
        assert "all counters are gone" in said[0]
        assert "COUNTERS_PORT_NAME_MAP" in said[1]
        database.fill(1)
        await follower.box.sweep()
        after = follower.scrape()
        assert (after.baseline, after.epoch != before, after.epoch.startswith(before)) == (True, True, True)
        await follower.box.close()

    asyncio.run(test())


def test_a_redis_that_was_started_again_begins_a_new_epoch(tmp_path: Path) -> None:
    async def test() -> None:
        with running(tmp_path) as made:
            made.fill(1)
            follower = Follower(made)
            await follower.box.sweep()
        assert await follower.box.sweep() == 0
        with running(tmp_path) as made:
            made.fill(1)
            await follower.box.sweep()
            first, second = follower.outlet.of(FABRIC_SCRAPES)
            assert (second.baseline, first.epoch != second.epoch) == (True, True)
            await follower.box.close()

    asyncio.run(test())


def test_a_neighbour_that_is_no_longer_heard_is_a_link_that_is_down(database: SonicRedis) -> None:
    database.fill(1, neighbours={"Ethernet0": ("node1", "eth0")})

    async def test() -> None:
        follower = Follower(database)
        await follower.box.sweep()
        database.client(APPL).delete("LLDP_ENTRY_TABLE:Ethernet0")
        await follower.box.sweep()
        assert follower.links() == [("Ethernet0", "node1", True), ("Ethernet0", "node1", False)]
        await follower.box.close()

    asyncio.run(test())


def test_virtual_output_queues_are_rows_of_their_own(database: SonicRedis) -> None:
    database.fill(1)
    client = database.client(COUNTERS)
    client.hset("COUNTERS_VOQ_NAME_MAP", "lc1|Asic0|Ethernet0:3", "oid:0x77")
    client.hset("COUNTERS:oid:0x77", "SAI_QUEUE_STAT_CREDIT_WD_DELETED_PACKETS", "2")

    async def test() -> None:
        follower = Follower(database)
        await follower.box.sweep()
        scrape = follower.scrape()
        assert scrape.ports[-1].name == "voq:lc1|Asic0|Ethernet0"
        assert scrape.columns["voq_credit_wd_drop_packets.3"][-1] == 2
        await follower.box.close()

    asyncio.run(test())


def options(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    namespace = parser.parse_args(list(given))
    namespace.interval, namespace.node, namespace.instance = 1.0, None, None
    return namespace


def test_once_reads_every_redis_and_says_when_there_is_none(database: SonicRedis, tmp_path: Path) -> None:
    database.fill(1)
    outlet = ListOutlet()
    args = options("--redis", database.option, "--redis", f"gone=unix:{tmp_path}/none", "--device", "x")
    assert once(args, outlet) == 1
    assert {(beat.ok, beat.subject) for beat in outlet.beats} == {(True, "leaf7"), (False, "gone")}
    with pytest.raises(SourceError, match="no redis could be read"):
        once(options("--redis", f"unix:{tmp_path}/none"), ListOutlet())


def test_check_says_what_is_seen_and_which_counters_are_off(database: SonicRedis, tmp_path: Path) -> None:
    database.fill(2, neighbours={"Ethernet0": ("node1", "eth0")})
    assert [(s.ok, s.sees) for s in check(options("--redis", database.option))] == [
        (True, "leaf7: 2 ports, 4 queues, 4 pgs, 1 pools")
    ]
    database.client(FLEX).hset("FLEX_COUNTER_GROUP_TABLE:PG_DROP_STAT_COUNTER", "FLEX_COUNTER_STATUS", "disable")
    database.client(FLEX).delete("FLEX_COUNTER_GROUP_TABLE:PFC_WD")
    database.client(APPL).flushdb()
    lacks = [(s.ok, s.lacks.partition(":")[0], s.advice) for s in check(options("--redis", database.option))][1:]
    assert lacks[:2] == [
        (False, "drops of lossless priority groups", "`sudo counterpoll pg-drop enable`"),
        (False, "PFC storms, by the watchdog", "`sudo pfcwd start_default`, where PFC is in use"),
    ]
    assert lacks[2][:2] == (True, "neighbours")
    (gone,) = check(options("--redis", f"unix:{tmp_path}/none"))
    assert (gone.ok, gone.lacks) == (False, "no connection: No such file or directory")


def test_a_box_is_called_as_it_was_named(database: SonicRedis) -> None:
    database.fill(1)
    outlet = ListOutlet()
    once(options("--redis", database.option, "--device", "tor1"), outlet)
    assert outlet.of(FABRIC_SCRAPES)[0].device == "tor1"
    assert RedisTarget(read_redis("a=b:1").address, "a") == read_redis("a=b:1")


def test_a_switch_that_is_away_does_not_hold_up_another(database: SonicRedis, tmp_path: Path) -> None:
    database.fill(1)

    async def test() -> None:
        outlet = ListOutlet()
        args = options("--redis", database.option, "--redis", f"gone=unix:{tmp_path}/none")
        args.interval = 0.05
        serving = asyncio.create_task(serve(args, outlet))
        await until(lambda: len(outlet.of(FABRIC_SCRAPES)) >= 3 and any(not beat.ok for beat in outlet.beats))
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        assert [scrape.baseline for scrape in outlet.of(FABRIC_SCRAPES)[:3]] == [True, False, False]
        assert {beat.subject for beat in outlet.beats if not beat.ok} == {"gone"}

    asyncio.run(test())


def test_a_redis_that_hangs_costs_its_time_and_a_beat_and_is_read_again(database: SonicRedis) -> None:
    database.fill(1)

    async def test() -> None:
        outlet = ListOutlet()
        reporting = Reporting(outlet=outlet, collector="sonic@here", cluster="c", interval_s=1.0)
        box = Box(read_redis(database.option), reporting, timeout_s=1.0)
        await box.sweep()
        pid = int(database.client(0).info("server")["process_id"])
        os.kill(pid, signal.SIGSTOP)
        try:
            assert await box.sweep() == 0
        finally:
            os.kill(pid, signal.SIGCONT)
        assert outlet.beats[-1].error == "no answer within 1 s"
        assert await box.sweep() == 1
        assert not outlet.of(FABRIC_SCRAPES)[-1].baseline
        await box.close()

    asyncio.run(test())
