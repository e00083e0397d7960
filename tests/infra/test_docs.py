"""The commands and files that the documentation shows are ones that the product takes."""

import argparse
import re
import shlex
from pathlib import Path

import pytest

from collectors.command import add_arguments
from collectors.config_file import read_config
from collectors.sources import SOURCES

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
_COMMAND = re.compile(r"(?:^|[;|`(])\s*(lockstep collect\b[^`\n;|>]*)", re.MULTILINE)


def commands() -> list[tuple[str, str]]:
    """(page, command) of every `lockstep collect ...` in the documentation, continued lines joined."""
    out = []
    for page in PAGES:
        text = re.sub(r"\\\n\s*", " ", page.read_text())
        out += [(page.name, found.strip()) for found in _COMMAND.findall(text)]
    return out


def words(command: str) -> list[str]:
    """As a shell parts them, without the comment; options in prose end at the first word that is none."""
    return shlex.split(command, comments=True)[2:]


COMMANDS = [
    (page, command)
    for page, command in commands()
    if len(words(command)) > 1 and not words(command)[0].endswith(":")  # a line that it printed
]


def test_there_are_commands_to_look_at() -> None:
    assert len(COMMANDS) > 40
    shown = {word for _, command in COMMANDS for word in words(command)[:2]}
    assert set(SOURCES) - shown == set()


@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=[f"{page}:{command[17:60]}" for page, command in COMMANDS])
def test_a_command_that_is_shown_is_one_that_is_taken(
    page: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser(prog="lockstep collect")
    add_arguments(parser)
    try:
        parser.parse_args(words(command))
    except SystemExit as ended:
        assert ended.code == 0, f"{page}: {command}\n{capsys.readouterr().err}"


def test_the_files_that_are_shown_are_read(tmp_path: Path) -> None:
    blocks = [
        block
        for block in re.findall(r"```toml\n(.*?)```", (ROOT / "docs" / "sources.md").read_text(), re.DOTALL)
        if re.search(rf"^\[+(?:{'|'.join(SOURCES)})\]", block, re.MULTILINE)
    ]
    assert blocks
    for block in blocks:
        file = tmp_path / "collectors.toml"
        file.write_text(block)
        assert read_config(file)


def test_every_source_has_its_section() -> None:
    headings = re.findall(r"^## ([\w-]+): ", (ROOT / "docs" / "sources.md").read_text(), re.MULTILINE)
    assert sorted(headings) == sorted(SOURCES)
