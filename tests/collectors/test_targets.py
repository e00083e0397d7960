"""Targets are URLs, hosts, files, or lists of them."""

from pathlib import Path

import pytest

from collectors.dcgm.targets import read_target, read_targets_file
from collectors.source import SourceError


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("node-a", "http://node-a:9400/metrics"),
        ("node-a:9401", "http://node-a:9401/metrics"),
        ("http://node-a", "http://node-a:9400/metrics"),
        ("https://node-a/gpu", "https://node-a:443/gpu"),
        ("http://[::1]:9400", "http://[::1]:9400/metrics"),
        ("http://u:secret@node-a", "http://node-a:9400/metrics"),
    ],
)
def test_a_target_is_named_by_its_address_without_secrets(text: str, name: str) -> None:
    assert read_target(text).name == name


def test_a_file_is_a_target(tmp_path: Path) -> None:
    page = tmp_path / "a.prom"
    page.write_text("")
    assert read_target(str(page)).path == page


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("/none/a.prom", "--target /none/a.prom: no such file"),
        ("ftp://a", "--target ftp://a: write http:// or https://"),
        ("http://:9400", "--target http://:9400: no host in it"),
        ("http://a:port", "--target http://a:port: Port could not be cast to integer value as 'port'"),
    ],
)
def test_a_target_that_is_none_is_said(text: str, why: str) -> None:
    with pytest.raises(SourceError) as failure:
        read_target(text)
    assert str(failure.value) == why


JSON = """[{"targets": ["a:9400", "b:9400"], "labels": {"__metrics_path__": "/gpu", "rack": "r1"}},
           {"targets": ["c:9400"], "labels": {"__scheme__": "https", "node": "node-c"}}]"""
YAML = """
- targets: [a:9400, b:9400]
  labels: {__metrics_path__: /gpu, rack: r1}
- targets:
    - c:9400
  labels:
    __scheme__: https
    node: node-c
"""


@pytest.mark.parametrize(("name", "text"), [("t.json", JSON), ("t.yaml", YAML), ("t.yml", YAML)])
def test_a_list_of_targets_is_read_in_both_forms(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert [(t.name, t.node) for t in read_targets_file(tmp_path / name)] == [
        ("http://a:9400/gpu", None),
        ("http://b:9400/gpu", None),
        ("https://c:9400/metrics", "node-c"),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[", ":1: not JSON: Expecting value"),
        ("{}", ": not a list of groups; write - targets: [host:port]"),
        ('[{"labels": {}}]', ": group 1: no list `targets` in it"),
        ('[{"targets": [7]}]', ": group 1: 7 is not text of the form host:port"),
        ('[{"targets": []}, {"targets": ["ftp://a"]}]', ": group 2: --target ftp://a: write http:// or https://"),
    ],
)
def test_a_broken_list_names_the_place(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(SourceError) as failure:
        read_targets_file(path)
    assert str(failure.value) == f"--targets {path}{why}"


def test_targets_are_spread_over_the_interval_and_stay_where_they_are() -> None:
    offsets = [read_target(f"node-{n}").offset_s(10.0) for n in range(200)]
    assert offsets == [read_target(f"node-{n}").offset_s(10.0) for n in range(200)]
    assert all(0.0 <= offset < 10.0 for offset in offsets)
    assert {int(offset) for offset in offsets} == set(range(10))
