"""What is asked of the judging, and the figures over many scenarios."""

import io
import json
from pathlib import Path

import pytest

from infra.acceptance import shortfalls
from infra.command.main import main
from infra.detector_score import DetectorScore, by_detector, quantile, total
from infra.fleet.fault import Fault
from infra.players import Line
from infra.score_report import document
from infra.scoreboard import FalsePage, Scoreboard, Verdict
from streams.contract import Incident, Subject


def verdict(
    kind: str = "slow_host", size: float = 0.3, *, found: bool = True, pages: int = 1, **more: object
) -> Verdict:
    fault = Fault(
        kind=kind, target="node-01", size=size, expect=("host_slow",), optional=bool(more.pop("optional", False))
    )
    cause = "host_slow" if found else None
    known = {"delay_s": 10.0, "delay_steps": 4} | more
    return Verdict(fault=fault, found=found, cause=cause, cause_right=found, pages=["page"] * pages, **known)  # type: ignore[arg-type]


def board(*verdicts: Verdict, false: int = 0) -> Scoreboard:
    told = Incident(
        ts_us=1,
        id="a",
        state="opened",
        severity="critical",
        cause="x",
        cause_word="slow_rank",
        detector="straggler",
        subject=Subject(kind="rank", id="train/1"),
        opened_us=1,
        summary="s",
        action="a",
        runbook="r",
    )
    pages = [FalsePage(incident=told, because="no fault behind it")] * false
    return Scoreboard(scenario="test", verdicts=list(verdicts), false_pages=pages)


def test_all_found_once_in_time_falls_short_of_nothing() -> None:
    assert shortfalls([board(verdict()), board()]) == []


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (board(verdict(), verdict(found=False)), "recall 0.500, at least 0.99 is asked"),
        (board(verdict(), false=1), "precision 0.500, at least 0.99 is asked"),
        (board(false=1), "test: 1 pages on a quiet day, none is asked"),
        (board(verdict(pages=2)), "test: 2 pages for slow_host node-01, one is asked"),
        (board(verdict(delay_steps=6)), "p99 of the delay 6.0 steps at 1.3x and more, at most 5 is asked"),
        (board(verdict(delay_intervals=2.5)), "p99 of the delay 2.5 scrapes, at most 2 is asked"),
    ],
)
def test_what_falls_short_is_said_with_its_number(made: Scoreboard, said: str) -> None:
    assert said in shortfalls([made])


def test_a_small_straggler_may_take_longer() -> None:
    assert shortfalls([board(verdict(size=0.15, delay_steps=20))]) == []


def test_an_optional_fault_counts_in_nothing_found_or_not() -> None:
    made = board(verdict(found=False, optional=True), verdict())
    assert (total([made]).faults, made.ok, shortfalls([made])) == (1, True, [])


def test_a_right_part_with_a_wrong_cause_counts_against_the_causes() -> None:
    wrong = verdict(found=False)
    wrong.cause = "slow_rank"
    assert total([board(verdict(), wrong)]).cause_right == 0.5


def test_the_total_is_all_detectors_together() -> None:
    made = [board(verdict(), false=1), board(verdict("node_silent", 1.0))]
    assert {score.name: score.faults for score in by_detector(made)} == {"silence": 1, "straggler": 1}
    assert (total(made).faults, total(made).false_pages, total(made).pages_per_fault) == (2, 1, 1.0)


def test_a_quantile_lies_between_the_nearest_values() -> None:
    assert [quantile([4.0, 0.0], share) for share in (0.0, 0.5, 1.0)] == [0.0, 2.0, 4.0]
    assert (quantile([], 0.5), DetectorScore(name="a").precision) == (None, None)


def test_the_document_has_the_figures_of_each_detector_and_of_all() -> None:
    told = json.loads(document([board(verdict())]))
    asked = ("precision", "recall", "cause_right", "delay_p50_s", "delay_p99_s", "pages_per_fault", "false_pages")
    for entry in (told["total"], told["detectors"]["straggler"]):
        assert [entry[name] for name in asked] == [1.0, 1.0, 1.0, 10.0, 10.0, 1.0, 0]
        assert (entry["delay_p99_steps"], entry["delay_p99_intervals"]) == (4.0, None)


SCENARIO = "seconds = 60\n[fleet]\nnodes = 2\n[[faults]]\nkind = 'gpu_lost'\ntarget = 'node-01/0'\nfrom_s = 20\n"


def test_detectors_that_were_not_asked_for_answer_for_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO)
    assert main(["score", str(path), "--detectors", "lossless", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["total"]["faults"], told["detectors"]) == (0, {})
    assert main(["score", str(path), "--detectors", "xid", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["total"]["found"] == 1


def test_a_detector_that_is_none_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "small.toml"
    path.write_text(SCENARIO)
    assert main(["score", str(path), "--detectors", "xid,nothing"]) == 2
    assert capsys.readouterr().err.startswith("lockstep score: --detectors: no 'nothing'; there is memory, ")


def test_a_limits_file_can_switch_a_detector_off(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, limits = tmp_path / "small.toml", tmp_path / "limits.toml"
    path.write_text(SCENARIO)
    limits.write_text("[xid]\non = false\n[silence]\non = false\n")
    assert main(["score", str(path), "--config", str(limits)]) == 1
    assert "missed in small: gpu_lost node-01/0" in capsys.readouterr().out


def test_a_terminal_sees_how_far_all_are_and_a_file_nothing() -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    told = []
    for out in (Terminal(), io.StringIO()):
        line = Line(out, {0: 3.0, 1: 1.0})
        line.hear(0, 1.0, "large")
        line.end()
        told.append(out.getvalue())
    assert "] " + " 75%  1/2 scenarios  large" in told[0]
    assert told[1] == ""


def test_wrong_tickets_for_corrected_errors_are_counted_where_such_faults_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ecc.toml"
    path.write_text(SCENARIO.replace("gpu_lost", "ecc_growth") + "size = 500\nexpect = 'correctable_ecc_storm'\n")
    assert main(["score", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ecc_false_tickets_per_1000_gpu_days"] < 0.05


def test_scenarios_in_processes_give_what_they_give_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.toml").write_text(SCENARIO)
    said = []
    for jobs in ("1", "2"):
        assert main(["score", str(tmp_path), "--json", "--jobs", jobs]) == 0
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
