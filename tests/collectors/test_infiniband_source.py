"""`lockstep collect infiniband`: texts from files, this host, real captures, and what a check says."""

import asyncio
import json
import os
import re
from pathlib import Path

import pytest

from collectors.contract.fabric import Link, PortScrape
from collectors.contract.topics import FABRIC_LINKS, FABRIC_SCRAPES
from collectors.infiniband import source
from collectors.source import SourceError
from tests.collectors import ib_texts as texts
from tests.collectors.ib_source import once, parsed
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.rdma_tree import device, port


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
    read = sum(map(len, (*port().values(), "32.0 GT/s PCIe\n", "8\n")))  # of the device: its PCIe link
    assert [(beat.subject, beat.ok, beat.bytes, beat.collector.split("@")[0]) for beat in outlet.beats] == [
        ("n1", True, read, "infiniband")
    ]


def test_a_host_without_rdma_says_what_is_missing(tmp_path: Path) -> None:
    outlet = ListOutlet()
    with pytest.raises(SourceError, match="nothing was read"):
        source.once(parsed("--sysfs", str(tmp_path / "none")), outlet)
    assert outlet.beats[0].error == "no such folder, so no RDMA driver is loaded here"


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
    with pytest.raises(SourceError, match="--ufm ftp://x/y: write http://"):
        once("--ufm", "ftp://x/y")
    with pytest.raises(SourceError, match="--ca"):
        once("--ca", str(tmp_path / "names"), "--ufm", "https://127.0.0.1:1/json")


def test_messages_are_of_the_contract(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text(json.dumps({"values": []}))
    with pytest.raises(SourceError):
        once("--ufm", str(path))
    path.write_text(texts.IBLINKINFO)
    assert {type(m) for _, m in once("--iblinkinfo", str(path)).published} == {PortScrape, Link}
