"""The whole line, unattended: every part a process, every protocol real, every fault found, no false page."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CAUSES = {"thermal_throttle", "correctable_ecc_storm", "lossless_drop", "xid_79"}


@pytest.mark.e2e
@pytest.mark.kafka
def test_the_demo_finds_every_fault_and_leaves_nothing_behind(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "infra.command.main", "demo", "--seconds", "110", "--exit"],
        env=os.environ | {"LOCKSTEP_STATE": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert "4 of 4 faults found with the right cause, 0 false pages" in done.stdout

    # One page or ticket a fault, joined across the planes.
    alerts = [json.loads(line) for line in (tmp_path / "demo" / "alerts.jsonl").read_text().splitlines()]
    firing = {a["labels"]["incident"]: a for a in alerts if a["state"] == "firing"}
    assert {a["annotations"]["cause_word"] for a in firing.values()} == CAUSES
    jobs = {a["annotations"]["cause_word"]: a["annotations"]["jobs"] for a in firing.values()}
    assert jobs["lossless_drop"] == "pretrain-8b"
    assert jobs["xid_79"] == "finetune-13b"

    # The week was rolled up, and its report stands where it was said to.
    report = re.search(r"^report: (.*)$", done.stdout, re.M)
    assert report is not None
    assert "Fleet report" in Path(report[1]).read_text()
    assert re.search(r"^Dagster: http://127\.0\.0\.1:\d+", done.stdout, re.M)

    asked = subprocess.run(
        [sys.executable, "-m", "infra.command.main", "sql", "select count(*) as n from gpu_health", "--format", "json"],
        env=os.environ | {"LOCKSTEP_STATE": str(tmp_path / "demo")},
        capture_output=True,
        text=True,
        check=True,
    )
    # 64 GPUs a second for most of the story, and a week at five minutes.
    assert json.loads(asked.stdout)[0]["n"] > 64 * 80 + 64 * 12 * 24 * 6

    left = subprocess.run(["pgrep", "-fc", str(tmp_path)], capture_output=True, text=True, check=False)
    assert left.stdout.strip() == "0"
