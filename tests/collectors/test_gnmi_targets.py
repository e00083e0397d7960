"""Targets, presets and what is said of mistakes in them."""

import argparse
from pathlib import Path

import pytest

from collectors.gnmi import wire
from collectors.gnmi.path import read_path
from collectors.gnmi.presets import presets
from collectors.gnmi.request import requests
from collectors.gnmi.source import add_arguments
from collectors.gnmi.target import Target, targets
from collectors.source import SourceError


def parsed(*options: str) -> list[Target]:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return targets(parser.parse_args(list(options)))


def test_a_target_is_called_by_its_name_or_its_host() -> None:
    found = parsed("--target", "leaf1=10.0.0.1:6030", "--target", "leaf2.example:6030", "--target", "[::1]:6030")
    assert [(t.name, t.address) for t in found] == [
        ("leaf1", "10.0.0.1:6030"),
        ("leaf2.example", "leaf2.example:6030"),
        ("::1", "[::1]:6030"),
    ]


def test_a_preset_becomes_a_stream_request() -> None:
    listed = wire.SubscribeRequest.FromString(requests(presets(None)["sonic"], 1.0, "STREAM")[0].raw).subscribe
    asked = [(str(read_path(s.path)), s.mode, s.sample_interval) for s in listed.subscription]
    assert (listed.mode, listed.encoding, read_path(listed.prefix).target) == (0, 4, "COUNTERS_DB")
    assert asked[:2] == [
        ("/COUNTERS/Ethernet*", 2, 1_000_000_000),
        ("/COUNTERS/Ethernet*/Queues", 2, 10_000_000_000),
    ]


def test_a_site_adds_a_preset_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[mine]\nsubscribe = [{ path = "/a/b", mode = "ON_CHANGE" }]\n')
    assert parsed("--presets", str(path), "--preset", "mine", "--target", "a:1")[0].preset.name == "mine"


def test_a_file_of_targets_sets_each_switch(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("secret\n")
    path = tmp_path / "targets.toml"
    path.write_text(
        '[[target]]\nname = "leaf1"\naddress = "10.0.0.1:6030"\npreset = "arista"\nlossless = [4, 3]\n'
        f'queues = {{ RDMA = 3 }}\nusername = "reader"\npassword_file = "{tmp_path}/password"\n'
        '[[target]]\naddress = "10.0.0.2:8080"\npreset = "sonic"\n'
    )
    first, second = parsed("--targets", str(path), "--insecure", "--lossless", "3")
    assert (first.name, first.site.lossless, dict(first.site.queues)) == ("leaf1", (3, 4), {"RDMA": "3"})
    assert (first.access.username, first.access.password, first.access.insecure) == ("reader", "secret", True)
    assert (second.name, second.preset.name, second.site.lossless, second.access.insecure) == (
        "10.0.0.2",
        "sonic",
        (3,),
        True,
    )


def test_a_password_is_never_shown() -> None:
    from collectors.gnmi.target import Access

    assert "secret" not in repr(Access(password="secret"))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "give --target"),
        (["--target", "leaf1"], r"--target leaf1: write \[NAME=\]HOST:PORT"),
        (["--target", "leaf1:port"], "HOST:PORT"),
        (["--target", "leaf1:0"], "HOST:PORT"),
        (["--target", "=leaf1:6030"], "HOST:PORT"),
        (["--target", "a:1", "--target", "a:2"], "two targets are called 'a'"),
        (["--target", "a:1", "--preset", "ios"], "no such preset; there are openconfig, arista"),
        (["--target", "a:1", "--lossless", "9"], "numbers from 0 to 7"),
        (["--target", "a:1", "--lossless", "three"], "numbers from 0 to 7"),
        (["--target", "a:1", "--queue", "RDMA"], "NAME=NUMBER"),
        (["--target", "a:1", "--queue", "RDMA=x"], "the number of a queue"),
        (["--target", "a:1", "--ca", "/none/ca.pem"], "--ca /none/ca.pem: No such file"),
        (["--target", "a:1", "--cert", __file__], "given together"),
        (["--targets", "/none/t.toml"], "/none/t.toml: No such file"),
    ],
)
def test_a_mistake_in_the_options_is_named(options: list[str], said: str) -> None:
    with pytest.raises(SourceError, match=said):
        parsed(*options)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x", "not TOML"),
        ("[other]\n", r"write a \[\[target\]\] table"),
        ('[[target]]\nname = "a"\n', 'number 1: write address = "HOST:PORT"'),
        ('[[target]]\naddress = "a:1"\npasword = "x"\n', "no such key 'pasword'"),
        ('[[target]]\naddress = "a:1"\nlossless = 3\n', "lossless is a list"),
        ('[[target]]\naddress = "a:1"\nlossless = [8]\n', "numbers from 0 to 7"),
        ('[[target]]\naddress = "a:1"\npreset = "ios"\n', "no such preset"),
        ("[[target]]\naddress = 5\n", "address is text"),
        ('[[target]]\naddress = "a:1"\npassword_file = "/none"\n', "/none: No such file"),
    ],
)
def test_a_mistake_in_the_file_of_targets_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "targets.toml"
    path.write_text(text)
    with pytest.raises(SourceError, match=said) as refused:
        parsed("--targets", str(path))
    assert str(tmp_path) in str(refused.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x", "not TOML"),
        ("[mine]\n", "subscribe = "),
        ('[mine]\nsubscribe = [{ path = "/a" }]\ncolor = 1\n', "no such key 'color'"),
        ('[mine]\nencoding = "XML"\nsubscribe = []\n', "encoding 'XML'"),
        ('[mine]\nsubscribe = [{ path = "/a[b" }]\n', "is no gNMI path"),
        ('[mine]\nsubscribe = [{ path = "/a", mode = "POLL" }]\n', "mode 'POLL'"),
        ('[mine]\nsubscribe = [{ path = "/a", interval = -1 }]\n', "interval is a positive number"),
    ],
)
def test_a_mistake_in_a_preset_is_named(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(SourceError, match=said):
        presets(path)
