"""How the test servers of other projects are built."""

import re
import stat
from pathlib import Path

import pytest

from collectors.contract.errors import UserError
from infra.peers import build


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IEXEC)
    return path


@pytest.mark.parametrize(
    ("said", "version"),
    [("go version go1.26.8 linux/amd64", (1, 26)), ("go version go1.9 x", (1, 9)), ("", (0, 0)), ("gopher", (0, 0))],
)
def test_the_version_of_a_go_is_read(said: str, version: tuple[int, int]) -> None:
    assert build.version(said) == version


def test_a_go_of_the_path_is_taken_where_it_is_new_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = program(tmp_path, "go", "#!/bin/sh\necho go version go1.99.0 linux/amd64\n")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert build.go(tmp_path / "state") == go


def test_what_is_built_is_kept_by_the_sums_of_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counting = '#!/bin/sh\n[ "$1" = version ] && { echo go version go1.99.0; exit; }\necho x >> "$0.runs"\n'
    go = program(tmp_path, "go", counting + 'while [ "$1" != -o ]; do shift; done\necho built > "$2"\n')
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    first, second = build.fake_server(tmp_path / "state"), build.fake_server(tmp_path / "state")
    assert (first, first.read_text()) == (second, "built\n")
    assert re.fullmatch(r"fake_server-[0-9a-f]{12}", first.name)
    assert (go.parent / "go.runs").read_text() == "x\n"


def test_a_build_that_fails_says_why_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = (
        '#!/bin/sh\n[ "$1" = version ] && { echo go version go1.99.0; exit; }\necho checksum mismatch >&2; exit 1\n'
    )
    program(tmp_path, "go", failing)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(UserError, match="checksum mismatch"):
        build.fake_server(tmp_path / "state")
    assert [path.name for path in (tmp_path / "state" / "peers").iterdir()] == ["lock"]


def test_every_module_is_pinned_by_its_sum() -> None:
    sums = (build.HERE / "go.sum").read_text()
    for line in (build.HERE / "go.mod").read_text().splitlines():
        if found := re.match(r"(?:require )?\s*([\w./-]+\.[\w./-]+) (v\S+)", line):
            assert f"{found[1]} {found[2]} h1:" in sums, line
    assert (build.HERE / "go.requirements").read_text().count("--hash=sha256:") == 2
