"""`lockstep collect infiniband`: files, this host, tools and a UFM, also those that misbehave."""

import argparse
import asyncio
import json
import os
import re
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from collectors.contract.fabric import Link, PortScrape
from collectors.contract.topics import FABRIC_LINKS, FABRIC_SCRAPES
from collectors.infiniband import source
from collectors.infiniband.endpoint import Endpoint
from collectors.infiniband.fabric import Fabric
from collectors.infiniband.tool import ToolError, run_tool
from collectors.source import SourceError
from collectors.sources import add_common
from tests.collectors import ib_texts as texts
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.rdma_tree import device, port

SUMMARY = "## Summary: 6 nodes checked, 0 bad nodes found\n## Thresholds: \n## Suppressed:\n"
DATA = """Data Counters for 0x200000 "MF0;sw01:MQM9700/U1"
   GUID 0x200000 port 1: [PortXmitData == 1008 (3.938KB)]
   GUID 0x200000 port 2: [PortXmitData == 9 (9.000B)]
"""
ERRORS = """Errors for 0x200000 "MF0;sw01:MQM9700/U1"
   GUID 0x200000 port 1: [PortXmitDiscards == 70]
"""


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    add_common(parser)
    source.add_arguments(parser)
    return parser.parse_args(["--node", "n1", *words])


def once(*words: str) -> ListOutlet:
    outlet = ListOutlet()
    source.once(parsed(*words), outlet)
    return outlet


def tool(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IEXEC)


def fabric(folder: Path, *, data: str = DATA + SUMMARY, errors: str = ERRORS + SUMMARY, more: str = "") -> Path:
    """Tools that print these texts."""
    for name, text in (("links", texts.IBLINKINFO), ("data", data), ("errors", errors)):
        (folder / name).write_text(text)
    tool(folder, "iblinkinfo", f"cat {folder}/links")
    tool(
        folder, "ibqueryerrors", f'{more}\ncase "$*" in *--counters*) cat {folder}/data;; *) cat {folder}/errors;; esac'
    )
    return folder


@pytest.mark.parametrize(
    ("option", "text", "devices", "links"),
    [
        ("--perfquery", texts.PERFQUERY, ["lid:7"], 0),
        ("--ibqueryerrors", texts.IBQUERYERRORS, ["node-01", "sw01", "sw02"], 0),
        ("--iblinkinfo", texts.IBLINKINFO, ["node-01", "sw01", "sw02"], 3),
        ("--ibnetdiscover", texts.IBNETDISCOVER, ["node-01", "sw02"], 2),
        ("--ibdiagnet", texts.DB_CSV, ["node-01", "sw01"], 1),
        ("--ufm", texts.UFM_CSV, ["0x0c42a103007ab890"], 0),
    ],
)
def test_every_text_is_read_from_a_file(tmp_path: Path, option: str, text: str, devices: list[str], links: int) -> None:
    path = tmp_path / "text"
    path.write_text(text)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    outlet = once(option, str(path))
    assert sorted(s.device for s in outlet.of(FABRIC_SCRAPES)) == devices
    assert len(outlet.of(FABRIC_LINKS)) == links
    assert [(beat.target, beat.ok, beat.messages) for beat in outlet.beats] == [(str(path), True, len(devices) + links)]
    if option != "--ufm":
        assert {message.ts_us for _, message in outlet.published} == {1_700_000_000_000_000}
    assert outlet.rejected == []


def test_a_failed_scan_publishes_what_it_has_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text(texts.IBQUERYERRORS.partition("## Summary")[0])
    outlet = once("--ibqueryerrors", str(path))
    assert len(outlet.of(FABRIC_SCRAPES)) == 3
    assert [(beat.ok, "## Summary" in (beat.error or "")) for beat in outlet.beats] == [(False, True)]


def test_lines_that_cannot_be_read_are_rejected_and_the_rest_is_read(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("ibwarn: something\n" + texts.IBQUERYERRORS)
    outlet = once("--ibqueryerrors", str(path))
    assert outlet.rejected == [(f"infiniband:{path}", b"ibwarn: something", "neither node, port nor summary")]
    assert len(outlet.of(FABRIC_SCRAPES)) == 3


def test_a_file_that_is_absent_is_said_and_stops_no_other(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text(texts.PERFQUERY)
    outlet = once("--perfquery", str(tmp_path / "none"), "--perfquery", str(path))
    assert [beat.ok for beat in outlet.beats] == [False, True]
    assert "No such file" in (outlet.beats[0].error or "")
    with pytest.raises(SourceError):
        once("--perfquery", str(tmp_path / "none"))


@pytest.mark.captures
def test_h100_counters_at_their_maximum_are_saturated_and_every_value_is_kept(captures: Path) -> None:
    tree = captures / "rdma" / "sys-class-infiniband-h100.0"
    [scrape] = once("--sysfs", str(tree)).of(FABRIC_SCRAPES)
    assert scrape.columns["ib_link_down_events"] == [0, None]
    assert scrape.columns["ib_buffer_overruns"] == [None, None]
    assert scrape.saturated == {"ib_buffer_overruns": [15, 15], "ib_link_down_events": [None, 255]}
    for row, name in enumerate(p.name for p in scrape.ports):
        told = [*scrape.columns.values(), *scrape.named.values(), *scrape.saturated.values()]
        values = [str(column[row]) for column in told if column[row] is not None]
        files = [path for path in (tree / name).rglob("*") if path.is_file()]
        for path in files:
            text = path.read_text().strip()
            word = text.partition(": ")[2] or text
            values.remove(word.partition(" Gb/sec")[0])
        assert sorted(values) == ["4X", "NDR"]  # of the rate, beside its number


@pytest.mark.captures
@pytest.mark.parametrize(
    ("option", "name"),
    [("perfquery", "perfquery"), ("perfquery", "perfquery_x"), ("ibqueryerrors", "ibqueryerrors_data")],
)
def test_every_value_of_a_real_tool_is_kept(captures: Path, option: str, name: str) -> None:
    path = captures / "infiniband-tools" / f"{name}.txt"
    outlet = once(f"--{option}", str(path))
    text = path.read_text()
    written = re.findall(r"^\w+:\.+(\S+)$", text, re.MULTILINE) + re.findall(r" == (\d+)", text)
    told: list[int] = []
    for scrape in outlet.of(FABRIC_SCRAPES):
        for column in (*scrape.columns.values(), *scrape.saturated.values(), *scrape.named.values()):
            told += [value for value in column if value is not None]
    assert sorted(told) == sorted(int(value, 0) for value in written)
    assert (outlet.rejected, [beat.ok for beat in outlet.beats]) == ([], [True])


def test_this_host_is_read_where_nothing_else_is_named(tmp_path: Path) -> None:
    device(tmp_path, "mlx5_0", port())
    outlet = once("--sysfs", str(tmp_path))
    assert [(s.device, s.node) for s in outlet.of(FABRIC_SCRAPES)] == [("n1", "n1")]
    assert [(beat.subject, beat.ok, beat.collector.split("@")[0]) for beat in outlet.beats] == [
        ("n1", True, "infiniband")
    ]


def test_a_host_without_rdma_says_what_is_missing(tmp_path: Path) -> None:
    outlet = ListOutlet()
    with pytest.raises(SourceError, match="nothing was read"):
        source.once(parsed("--sysfs", str(tmp_path / "none")), outlet)
    assert outlet.beats[0].error == "no such folder, so no RDMA driver is loaded here"


def test_a_sweep_joins_states_data_and_errors_and_unlisted_errors_are_zero(tmp_path: Path) -> None:
    outlet = once("--sweep", "--tools", str(fabric(tmp_path)))
    [switch] = [s for s in outlet.of(FABRIC_SCRAPES) if s.device == "sw01"]
    assert [(p.name, p.oper_up) for p in switch.ports] == [("1", True), ("2", True), ("3", False)]
    assert switch.columns["ib_tx_words"] == [1008, 9, None]
    assert switch.columns["ib_tx_discard_packets"] == [70, 0, None]
    assert switch.columns["ib_symbol_errors"] == [0, 0, None]
    assert len(outlet.of(FABRIC_LINKS)) == 3
    assert [(beat.target, beat.ok) for beat in outlet.beats] == [("fabric", True)]


def test_with_a_threshold_or_a_failed_query_nothing_is_zero_that_was_not_told(tmp_path: Path) -> None:
    held = SUMMARY.replace("Thresholds: ", "Thresholds: SymbolErrorCounter = 10")
    [switch] = [
        s
        for s in once("--sweep", "--tools", str(fabric(tmp_path, errors=ERRORS + held))).of(FABRIC_SCRAPES)
        if s.device == "sw01"
    ]
    assert switch.columns["ib_tx_discard_packets"] == [70, None, None]
    outlet = once("--sweep", "--tools", str(fabric(tmp_path, more="echo 'ibwarn: query failed' >&2")))
    [switch] = [s for s in outlet.of(FABRIC_SCRAPES) if s.device == "sw01"]
    assert switch.columns["ib_tx_discard_packets"] == [70, None, None]
    assert "a part of the fabric did not answer" in (outlet.beats[0].error or "")


def test_a_scan_that_prints_nothing_and_ends_with_zero_has_failed(tmp_path: Path) -> None:
    outlet = ListOutlet()
    tools = fabric(tmp_path, data="", more="echo 'Query SA failed: Connection timed out' >&2")
    with pytest.raises(SourceError):
        source.once(parsed("--sweep", "--tools", str(tools)), outlet)
    assert "no `## Summary:` line" in (outlet.beats[0].error or "")
    assert "Query SA failed" in (outlet.beats[0].error or "")
    assert outlet.published == []


def test_a_cable_that_left_is_told_as_down_but_not_where_a_part_did_not_answer(tmp_path: Path) -> None:
    moment = [0.0]
    fabric(tmp_path)
    sweeping = Fabric(
        run=lambda argv: run_tool([str(tmp_path / argv[0]), *argv[1:]], 20),
        names={},
        cluster="c",
        topology_every_s=60.0,
        now_s=lambda: moment[0],
    )

    def links() -> list[tuple[str, str, bool]]:
        moment[0] += 100
        told = asyncio.run(sweeping.sweep()).messages
        return [(m.device, m.port, m.up) for _, m in told if isinstance(m, Link)]

    assert links() == [("sw01", "1", True), ("sw01", "2", True), ("sw02", "9", True)]
    lines = texts.IBLINKINFO.splitlines(keepends=True)
    fewer = "".join(line for line in lines if " 1    2[  ] ==(" not in line)
    (tmp_path / "links").write_text(fewer)
    tool(tmp_path, "iblinkinfo", f"cat {tmp_path}/links; echo 'src/query_smp.c: query failed' >&2")
    assert links() == []
    tool(tmp_path, "iblinkinfo", f"cat {tmp_path}/links")
    assert links() == [("sw01", "2", False)]


def test_tools_that_are_absent_are_named(tmp_path: Path) -> None:
    outlet = ListOutlet()
    with pytest.raises(SourceError):
        source.once(parsed("--sweep", "--tools", str(tmp_path)), outlet)
    assert "install infiniband-diags" in (outlet.beats[0].error or "")


def test_a_tool_that_hangs_is_killed_with_its_children(tmp_path: Path) -> None:
    tool(tmp_path, "slow", f"sleep 600 & echo $! > {tmp_path}/child; wait")

    async def run() -> None:
        await run_tool([str(tmp_path / "slow")], 0.5)

    with pytest.raises(ToolError, match=r"no end within 0\.5 s"):
        asyncio.run(run())
    child = int((tmp_path / "child").read_text())
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().rpartition(") ")[2][0] == "Z"


def test_a_child_that_left_the_tools_session_holds_nobody_up(tmp_path: Path) -> None:
    tool(tmp_path, "slow", f"setsid sleep 600 & echo $! > {tmp_path}/child")
    with pytest.raises(ToolError, match="no end within"):
        asyncio.run(run_tool([str(tmp_path / "slow")], 0.5))
    os.kill(int((tmp_path / "child").read_text()), 9)


def test_a_tool_that_prints_without_end_is_stopped(tmp_path: Path) -> None:
    tool(tmp_path, "loud", "yes")
    with pytest.raises(ToolError, match="printed more than 1 MiB"):
        asyncio.run(run_tool([str(tmp_path / "loud")], 30, most_bytes=1 << 20))


@asynccontextmanager
async def served(answer: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    app = web.Application()
    app.router.add_get("/{path}", answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def test_a_ufm_is_read_over_http() -> None:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(text=texts.UFM_PROMETHEUS)

    async def run() -> ListOutlet:
        from collectors.fabric.sweeping import reporter
        from collectors.infiniband.targets import targets

        outlet = ListOutlet()
        async with served(answer) as url:
            args = parsed("--ufm", f"{url}/metrics")
            [target] = targets(args, once=True)
            await reporter("infiniband", args, outlet, None).sweep(target.name, target.sweep, target.timeout_s)
        return outlet

    outlet = asyncio.run(run())
    assert [s.device for s in outlet.of(FABRIC_SCRAPES)] == ["0x0002c90300f172a0"]
    assert [beat.ok for beat in outlet.beats] == [True]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("half", "cut off before its end"),
        ("endless", "larger than 1 MiB"),
        ("hang", "no whole answer within 0.5 s"),
        ("login", "LOCKSTEP_UFM_USERNAME"),
        ("absent", "is the path right"),
    ],
)
def test_a_ufm_that_misbehaves_costs_one_time_out_and_its_reason(kind: str, said: str) -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        if kind in ("login", "absent"):
            return web.Response(status=401 if kind == "login" else 404)
        response = web.StreamResponse(headers={"Content-Length": str(1 << 30)} if kind == "half" else {})
        await response.prepare(request)
        if kind == "half":
            await response.write(b"PortXmitData")
            assert request.transport is not None
            request.transport.close()
        elif kind == "hang":
            await response.write(b"PortXmitData")
            await asyncio.Event().wait()
        else:
            while True:
                await response.write(b"x" * 65536)
        return response

    async def run() -> None:
        async with served(answer) as url:
            try:
                await Endpoint(url=f"{url}/json", timeout_s=0.5 if kind == "hang" else 10, most_bytes=1 << 20).fetch()
            finally:
                for task in asyncio.all_tasks():
                    if task is not asyncio.current_task() and kind == "hang":
                        task.cancel()

    with pytest.raises(OSError, match=said):
        asyncio.run(run())


def test_serving_reads_a_file_again_only_when_it_changed(tmp_path: Path) -> None:
    path = tmp_path / "ibdiagnet2.db_csv"
    path.write_text(texts.DB_CSV)

    class Counting(ListOutlet):
        def __init__(self) -> None:
            super().__init__()
            self.third = asyncio.Event()

        def beat(self, beat: object) -> None:
            super().beat(beat)  # type: ignore[arg-type]
            if len(self.beats) == 2:
                path.write_text(texts.DB_CSV.replace("0x12a05f200", "0x12a05f201"))
            if len(self.beats) == 3:
                self.third.set()

    async def run() -> Counting:
        outlet = Counting()
        args = parsed("--ibdiagnet", str(path), "--interval", "0.01")
        serving = asyncio.create_task(source.serve(args, outlet))
        await asyncio.wait_for(outlet.third.wait(), 20)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        return outlet

    outlet = asyncio.run(run())
    assert [beat.messages for beat in outlet.beats[:3]] == [3, 0, 2]
    assert all(beat.ok for beat in outlet.beats)
    waits = [s.columns["ib_tx_wait_ticks"] for s in outlet.of(FABRIC_SCRAPES) if s.device == "sw01"]
    assert waits == [[5_000_000_000], [5_000_000_001]]


def test_check_says_what_a_target_lacks(tmp_path: Path) -> None:
    (tmp_path / "links").write_text(texts.IBLINKINFO)
    (tmp_path / "pq").write_text(texts.PERFQUERY)
    words = [
        "--iblinkinfo",
        str(tmp_path / "links"),
        "--perfquery",
        str(tmp_path / "pq"),
        "--ufm",
        "http://127.0.0.1:1/x",
    ]
    sights = list(source.check(parsed(*words)))
    told = [(sight.ok, f"{sight.sees} {sight.lacks}") for sight in sights]
    assert [ok for ok, _ in told] == [True, False, True, False, False]
    assert "ib_symbol_errors of lid:7/1" in told[1][1]
    assert "sw01/2" in told[3][1]
    assert sights[4].lacks


def test_a_wrong_option_is_said_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "names").write_text("spine\n")
    with pytest.raises(SourceError, match=r"--names .*: line 1"):
        once("--names", str(tmp_path / "names"))
    with pytest.raises(SourceError, match="--ca"):
        once("--ca", str(tmp_path / "names"), "--ufm", "https://127.0.0.1:1/json")


def test_messages_are_of_the_contract(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text(json.dumps({"values": []}))
    with pytest.raises(SourceError):
        once("--ufm", str(path))
    path.write_text(texts.IBLINKINFO)
    assert {type(m) for _, m in once("--iblinkinfo", str(path)).published} == {PortScrape, Link}
