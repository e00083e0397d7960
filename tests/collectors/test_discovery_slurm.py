"""Nodes of a Slurm cluster, from a hostlist and from a `sinfo` on the path."""

from pathlib import Path

import pytest

from collectors.discovery.discovery import Found
from collectors.discovery.slurm_nodes import SinfoNodes, SlurmNodes, slurm_nodes
from collectors.source import SourceError

SHOWN = """gpu001|gpu001.cluster|gpu:h100:8(S:0-1)
gpu001|gpu001.cluster|gpu:h100:8(S:0-1)
gpu002|10.1.0.2|gpu:h100:8
login1|login1|(null)
"""


def sinfo(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """A `sinfo` on the path; its words are in the file `asked`."""
    tool = folder / "sinfo"
    tool.write_text(f'#!/bin/sh\necho "$@" > "{folder}/asked"\n{script}\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return folder / "asked"


def test_a_hostlist_is_its_nodes() -> None:
    assert slurm_nodes("gpu[01-02]").find() == [Found("gpu01", node="gpu01"), Found("gpu02", node="gpu02")]


def test_a_wrong_hostlist_names_the_option() -> None:
    with pytest.raises(SourceError, match=r"--slurm-nodes gpu\[1: a bracket is not closed"):
        SlurmNodes("gpu[1")
    with pytest.raises(SourceError, match="write a hostlist"):
        SlurmNodes(" ")


def test_sinfo_gives_nodes_with_gpus_once_under_their_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = sinfo(tmp_path, monkeypatch, f"cat <<'E'\n{SHOWN}E")
    assert slurm_nodes("sinfo:train").find() == [
        Found("gpu001.cluster", node="gpu001"),
        Found("10.1.0.2", node="gpu002"),
    ]
    assert asked.read_text().split() == ["--noheader", "--Node", "--format=%N|%o|%G", "--partition=train"]


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo 'sinfo: error: Unable to contact slurm controller' >&2; exit 1", "sinfo: error: Unable to contact"),
        ("exit 3", "sinfo: exit status 3"),
        ("echo 'login1|login1|(null)'", "sinfo shows no node with a gpu"),
    ],
)
def test_a_sinfo_that_fails_is_said(script: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sinfo(tmp_path, monkeypatch, script)
    with pytest.raises(SourceError, match=why):
        SinfoNodes(None).find()


def test_a_host_without_sinfo_is_told_what_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SourceError, match="there is no `sinfo` here; write the nodes"):
        SinfoNodes(None).find()
