"""What one switch may fill: messages without end, series without number, JSON without bottom."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from collectors.contract.fabric import PortScrape
from collectors.fabric.grid import MOST_ERRORS, Grid
from collectors.fabric.reading import LONGEST
from collectors.fabric.series import Site
from collectors.gnmi import wire
from collectors.gnmi.catalog import Catalog
from collectors.gnmi.decoder import Decoder
from collectors.gnmi.mapping import Mapping
from collectors.gnmi.neighbours import Neighbours
from collectors.gnmi.path import parse_path, write_path
from collectors.gnmi.presets import Preset, Wanted
from collectors.gnmi.target import Access, Target
from tests.collectors.gnmi_bytes import IN_OCTETS, response, sync
from tests.collectors.gnmi_collecting import collecting, errors, play, scrapes, until
from tests.collectors.gnmi_peer import Asked, peer

T0 = 1_700_000_000 * 1_000_000_000


def decoded(updates: dict[str, Any]) -> PortScrape:
    decoder = Decoder("leaf1")
    decoder.feed(response(T0, updates))
    scrape = decoder.cut()
    assert scrape is not None
    return scrape


def test_series_beyond_the_limit_are_left_out_and_told() -> None:
    grid = Grid(site=Site())
    catalog = Catalog(grid, Mapping(Site()), Neighbours(), limit=3)
    for n in range(5):
        grid.put(catalog.cell(parse_path(IN_OCTETS.replace("Ethernet1", f"Ethernet{n}"))), n, (1, grid.round))
    first = catalog.cell(parse_path(IN_OCTETS.replace("Ethernet1", "Ethernet0")))
    scrape = grid.cut("leaf1", 1, cluster="c")
    assert (scrape.columns, first.value) == ({"port_rx_bytes": [0, 1, 2]}, 0)
    assert scrape.errors == {"series": "more than 3; the rest is left out"}


def test_a_text_is_cut_and_of_many_errors_the_first_are_told() -> None:
    port = "/interfaces/interface[name=Ethernet1]/"
    scrape = decoded({port + "new": "x" * 100_000})
    assert [len(str(column[0])) for column in scrape.named.values()] == [LONGEST]
    broken = {f"{port}ethernet/pfc/priorities/priority[index={n}]/state/in-frames": "N/A" for n in range(500)}
    assert len(decoded(broken).errors) == MOST_ERRORS


def test_json_that_is_nested_without_end_is_read_past() -> None:
    for deep in (90, 500, 5000):
        decoder = Decoder("leaf1")
        decoder.feed(response(T0, {IN_OCTETS: 1}))
        decoder.feed(_json("/interfaces", b'{"a":' * deep + b"1" + b"}" * deep))
        decoder.feed(_json("/interfaces/new", b"[" * deep + b"1" + b"]" * deep))
        scrape = decoder.cut()
        assert scrape is not None
        assert scrape.columns["port_rx_bytes"][0] == 1


def _json(path: str, held: bytes) -> bytes:
    out = wire.SubscribeResponse()
    out.update.timestamp = T0
    out.update.update.add(path=write_path(parse_path(path))).val.json_ietf_val = held
    return bytes(out.SerializeToString())


@asynccontextmanager
async def trickling(address: str, after: int) -> AsyncIterator[str]:
    """A way to a server that lets `after` bytes of its answers through, and then a byte at a time."""
    host, _, port = address.rpartition(":")
    tasks: set[asyncio.Task[None]] = set()

    async def up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(data)

    async def down(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left = after
        while data := await reader.read(max(1, min(left, 65536))):
            left -= len(data)
            writer.write(data)
            if left <= 0:
                await asyncio.sleep(0.01)

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, here = await asyncio.open_connection(host, int(port))
        tasks.update((asyncio.ensure_future(up(reader, here)), asyncio.ensure_future(down(there, writer))))

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def test_a_message_that_trickles_in_for_ever_costs_one_time_out() -> None:
    async def answer(asked: Asked) -> None:
        await asked.send(response(T0, {IN_OCTETS: 1}), sync(), response(T0, {IN_OCTETS + "x": "y" * 1_000_000}))
        await asked.wait()

    async def test() -> None:
        async with peer(answer) as address, trickling(address, 3000) as slow:
            preset = Preset("p", "PROTO", (Wanted("/interfaces"),))
            target = Target(name="leaf1", address=slow, preset=preset, access=Access(insecure=True))
            async with collecting(target) as outlet:
                await until(lambda: any("silent for 1 s" in error for error in errors(outlet)))
            assert scrapes(outlet)[0].columns == {"port_rx_bytes": [1]}

    play(test)
