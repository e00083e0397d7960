"""Options and the file of targets: who is read how, and what is wrong with what was written."""

import argparse
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.snmp.settings import snmp_settings
from collectors.snmp.source import add_arguments
from collectors.snmp.target import Target, targets
from collectors.source import SourceError

SECRETS = {"COMMUNITY": "public", "AUTH_PASSWORD": "authentic", "PRIV_PASSWORD": "private!!"}


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, secret in SECRETS.items():
        monkeypatch.setenv(f"LOCKSTEP_SNMP_{name}", secret)
    snmp_settings.cache_clear()
    yield
    snmp_settings.cache_clear()


def read(*options: str) -> list[Target]:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return targets(parser.parse_args(list(options)))


@pytest.mark.parametrize(
    ("text", "name", "host", "port"),
    [
        ("10.0.0.1", "10.0.0.1", "10.0.0.1", 161),
        ("leaf1=10.0.0.1:1161", "leaf1", "10.0.0.1", 1161),
        ("fd00::1", "fd00::1", "fd00::1", 161),
        ("leaf1=[fd00::1]:1161", "leaf1", "fd00::1", 1161),
    ],
)
def test_a_target_is_a_host_with_or_without_name_and_port(text: str, name: str, host: str, port: int) -> None:
    (target,) = read("--target", text)
    assert (target.name, target.host, target.port) == (name, host, port)


@pytest.mark.parametrize("text", ["", "=h", "h:0", "h:port", "[fd00::1]:99999"])
def test_a_target_that_is_none_is_told_how_to_write_it(text: str) -> None:
    with pytest.raises(SourceError, match="HOST"):
        read("--target", text)


def test_a_community_comes_from_the_environment_or_a_file(tmp_path: Path) -> None:
    (target,) = read("--target", "h")
    assert target.login.community == b"public"
    (tmp_path / "c").write_text("secret\n")
    (target,) = read("--target", "h", "--community-file", str(tmp_path / "c"))
    assert target.login.community == b"secret" and "secret" not in repr(target)


def test_a_user_has_passwords_and_protocols() -> None:
    (target,) = read("--target", "h", "--user", "reader", "--auth-protocol", "sha-256")
    user = target.login.user
    assert user is not None and user.auth is not None and user.priv is not None
    assert (user.auth.name, user.priv.name) == ("SHA-256", "AES")
    assert "authentic" not in repr(target)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--user", "u", "--auth-protocol", "SHA-3"], "SHA-512"),
        (["--user", "u", "--auth-protocol", "none"], "only with authentication"),
        (["--user", "u", "--community-file", "c"], "not both"),
        (["--user", "u", "--auth-password-file", "nowhere"], "nowhere"),
        (["--preset", "nope"], "standard"),
        (["--lossless", "9"], "priorities"),
        (["--target", "h"], "two targets"),
    ],
)
def test_options_that_cannot_be_used_say_what_to_write(options: list[str], why: str) -> None:
    with pytest.raises(SourceError, match=why):
        read("--target", "h", *options)


def test_a_short_password_is_refused_before_the_agent_does(tmp_path: Path) -> None:
    (tmp_path / "p").write_text("short")
    with pytest.raises(SourceError, match="8 characters"):
        read("--target", "h", "--user", "u", "--auth-password-file", str(tmp_path / "p"))


def test_no_target_and_no_secret_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceError, match="--target HOST"):
        read()
    monkeypatch.delenv("LOCKSTEP_SNMP_COMMUNITY")
    snmp_settings.cache_clear()
    with pytest.raises(SourceError, match="LOCKSTEP_SNMP_COMMUNITY"):
        read("--target", "h")


def test_a_file_names_switches_with_logins_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "c").write_text("other")
    path = tmp_path / "targets.toml"
    path.write_text(
        f"""
[[target]]
address = "10.0.0.1"
[[target]]
name = "leaf2"
address = "10.0.0.2:1161"
preset = "sonic"
lossless = [3, 4]
community_file = "{tmp_path / "c"}"
[[target]]
address = "10.0.0.3"
user = "reader"
"""
    )
    one, two, three = read("--targets", str(path), "--lossless", "3")
    assert (one.login.community, one.site.lossless, one.preset.name) == (b"public", (3,), "standard")
    assert (two.name, two.port, two.login.community, two.site.lossless) == ("leaf2", 1161, b"other", (3, 4))
    assert two.preset.name == "sonic"
    assert three.login.user is not None and three.login.community is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", r"\[\[target\]\]"),
        ('[[target]]\naddress = ""\n', "number 1: address"),
        ('[[target]]\naddress = "h"\nspeed = 1\n', "no such key 'speed'"),
        ('[[target]]\naddress = "h"\nlossless = 3\n', "lossless"),
        ('[[target]]\naddress = "h"\npreset = "x"\n', "preset x"),
        ('[[target]]\naddress = "h"\nuser = 5\n', "user is text"),
        ("target = 1\n", r"\[\[target\]\]"),
        ("target = [1]\n", "not a table"),
        ("[[target\n", "not TOML"),
    ],
)
def test_a_file_that_cannot_be_used_names_the_table(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "targets.toml"
    path.write_text(text)
    with pytest.raises(SourceError, match=why):
        read("--targets", str(path))
