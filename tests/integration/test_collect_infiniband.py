"""The fabric as its real tools tell it: counters, ends of counters, cables, and a subnet without a manager."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.ib_fabric import LEAF_1, SimulatedFabric, absent, simulated_fabric

pytestmark = pytest.mark.skipif(
    bool(absent()) and not os.environ.get("CI"), reason=f"not installed: {', '.join(absent())}"
)


@pytest.fixture(scope="module")
def fabric(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SimulatedFabric]:
    with simulated_fabric(tmp_path_factory.mktemp("fabric")) as fabric:
        fabric.say(f'PerformanceSet "{LEAF_1}"[1] PortCounters.PortXmitDiscards=70')
        fabric.say(f'PerformanceSet "{LEAF_1}"[1] PortCounters.PortXmitWait=4294967295')
        fabric.say('PerformanceSet "node-01 mlx5_0"[1] PortCounters.SymbolErrorCounter=65535')
        fabric.say('PerformanceSet "node-02 mlx5_1"[1] PortCounters.LinkDownedCounter=4')
        yield fabric


def collect(fabric: SimulatedFabric, *words: str) -> tuple[dict[str, Any], list[dict[str, Any]], str, int]:
    """Scrapes by device, links, what was said on standard error, the exit status."""
    env = {name: value for name, value in fabric.env.items() if name != "LD_PRELOAD"}
    tools = fabric.folder / "tools"
    tools.mkdir(exist_ok=True)
    for name in ("iblinkinfo", "ibqueryerrors"):
        (tools / name).write_text(f'#!/bin/sh\nLD_PRELOAD={fabric.env["LD_PRELOAD"]} exec {name} "$@"\n')
        (tools / name).chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "infra.command.main", "collect", "infiniband", *words, "--tools", str(tools), "--once"],
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    told = [json.loads(line) for line in done.stdout.splitlines()]
    scrapes = {m["value"]["device"]: m["value"] for m in told if m["topic"] == "fabric.scrapes.v1"}
    return scrapes, [m["value"] for m in told if m["topic"] == "fabric.links.v1"], done.stderr, done.returncode


def column(scrape: dict[str, Any], name: str) -> dict[str, Any]:
    return dict(zip([port["name"] for port in scrape["ports"]], scrape["columns"][name], strict=True))


def test_a_sweep_tells_every_port_its_counters_and_its_cable(fabric: SimulatedFabric) -> None:
    scrapes, links, said, status = collect(fabric, "--sweep")
    assert (sorted(scrapes), said, status) == (["leaf-1", "leaf-2", "node-01", "node-02"], "", 0)
    leaf = scrapes["leaf-1"]
    assert {port["name"]: port["oper_up"] for port in leaf["ports"]} == {str(n): n in (1, 2, 3) for n in range(1, 9)}
    discards = column(leaf, "ib_tx_discard_packets")
    assert (discards["1"], discards["2"]) == (70, 0)
    assert column(leaf, "ib_tx_words")["1"] > 0
    assert leaf["saturated"]["ib_tx_wait_ticks"] == [4294967295, *[None] * 7]
    assert column(leaf, "ib_tx_wait_ticks")["1"] is None
    hosts = scrapes["node-01"]
    assert (hosts["kind"], hosts["node"]) == ("hca", "node-01")
    ends = dict(zip([p["name"] for p in hosts["ports"]], hosts["saturated"]["ib_symbol_errors"], strict=True))
    assert ends == {"mlx5_0": 65535, "mlx5_1": None}
    assert column(scrapes["node-02"], "ib_link_down_events") == {"mlx5_0": 0, "mlx5_1": 4}
    assert sorted((x["device"], x["port"], x["far_device"], x["far_port"], x["node"]) for x in links) == [
        ("leaf-1", "1", "node-01", "mlx5_0", "node-01"),
        ("leaf-1", "2", "node-02", "mlx5_0", "node-02"),
        ("leaf-1", "3", "leaf-2", "3", None),
        ("leaf-2", "1", "node-01", "mlx5_1", "node-01"),
        ("leaf-2", "2", "node-02", "mlx5_1", "node-02"),
        ("leaf-2", "3", "leaf-1", "3", None),
    ]


def test_hosts_may_be_left_out(fabric: SimulatedFabric) -> None:
    scrapes, _, _, _ = collect(fabric, "--sweep", "--switches")
    assert "ib_tx_words" in scrapes["leaf-1"]["columns"]
    assert "ib_tx_words" not in scrapes.get("node-01", {"columns": {}})["columns"]


@pytest.mark.parametrize(
    ("tool", "option"),
    [
        ("ibqueryerrors --data", "--ibqueryerrors"),
        ("ibqueryerrors --counters", "--ibqueryerrors"),
        ("ibqueryerrors -r", "--ibqueryerrors"),
        ("iblinkinfo", "--iblinkinfo"),
        ("iblinkinfo -l", "--iblinkinfo"),
        ("iblinkinfo -p", "--iblinkinfo"),
        ("ibnetdiscover", "--ibnetdiscover"),
        ("ibnetdiscover -p", "--ibnetdiscover"),
        ("perfquery -l 1 255", "--perfquery"),
        ("perfquery -x 1 1", "--perfquery"),
    ],
)
def test_every_line_of_a_tool_is_understood(fabric: SimulatedFabric, tmp_path: Path, tool: str, option: str) -> None:
    done = subprocess.run(tool.split(), env=fabric.env, capture_output=True, text=True, check=False, timeout=20)
    assert done.returncode in (0, 1), done.stderr
    path = tmp_path / "text"
    path.write_text(done.stdout)
    scrapes, _, said, status = collect(fabric, option, str(path))
    assert (said, status) == ("", 0)
    assert scrapes


def test_without_a_subnet_manager_the_scan_has_failed_though_the_tool_says_zero(tmp_path: Path) -> None:
    with simulated_fabric(tmp_path, manager=False) as fabric:
        scrapes, _, said, status = collect(fabric, "--sweep", "--timeout", "20")
    assert (scrapes, status) == ({}, 2)
    assert "no `## Summary:` line" in said
    assert "Traceback" not in said
