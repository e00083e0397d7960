"""`lockstep collect check` says what an exporter shows and what to switch on."""

import asyncio
from pathlib import Path

import pytest

from collectors.dcgm import source
from collectors.dcgm.fields import fields_by_name
from collectors.dcgm.sight import NEEDS, Seen, gathered, sights_of
from collectors.dcgm.sight import sights as look
from collectors.source import Sight
from tests.collectors.dcgm_options import options
from tests.collectors.exporter import plain, serving

PAGES = Path(__file__).parent / "pages"


def whole(host: str = "node-a", blank: tuple[str, ...] = (), absent: tuple[str, ...] = ()) -> str:
    """A page with every field that detectors use, but these."""
    names = {field.id: field.name for field in fields_by_name().values()}
    wanted = [group[0] for _, groups in NEEDS for group in groups if group[0] not in absent]
    return "".join(
        f'{names[field]}{{gpu="0",UUID="GPU-0",Hostname="{host}"}} {2147483632 if field in blank else 1}\n'
        for field in wanted
    )


def seen(page: str, tmp_path: Path) -> list[Sight]:
    path = tmp_path / "page.prom"
    path.write_text(page)
    return [*source.check(options("--target", str(path)))]


def test_an_exporter_that_shows_everything_is_well(tmp_path: Path) -> None:
    (sight,) = seen(whole(), tmp_path)
    assert sight.ok
    assert sight.sees == "node node-a: 1 GPU, 14 fields, 0 with a job or pod"
    assert (sight.lacks, sight.advice) == ("", "")


def test_a_field_that_is_not_on_the_page_is_to_be_added_under_the_name_the_exporter_knows(tmp_path: Path) -> None:
    assert [(s.ok, s.lacks, s.advice) for s in seen(whole(absent=("112", "240")), tmp_path)] == [
        (
            False,
            "throttling and its cause",
            "add to the exporter's counters file: DCGM_FI_DEV_CLOCKS_EVENT_REASONS, DCGM_FI_DEV_POWER_VIOLATION",
        )
    ]


def test_a_field_that_is_blank_is_not_to_be_added(tmp_path: Path) -> None:
    (sight,) = seen(whole(blank=("155",)), tmp_path)
    assert sight.advice == "DCGM_FI_DEV_POWER_USAGE: on the page and blank; this GPU or driver does not tell it"


def test_a_field_of_the_same_meaning_does_as_well(tmp_path: Path) -> None:
    page = (
        whole(absent=("240",))
        + 'DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS{gpu="0",UUID="GPU-0",Hostname="node-a"} 1\n'
    )
    assert [sight.ok for sight in seen(page, tmp_path)] == [True]


def test_a_stock_exporter_lacks_memory_errors_and_throttling(tmp_path: Path) -> None:
    lacks = [sight.lacks for sight in seen((PAGES / "exporter_2.prom").read_text(), tmp_path)]
    assert {"throttling and its cause", "memory errors"} <= set(lacks)


def test_switches_and_instances_are_counted(tmp_path: Path) -> None:
    sees = seen((PAGES / "gb200.prom").read_text(), tmp_path)[0].sees
    assert (
        sees
        == "node node-a: 2 GPUs, 3 fields, 0 with a job or pod, 6 nvlink, 2 nvswitch, 4 nvswitch_link, 2 cpu, 3 cpucore"
    )
    sees = seen((PAGES / "mig.prom").read_text(), tmp_path)[0].sees
    assert sees.startswith("node node-a: 2 GPUs in 2 MIG instances")


def test_a_page_without_gpus_says_where_to_look(tmp_path: Path) -> None:
    (sight,) = seen((PAGES / "no_gpu.prom").read_text(), tmp_path)
    assert (sight.ok, sight.lacks) == (False, "GPUs")


def test_a_target_that_is_away_is_a_line_with_advice() -> None:
    (sight,) = source.check(options("--target", "127.0.0.1:1"))
    assert (sight.target, sight.ok, sight.lacks) == ("http://127.0.0.1:1/metrics", False, "Connection refused")
    assert sight.advice.startswith("see whether the exporter runs")


@pytest.mark.parametrize(
    ("head", "lacks", "advice"),
    [
        ("401 Unauthorized", "HTTP status 401", "give --username and --password-file, or --bearer-token-file"),
        ("404 Not Found", "HTTP status 404", "name the page"),
        (
            "500 Internal Server Error",
            "HTTP status 500: internal server error",
            "read the exporter's log; with NVSwitches",
        ),
    ],
)
def test_an_answer_that_is_no_page_is_explained(head: str, lacks: str, advice: str) -> None:
    said = lacks.partition(": ")[2]
    answer = f"HTTP/1.1 {head}\r\nContent-Length: {len(said)}\r\n\r\n{said}".encode()

    async def run() -> list[Sight]:
        async with serving(lambda _: answer) as exporter:
            return await look(options("--target", f"127.0.0.1:{exporter.port}"))

    (sight,) = asyncio.run(run())
    assert (sight.ok, sight.lacks) == (False, lacks)
    assert sight.advice.startswith(advice)


def test_a_fleet_that_lacks_the_same_thing_is_one_line() -> None:
    async def run() -> list[Sight]:
        pages = [whole(f"node-{n}", absent=("112",)) for n in range(3)] + [whole("node-3")]
        async with (
            serving(lambda _: plain(pages[0])) as a,
            serving(lambda _: plain(pages[1])) as b,
            serving(lambda _: plain(pages[2])) as c,
            serving(lambda _: plain(pages[3])) as d,
        ):
            words = [word for one in (a, b, c, d) for word in ("--target", f"127.0.0.1:{one.port}")]
            return await look(options(*words))

    found = asyncio.run(run())
    assert [(sight.ok, sight.target.endswith(" and 2 more")) for sight in found] == [(False, True), (True, False)]


def test_a_discovery_that_fails_is_a_line(tmp_path: Path) -> None:
    page = tmp_path / "page.prom"
    page.write_text(whole())
    found = list(source.check(options("--target", str(page), "--dns-srv", "_a._tcp.x", "--dns-server", "127.0.0.1:1")))
    assert [(sight.target, sight.ok) for sight in found] == [("dns-srv:_a._tcp.x", False), (str(page), True)]


def test_lines_that_cannot_be_read_are_said(tmp_path: Path) -> None:
    (sight,) = seen(whole() + "<html>\n", tmp_path)
    assert sight.lacks == "lines that can be read: not a metric, its labels and a value"


def test_sights_of_nothing_are_nothing() -> None:
    assert gathered([]) == []
    assert [sight.lacks for sight in sights_of("t", Seen())] == ["no samples on the page"]
