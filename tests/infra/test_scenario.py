"""Scenario files are read whole, and what is wrong in one is said with its file and key."""

import math
from pathlib import Path

import pytest

from infra.fleet.scenario import ScenarioError, load, named, parse

OWN = sorted((Path(__file__).parents[2] / "infra" / "fleet" / "scenarios").glob("*.toml"))
GOOD = """
[fleet]
nodes = 2
gpus = 4
switches = 2

[[jobs]]
name = "train"
nodes = ["node-01", "node-02"]
tp = 2

[[faults]]
kind = "thermal_throttle"
target = "node-01/2"
from_s = 5
"""


def wrong(text: str) -> str:
    with pytest.raises(ScenarioError) as caught:
        parse(text, "plan.toml", "plan")
    return str(caught.value)


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_every_scenario_that_comes_with_the_project_is_good(path: Path) -> None:
    scenario = load(path)
    assert scenario.name == path.stem
    assert scenario.about


def test_what_a_file_does_not_say_takes_its_default() -> None:
    scenario = parse(GOOD, "plan.toml", "plan")
    fault = scenario.faults[0]
    assert (scenario.name, scenario.seconds, scenario.interval_s) == ("plan", 120.0, 1.0)
    assert (fault.size, fault.to_s, fault.expect, fault.page) == (0.4, math.inf, ("thermal_throttle",), True)


def test_imbalance_and_application_errors_must_not_page() -> None:
    text = GOOD + '[[faults]]\nkind = "stage_imbalance"\ntarget = "train/stage-0"\n'
    assert parse(text, "plan.toml", "plan").faults[1].page is False


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fleet = 3", "plan.toml: fleet: not a table"),
        ("[fleet]\nnodes = 0", "plan.toml: fleet.nodes: 0 is not between 1 and 4096"),
        ("[fleet]\nnodes = true", "plan.toml: fleet.nodes: True is not a whole number"),
        ("[fleet]\nnods = 8", "plan.toml: fleet.nods: not a known key"),
        ("seconds = nan", "plan.toml: seconds: nan is not a number"),
        ("[[jobs]]", "plan.toml: jobs[1].name: missing"),
        ('[[jobs]]\nname = "a"\nnodes = ["node-99"]', "plan.toml: jobs[1].nodes: no 'node-99'; there is node-01"),
        ('[[jobs]]\nname = "a"\nnodes = ["node-01"]\ntp = 3', "plan.toml: jobs[1].tp: tp 3 x pp 1 does not divide"),
        ('[[jobs]]\nname = "a"\nnodes = ["node-01", "node-01"]', "plan.toml: jobs[1].nodes: a node stands twice"),
        ('[[jobs]]\nname = "a"\nnodes = ["node-03..node-02"]', "plan.toml: jobs[1].nodes: node-03..node-02: the last"),
        ('[[jobs]]\nname = "a"', "plan.toml: jobs[1].nodes: missing"),
        ('[fleet]\nsecond_model = "B"', "plan.toml: fleet.second_model: stands with second_nodes"),
        ('[[maintenance]]\nparts = ["node:node-01"]', "plan.toml: maintenance[1].to_s: missing, or not after from_s"),
        (
            '[[maintenance]]\nparts = ["node-01"]\nto_s = 9',
            "plan.toml: maintenance[1].parts: 'node-01' is not of the form",
        ),
        ('[[cordons]]\nnode = "node-99"', "plan.toml: cordons[1].node: no 'node-99'; there is node-01"),
        (
            '[[faults]]\nkind = "gpu_lost"\ntarget = "node-01/1"\nevery_s = 9',
            "plan.toml: faults[1].every_s: stands with for_s or not at all",
        ),
        ("[telemetry]\nmissing = 2", "plan.toml: telemetry.missing: 2 is not between 0 and 1"),
        ("[telemetry]\nrestarts_s = [-1]", "plan.toml: telemetry.restarts_s: -1 is not a number from 0 on"),
        ("[telemetry]\nlost = 1", "plan.toml: telemetry.lost: not a known key"),
        ('[[faults]]\nkind = "fire"\ntarget = "x"', "plan.toml: faults[1].kind: no 'fire'; there is thermal_throttle"),
        ('[[faults]]\nkind = "gpu_lost"\ntarget = "node-01/9"', "plan.toml: faults[1].target: no 'node-01/9'"),
        ('[[faults]]\nkind = "xid"\ntarget = "node-01/1"', "plan.toml: faults[1].code: missing"),
        (
            '[[faults]]\nkind = "gpu_lost"\ntarget = "node-01/1"\nfrom_s = 9\nto_s = 9',
            "plan.toml: faults[1].to_s: 9.0 is not after from_s 9.0",
        ),
        (
            '[[faults]]\nkind = "thermal_throttle"\ntarget = "node-01/1"\nsize = 1.5',
            "plan.toml: faults[1].size: 1.5 is not between 0.02 and 0.8",
        ),
        ("not toml", "plan.toml: not TOML"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_key(text: str, said: str) -> None:
    assert said in wrong(text)


def test_two_jobs_share_a_node_only_one_after_the_other() -> None:
    text = '[[jobs]]\nname = "a"\nnodes = ["node-01"]\nend_s = 50\n[[jobs]]\nname = "b"\nnodes = ["node-01"]\n'
    assert "node-01 is given to both a and b" in wrong(text)
    assert len(parse(text + "start_s = 50", "plan.toml", "plan").jobs) == 2


def test_a_range_of_nodes_is_all_from_the_first_to_the_last() -> None:
    text = '[fleet]\nnodes = 130\n[[jobs]]\nname = "a"\nnodes = ["node-09..node-11", "node-99..node-101", "node-02"]\n'
    (plan,) = parse(text, "plan.toml", "plan").jobs
    assert plan.nodes == ("node-09", "node-10", "node-11", "node-99", "node-100", "node-101", "node-02")


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"none\.toml: cannot be read"):
        load(tmp_path / "none.toml")


def test_a_bare_name_means_a_scenario_that_comes_with_the_project() -> None:
    assert named("demo").name == "demo.toml"
