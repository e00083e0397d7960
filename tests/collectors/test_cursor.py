"""Where a restart goes on."""

from pathlib import Path

import pytest

from collectors.cursor import CursorFile
from collectors.source import SourceError


def test_a_value_is_written_once_its_messages_are_safe(tmp_path: Path) -> None:
    now = [0.0]
    file = CursorFile(tmp_path / "deep" / "c.json", int, settle_s=3.0, now_s=lambda: now[0])
    file.stage(1)
    assert file.load() is None
    now[0] = 2.0
    file.stage(2)
    now[0] = 3.5
    file.settle()
    assert file.load() == 1
    now[0] = 9.0
    file.settle()
    assert file.load() == 2


def test_a_clean_stop_writes_the_last_value(tmp_path: Path) -> None:
    file = CursorFile(tmp_path / "c.json", int, settle_s=3.0)
    file.stage(1)
    file.stage(2)
    file.close()
    assert file.load() == 2


def test_a_broken_cursor_is_said(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text("{")
    with pytest.raises(SourceError, match=r"c\.json: not a cursor"):
        CursorFile(path, int, settle_s=0.0).load()


def test_a_disk_that_takes_nothing_ends_no_source_and_the_value_is_written_when_it_does(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    now, folder = [0.0], tmp_path / "folder"
    folder.write_text("a file where the folder should be")
    file = CursorFile(folder / "c.json", int, settle_s=1.0, now_s=lambda: now[0])
    for value in range(10):
        now[0] += 2.0
        file.stage(value)
    file.settle()
    assert [record.getMessage().split(": ")[1].split("; ")[0] for record in caplog.records] == ["File exists"]
    folder.unlink()
    now[0] += 2.0
    file.settle()
    assert file.load() == 9
