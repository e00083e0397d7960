"""The commands as a user runs them."""

import json
from pathlib import Path

import pytest

from infra.command.main import main


def test_every_fault_of_the_demo_is_found_and_nobody_is_woken_for_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "demo", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (demo,) = told["scenarios"]
    assert {fault["kind"]: (fault["good"], len(fault["pages"])) for fault in demo["faults"]} == {
        "stage_imbalance": (True, 0),
        "xid": (True, 0),
        "thermal_throttle": (True, 1),
        "ecc_growth": (True, 1),
        "lossless_drop": (True, 1),
        "gpu_lost": (True, 1),
    }
    assert demo["false_pages"] == []


def test_a_missed_fault_ends_with_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "small.toml"
    path.write_text(
        "seconds = 5\n[fleet]\nnodes = 1\n[[faults]]\nkind = 'ecc_growth'\ntarget = 'node-01/0'\nsize = 0.001\n"
    )
    assert main(["score", str(path)]) == 1
    assert "0 of 1 faults found with the right cause, 0 false pages" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["score", "fleet"])
def test_a_scenario_that_is_not_there_is_named_in_one_line(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "nothing"]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"lockstep {command}: nothing: ")
    assert told.count("\n") == 1
