"""The live fleet over its real sockets."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from collectors.config_file import read_config
from collectors.contract.topics import FABRIC_LINKS
from collectors.sources import load
from infra.fleet.folder import Folder, FolderError
from infra.fleet.live import Live, StartError, now_us, start_us
from infra.fleet.scenario import Scenario, parse
from tests.collectors.list_outlet import ListOutlet

TEXT = """
seconds = 30
[fleet]
nodes = 2
gpus = 2
switches = 1
interval_s = 0.1
[[jobs]]
name = "train"
nodes = ["node-01"]
tp = 1
step_s = 0.1
[[faults]]
kind = "xid"
code = 13
target = "node-01/1"
page = false
[[faults]]
kind = "node_silent"
target = "node-02"
"""
SCENARIO = parse(TEXT, "test.toml", "test")
PATIENCE_S = 30.0


@asynccontextmanager
async def live(
    folder: Path, before: Callable[[], None] = lambda: None, scenario: Scenario = SCENARIO
) -> AsyncIterator[dict[str, Any]]:
    fleet = Live(scenario, folder, "127.0.0.1", now_us(), "default")
    before()
    stop = asyncio.Event()
    ready: asyncio.Future[Path] = asyncio.get_running_loop().create_future()
    running = asyncio.create_task(fleet.run(stop, ready.set_result))
    waited: set[asyncio.Future[Any]] = {running, ready}
    await asyncio.wait(waited, timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
    try:
        yield json.loads(ready.result().read_text())
    finally:
        stop.set()
        await running


async def fetch(address: str, path: str = "/metrics") -> bytes:
    reader, writer = await asyncio.open_connection(*address.split(":"))
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    try:
        return await asyncio.wait_for(reader.read(), PATIENCE_S)
    finally:
        writer.close()


async def until(found: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not found():
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("kind", ["node_silent", "exporter_stalled"])
def test_every_node_has_its_page_and_one_that_must_not_answer_does_not(tmp_path: Path, kind: str) -> None:
    scenario = parse(TEXT.replace("node_silent", kind), "test.toml", "test")

    async def story() -> tuple[bytes, bytes | None, bytes]:
        async with live(tmp_path, scenario=scenario) as about:
            targets = {t["labels"]["node"]: t["targets"][0] for t in json.loads(Path(about["targets"]).read_text())}
            page = await fetch(targets["node-01"])
            try:
                silent: bytes | None = await fetch(targets["node-02"])
            except ConnectionError:
                silent = None
            return page, silent, await fetch(targets["node-01"], "/other")

    page, silent, other = asyncio.run(story())
    head, _, body = page.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert f"Content-Length: {len(body)}".encode() in head
    assert body.count(b"\nDCGM_FI_DEV_GPU_TEMP{") == 2
    assert not silent
    assert other.startswith(b"HTTP/1.1 404 ")


def test_kernel_lines_and_inspector_files_are_written_as_things_happen(tmp_path: Path) -> None:
    async def story() -> tuple[list[str], list[str]]:
        async with live(tmp_path) as about:
            kernel = Path(about["nodes"][0]["kernel_log"])
            nccl = Path(about["jobs"][0]["nccl_dir"])
            await until(lambda: len(kernel.read_text().splitlines()) == 2 and len(list(nccl.glob("*.log"))) == 2)
            return kernel.read_text().splitlines(), sorted(nccl.glob("*.log"))[0].read_text().splitlines()

    kernel, nccl = asyncio.run(story())
    assert all(" node-01 kernel: NVRM: Xid (PCI:0000:43:00): 13, pid=" in line for line in kernel)
    assert json.loads(nccl[0])["coll_perf"]["coll_sn"] == 0


def test_ranks_report_through_the_socket_of_their_node(tmp_path: Path) -> None:
    heard: list[dict[str, Any]] = []

    async def story() -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as collector:
            collector.setblocking(False)
            path = tmp_path / "steps" / "node-01.sock"
            async with live(tmp_path, lambda: collector.bind(str(path))):
                loop = asyncio.get_running_loop()
                loop.add_reader(collector, lambda: heard.append(json.loads(collector.recv(65536))))
                await until(
                    lambda: (
                        {(h.get("rank"), h["type"]) for h in heard}
                        >= {(0, "hello"), (1, "hello"), (0, "step"), (1, "step"), (0, "placed")}
                    )
                )
                loop.remove_reader(collector)

    asyncio.run(story())
    step = next(h for h in heard if h["type"] == "step")
    assert (step["job"], step["attempt"], step["phase"]) == ("train", 0, "warmup")
    placed = next(h for h in heard if h["type"] == "placed")
    assert [row["node"] for row in placed["ranks"]] == ["node-01", "node-01"]


def test_every_switch_listens_for_gnmi(tmp_path: Path) -> None:
    async def story() -> list[dict[str, str]]:
        async with live(tmp_path) as about:
            for switch in about["switches"]:
                _, writer = await asyncio.open_connection(*switch["gnmi"].split(":"))
                writer.close()
            return list(about["switches"])

    assert [switch["name"] for switch in asyncio.run(story())] == ["leaf-1"]


def test_switches_tell_their_neighbours_and_the_cable_map_agrees_with_them(tmp_path: Path) -> None:
    async def story() -> tuple[ListOutlet, ListOutlet]:
        async with live(tmp_path) as about:
            wanted = {one.name: one.args for one in read_config(Path(about["collect"]))}
            switches, cables = ListOutlet(), ListOutlet()
            assert await asyncio.to_thread(load("gnmi").once, wanted["gnmi"], switches) == 1
            assert load("links").once(wanted["links"], cables) == 4
            return switches, cables

    switches, cables = asyncio.run(story())
    seen = {link.port: (link.far_device, link.far_port, link.source) for link in switches.of(FABRIC_LINKS)}
    told = {link.port: (link.far_device, link.far_port, "lldp") for link in cables.of(FABRIC_LINKS)}
    assert seen == told
    assert sorted(seen.values()) == [(f"node-0{n}", f"rdma{i}", "lldp") for n in (1, 2) for i in (0, 1)]


def test_a_folder_too_long_for_sockets_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="too long a path"):
        Folder(tmp_path / ("x" * 100), SCENARIO)


def test_a_start_that_is_no_time_is_refused() -> None:
    assert start_us("+60") > now_us() + 50_000_000
    for when in ("later", "nan", "1e30", "1"):
        with pytest.raises(StartError, match=f"--start-at {when}"):
            start_us(when)
