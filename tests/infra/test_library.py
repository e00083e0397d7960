"""The library of scenarios: what it holds, and a part of it played. `make score` plays it whole."""

from pathlib import Path

import pytest

from infra.acceptance import shortfalls
from infra.fleet.fault import KINDS
from infra.fleet.scenario import Scenario, load
from infra.play import play

FOLDER = Path(__file__).parents[1] / "scenarios"
LIBRARY = [load(path) for path in sorted(FOLDER.glob("*.toml"))]
FAST = (
    "throttle-hard-64",
    "power-brake-64",
    "gpu-lost-restarts-64",
    "lossless-rough-64",
    "ecc-storm-rough-64",
    "pcie-downtrain-64",
    "nvlink-down-64",
    "xid-application-64",
    "slow-host-130-64",
    "pause-storm-64",
    "rank-hang-64",
    "many-64",
)
LEAST_SIGMA, MOST_SIGMA = 0.01, 0.15
"""Of own compute, as measured on recorded jobs."""


def names() -> list[str]:
    return [scenario.name for scenario in LIBRARY]


def gpus(scenario: Scenario) -> int:
    return len(scenario.layout.gpu_by_name)


def test_each_scenario_is_named_like_its_file_and_says_what_it_is_about() -> None:
    assert names() == [path.stem for path in sorted(FOLDER.glob("*.toml"))]
    assert [scenario.name for scenario in LIBRARY if not scenario.about] == []
    assert len({scenario.seed for scenario in LIBRARY}) == len(LIBRARY) >= 40


def test_every_kind_of_fault_has_a_scenario() -> None:
    played = {fault.kind for scenario in LIBRARY for fault in scenario.faults}
    assert played == set(KINDS)


def test_the_noise_is_as_measured_and_not_kinder() -> None:
    sigmas = {plan.sigma for scenario in LIBRARY for plan in scenario.jobs}
    assert (min(sigmas), max(sigmas)) == (LEAST_SIGMA, MOST_SIGMA)
    assert min(scenario.noise for scenario in LIBRARY) == 1.0


def test_there_are_small_and_large_fleets_rough_telemetry_restarts_and_quiet_days() -> None:
    assert {64, 4096} <= {gpus(scenario) for scenario in LIBRARY}
    ways = [scenario.telemetry for scenario in LIBRARY]
    for trouble in ("missing", "duplicates", "late", "jitter_s", "unreadable", "restarts_s"):
        assert sum(bool(getattr(way, trouble)) for way in ways) >= 3, trouble
    quiet = [scenario for scenario in LIBRARY if not scenario.faults]
    assert {gpus(scenario) for scenario in quiet} == {64, 4096}
    assert max(scenario.seconds for scenario in quiet) >= 86_400


@pytest.mark.parametrize("name", FAST)
def test_a_part_of_it_is_judged_as_it_must(name: str) -> None:
    board = play(next(scenario for scenario in LIBRARY if scenario.name == name))
    assert [verdict.fault.name for verdict in board.missed] == []
    assert [false.summary for false in board.false_pages] == []
    assert shortfalls([board]) == []
