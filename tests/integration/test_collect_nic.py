"""Interfaces of this kernel: what our own call reads is what `ethtool -S` prints."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

import pytest

from collectors.nic.ethtool import Ethtool
from collectors.nic.text import read_ethtool

PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"
ONE, OTHER = "lockstep-t0", "lockstep-t1"


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "PATH": PATH})


@pytest.fixture(scope="module")
def pair() -> Iterator[str]:
    """Two ends of a virtual cable."""
    for tool in ("ip", "ethtool"):
        if shutil.which(tool, path=PATH) is None and "CI" not in os.environ:
            pytest.skip(f"not installed: {tool}")
    made = run("ip", "link", "add", ONE, "type", "veth", "peer", "name", OTHER)
    if made.returncode != 0 and os.geteuid() != 0:
        pytest.skip(f"only root may make a virtual cable: {made.stderr.strip()}")
    assert made.returncode == 0, made.stderr
    try:
        for end in (ONE, OTHER):
            assert run("ip", "link", "set", end, "up").returncode == 0
        yield ONE
    finally:
        run("ip", "link", "delete", ONE)


def test_our_own_call_reads_what_ethtool_prints(pair: str) -> None:
    ethtool = Ethtool()
    try:
        found = ethtool.read(pair)
        again = ethtool.read(pair)
    finally:
        ethtool.close()
    told, unread = read_ethtool(run("ethtool", "-S", pair).stdout)
    assert unread == []
    assert found.names == tuple(name for name, _ in told)
    assert again.names is found.names
    # The index of the other end, which no packet changes.
    assert dict(zip(found.names, found.values, strict=True))["peer_ifindex"] == int(dict(told)["peer_ifindex"])


def test_collect_reads_both_ends_and_a_link_that_goes_down(pair: str) -> None:
    def scrape() -> dict[str, dict[str, object]]:
        done = run(
            *(sys.executable, "-m", "infra.command.main", "collect", "nic", "--once"),
            *("--node", "n1", "--interface", "lockstep-t*"),
        )
        assert (done.returncode, done.stderr) == (0, "")
        value = json.loads(done.stdout)["value"]
        assert (value["device"], value["kind"], value["node"]) == ("n1", "nic", "n1")
        columns = {**value["columns"], **value["named"]}
        ports = {port["name"]: port for port in value["ports"]}
        return {n: ports[n] | {c: columns[c][i] for c in columns} for i, n in enumerate(ports)}

    before = scrape()
    assert set(before) == {ONE, OTHER}
    assert [before[end]["oper_up"] for end in (ONE, OTHER)] == [True, True]
    assert "rx_queue_0_drops" in before[ONE]
    assert run("ip", "link", "set", OTHER, "down").returncode == 0
    after = scrape()
    assert [after[end]["oper_up"] for end in (ONE, OTHER)] == [False, False]
    assert int(str(after[ONE]["port_link_down_events"])) == int(str(before[ONE]["port_link_down_events"])) + 1
