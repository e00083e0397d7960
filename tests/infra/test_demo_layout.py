"""The fleet's one configuration becomes one file a collector process."""

from pathlib import Path

from collectors.config_file import read_config
from infra.demo.layout import PROCESSES, split_config
from infra.fleet.folder import Folder
from infra.fleet.scenario import load, named


def test_every_source_of_the_fleet_lands_in_one_process_as_it_stood(tmp_path: Path) -> None:
    scenario = load(named("demo"))
    folder = Folder(tmp_path / "f", scenario)
    nodes, switches = scenario.layout.node_names, scenario.layout.switch_names
    folder.describe(scenario, 0, dict.fromkeys(nodes, "127.0.0.1:1"), dict.fromkeys(switches, "127.0.0.1:2"), "default")
    folder.close()
    whole = read_config(tmp_path / "f" / "collect.toml")
    files = split_config(tmp_path / "f" / "collect.toml", tmp_path / "split")
    assert set(files) == set(PROCESSES)
    parts = [one for file in files.values() for one in read_config(file)]
    assert sorted((c.name, str(c.args)) for c in parts) == sorted((c.name, str(c.args)) for c in whole)
