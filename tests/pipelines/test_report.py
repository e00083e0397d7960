"""The daily report: one file, its numbers, its words, and what a browser makes of it."""

import argparse
import re
import shutil
import subprocess
from datetime import date, timedelta
from pathlib import Path

import msgspec
import pytest

from collectors.contract.topics import GPU_SCRAPES, JOB_EVENTS, JOB_PLACEMENTS, JOB_STEPS
from pipelines import rollup
from pipelines.report import write_report
from pipelines.report_command import run
from tests.pipelines.conftest import Lake
from tests.pipelines.test_mfu import placed, report
from tests.pipelines.test_usable_compute import DAY, HOUR, event, scrapes

CHROMIUM = shutil.which("chromium")


def filled(lake: Lake) -> None:
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0", "g1"], 0, 3600)),
        (GPU_SCRAPES, scrapes("n2", ["g2"], 0, 1800)),
        (JOB_PLACEMENTS, [placed(1, 2)]),
        (JOB_STEPS, [report(2)]),
        (JOB_EVENTS, [event("ended", 20)]),
    )
    for one in rollup.ALL:
        start = DAY if one.column == "day" else HOUR
        lake.roll(one, start, start + one.grain)


def test_the_report_carries_its_plots_and_asks_nothing_of_the_network(lake: Lake, state: Path) -> None:
    filled(lake)
    text = write_report(DAY.date()).read_text()
    assert "Fleet report, Monday 2 March 2026" in text
    assert text.count("<svg") == 2
    links = re.findall(r"""(?:src|href)\s*=\s*["']([^"'#]+)""", text)
    assert links == []
    # 3 GPUs for an hour; n2's was silent for half of it.
    assert '<td class="n">0.5</td>' in text
    assert "no data" in text
    assert "1 of 2 nodes were healthy all day" in text


def test_a_day_without_data_says_so(lake: Lake, state: Path) -> None:
    filled(lake)
    text = write_report(date(2026, 1, 5)).read_text()
    assert "there is nothing to account for" in text
    assert "<svg" not in text


def test_a_job_name_cannot_break_out_of_the_page(lake: Lake, state: Path) -> None:
    filled(lake)
    ended = msgspec.structs.replace(event("ended", 60), job="<script>alert(1)</script>", state="failed")
    lake.fill((JOB_EVENTS, [ended]))
    text = write_report(DAY.date()).read_text()
    assert "&lt;script&gt;alert(1)" in text
    assert "<script" not in text


def test_the_command_rebuilds_the_day_and_prints_the_path(
    lake: Lake, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    filled(lake)
    out = state / "r.html"
    assert run(argparse.Namespace(day=DAY.date(), out=out, no_rollup=False)) == 0
    assert capsys.readouterr().out == f"{out}\n"
    # The hours of the day before the first sample have nothing installed.
    rows = lake.ask("select count(distinct hour) as n from usable_compute_hourly")
    assert rows[0]["n"] == 19


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_a_browser_shows_it(lake: Lake, state: Path, tmp_path: Path) -> None:
    filled(lake)
    page = write_report(DAY.date())
    shot = tmp_path / "shot.png"
    subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1100,1600", f"--screenshot={shot}",
            page.absolute().as_uri(),
        ],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    from matplotlib.image import imread

    pixels = imread(shot)
    assert pixels.shape[:2] == (1600, 1100)
    # Text, plots and colours: a blank or broken page has a handful of them.
    assert len({tuple(pixel) for row in pixels[::7] for pixel in row[::7]}) > 50


def test_yesterday_is_a_day() -> None:
    from pipelines.report_command import _day

    assert _day("today") - _day("yesterday") == timedelta(days=1)
