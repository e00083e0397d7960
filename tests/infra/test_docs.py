"""The commands, files and links that the documentation shows are ones that there are."""

import re
import shlex
from pathlib import Path

import pytest

from collectors.config_file import read_config
from collectors.sources import SOURCES
from infra.command.main import COMMANDS, parser_for

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
_COMMAND = re.compile(r"""(?:^|[;|`($])\s*(lockstep [a-z](?:'[^'\n]*'|"[^"\n]*"|[^`\n;|>)'"])*)""", re.MULTILINE)
_LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]+))?\)")
NVIDIA_SMI_SECTIONS = frozenset(
    [
        "MEMORY",
        "UTILIZATION",
        "ECC",
        "TEMPERATURE",
        "POWER",
        "CLOCK",
        "COMPUTE",
        "PIDS",
        "PERFORMANCE",
        "SUPPORTED_CLOCKS",
        "PAGE_RETIREMENT",
        "ACCOUNTING",
        "ENCODER_STATS",
        "SUPPORTED_GPU_TARGET_TEMP",
        "VOLTAGE",
        "FBC_STATS",
        "ROW_REMAPPER",
        "RESET_STATUS",
        "GSP_FIRMWARE_VERSION",
        "POWER_SMOOTHING",
        "POWER_PROFILES",
    ]
)
"""What `nvidia-smi -q -d` takes (its manual)."""


def commands() -> list[tuple[str, str]]:
    """(page, command) of every `lockstep ...` in the documentation, continued lines joined."""
    out = []
    for page in PAGES:
        text = re.sub(r"\\\n\s*", " ", page.read_text())
        out += [(page.name, found.strip()) for found in _COMMAND.findall(text)]
    return out


def words(command: str) -> list[str]:
    """As a shell parts them, without the comment; options in prose end at the first word that is none."""
    return shlex.split(command, comments=True)[1:]


SHOWN = [
    (page, command)
    for page, command in commands()
    if not words(command)[1:2] or not words(command)[1].endswith(":")  # a line that it printed
]
WHOLE = [(page, command) for page, command in SHOWN if len(words(command)) > 1 + words(command).count("collect")]
"""With options or arguments. The others speak of a command, or of a source, by its name alone."""


def test_there_are_commands_to_look_at() -> None:
    assert len(WHOLE) > 80
    collected = {word for _, command in SHOWN for word in words(command)[:3] if words(command)[0] == "collect"}
    assert set(SOURCES) - collected == set()


def test_every_command_that_is_spoken_of_exists() -> None:
    assert [(page, command) for page, command in SHOWN if words(command)[0] not in COMMANDS] == []


@pytest.mark.parametrize(("page", "command"), WHOLE, ids=[f"{page}:{command[9:60]}" for page, command in WHOLE])
def test_a_command_that_is_shown_is_one_that_is_taken(
    page: str, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name, *rest = words(command)
    try:
        parser_for(name).parse_args(rest)
    except SystemExit as ended:
        assert ended.code == 0, f"{page}: {command}\n{capsys.readouterr().err}"


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_a_link_leads_to_a_page_that_is_there(page: Path) -> None:
    for path, heading in _LINK.findall(page.read_text()):
        if "://" in path:
            continue
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), f"{page.name}: {path}"
        if heading:
            assert heading in headings(there), f"{page.name}: {path}#{heading}"


def headings(page: Path) -> set[str]:
    """Of a page, as they are linked to."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_nvidia_smi_is_asked_for_sections_that_it_has() -> None:
    asked = {
        (page.name, section)
        for page in PAGES
        for found in re.findall(r"nvidia-smi [^`\n]*-d ([A-Z_,]+)", page.read_text())
        for section in found.split(",")
    }
    assert len(asked) > 20
    assert {(page, section) for page, section in asked if section not in NVIDIA_SMI_SECTIONS} == set()


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
