"""`lockstep settings` knows every setting there is, and so does its page."""

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from collectors.contract.settings import SettingError, list_settings, read_settings, setting
from infra.settings import all_settings, table

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"\bLOCKSTEP_[A-Z0-9_]*[A-Z0-9]\b")


def listed() -> set[str]:
    return {setting.env for _, setting in all_settings()}


def names(*patterns: str) -> dict[str, str]:
    """Name of a setting -> a file that speaks of it."""
    return {
        name: str(path.relative_to(ROOT))
        for pattern in patterns
        for path in sorted(ROOT.glob(pattern))
        for name in NAME.findall(path.read_text())
    }


def test_every_setting_that_the_code_names_is_listed() -> None:
    rooms = ("collectors", "streams", "warehouse", "pipelines", "infra")
    spoken = names(*(f"{room}/**/*.{kind}" for room in rooms for kind in ("py", "toml", "yaml", "yml", "sql")))
    assert {name: file for name, file in spoken.items() if name not in listed()} == {}


def test_every_setting_that_people_are_told_of_is_listed() -> None:
    spoken = names("README.md", "docs/**/*.md", "Makefile", "infra/**/*.md")
    assert {name: file for name, file in spoken.items() if name not in listed()} == {}


def test_the_page_is_what_the_command_prints() -> None:
    assert (ROOT / "docs" / "settings.md").read_text().endswith("\n\n" + table(all_settings()))


def test_a_setting_of_all_rooms_stands_in_no_other() -> None:
    rooms = {room for room, setting in all_settings() if setting.env == "LOCKSTEP_STATE"}
    assert rooms == {"all rooms"}


def test_passwords_are_not_shown(tmp_path: Path) -> None:
    env = os.environ | {
        "LOCKSTEP_GNMI_PASSWORD": "hush1",
        "LOCKSTEP_WAREHOUSE": "postgres:host=db password = 'hush 2' user=me",
        "LOCKSTEP_ALERTMANAGER": "http://me:hush3@am:9093",
    }
    for form in ((), ("--json",), ("--markdown",)):
        shown = subprocess.run(
            [sys.executable, "-m", "infra.command.main", "settings", *form],
            env=env,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert "hush" not in shown
        assert ("user=me" in shown) == ("http://me:***@am:9093" in shown) == (form != ("--markdown",))


@dataclass(frozen=True)
class Some:
    """Settings of a test."""

    word: str | None = setting("LOCKSTEP_WORD", None, "a word")
    number: float = setting("LOCKSTEP_NUMBER", 2.0, "a number")
    count: int = setting("LOCKSTEP_COUNT", 3, "a count")
    on: bool = setting("LOCKSTEP_ON", False, "a switch")


def test_a_value_that_cannot_be_used_is_told_with_its_name() -> None:
    for env, says in (
        ({"LOCKSTEP_NUMBER": "many"}, "LOCKSTEP_NUMBER='many': write a number"),
        ({"LOCKSTEP_COUNT": "2.5"}, "LOCKSTEP_COUNT='2.5': write a whole number"),
        ({"LOCKSTEP_ON": "maybe"}, "LOCKSTEP_ON='maybe': write 1 or 0"),
    ):
        with pytest.raises(SettingError, match=re.escape(says)):
            read_settings(Some, env)


def test_what_is_set_to_nothing_has_its_default_and_zero_is_a_value() -> None:
    some = read_settings(Some, {"LOCKSTEP_WORD": "", "LOCKSTEP_NUMBER": "0", "LOCKSTEP_ON": "off"})
    assert some == Some(None, 0.0, 3, False)
    assert [(row.env, row.value, row.default) for row in list_settings(some)] == [
        ("LOCKSTEP_WORD", "", ""),
        ("LOCKSTEP_NUMBER", "0.0", "2.0"),
        ("LOCKSTEP_COUNT", "3", "3"),
        ("LOCKSTEP_ON", "False", "False"),
    ]
