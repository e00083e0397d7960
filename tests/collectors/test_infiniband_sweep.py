"""The fabric by its tools, also those that fail, hang or print without end."""

import asyncio
import os
import stat
from pathlib import Path

import pytest

from collectors.contract.fabric import Link
from collectors.contract.topics import FABRIC_LINKS, FABRIC_SCRAPES
from collectors.infiniband import source
from collectors.infiniband.fabric import Fabric
from collectors.source import SourceError
from collectors.tool import ToolError, run_tool
from tests.collectors import ib_texts as texts
from tests.collectors.ib_source import once, parsed
from tests.collectors.list_outlet import ListOutlet

SUMMARY = "## Summary: 6 nodes checked, 0 bad nodes found\n## Thresholds: \n## Suppressed:\n"
DATA = """Data Counters for 0x200000 "MF0;sw01:MQM9700/U1"
   GUID 0x200000 port 1: [PortXmitData == 1008 (3.938KB)]
   GUID 0x200000 port 2: [PortXmitData == 9 (9.000B)]
"""
ERRORS = """Errors for 0x200000 "MF0;sw01:MQM9700/U1"
   GUID 0x200000 port 1: [PortXmitDiscards == 70]
"""


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


def test_a_sweep_joins_states_data_and_errors_and_unlisted_errors_are_zero(tmp_path: Path) -> None:
    outlet = once("--sweep", "--tools", str(fabric(tmp_path)))
    [switch] = [s for s in outlet.of(FABRIC_SCRAPES) if s.device == "sw01"]
    assert [(p.name, p.oper_up) for p in switch.ports] == [("1", True), ("2", True), ("3", False)]
    assert switch.columns["ib_tx_words"] == [1008, 9, None]
    assert switch.columns["ib_tx_discard_packets"] == [70, 0, None]
    assert switch.columns["ib_symbol_errors"] == [0, 0, None]
    assert len(outlet.of(FABRIC_LINKS)) == 3
    printed = sum((tmp_path / name).stat().st_size for name in ("links", "data", "errors"))
    assert [(beat.target, beat.ok, beat.bytes) for beat in outlet.beats] == [("fabric", True, printed)]


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
        run=lambda argv: run_tool([str(tmp_path / argv[0]), *argv[1:]], 20, absent="install infiniband-diags"),
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
