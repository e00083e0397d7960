"""`lockstep load --from-files`."""

import subprocess
import sys
from pathlib import Path

from collectors.contract import envelope
from collectors.contract.topics import GPU_SCRAPES
from tests.warehouse.messages import gpu_scrape, one_of_each
from warehouse.opening import connect
from warehouse.settings import WarehouseSettings


def load(state: Path, *words: str, given: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    return subprocess.run(
        [sys.executable, "-m", "infra.command.main", "load", *words],
        env={"PATH": "/usr/bin:/bin", "LOCKSTEP_STATE": str(state)},
        input=given,
        capture_output=True,
        check=False,
    )


def test_envelopes_are_loaded_and_bad_lines_are_told_and_kept(tmp_path: Path) -> None:
    lines = [envelope.write(topic, message) for topic, message in one_of_each()]
    unfit = envelope.write(GPU_SCRAPES, gpu_scrape(columns={"100": [1.0]}))
    (tmp_path / "a.jsonl").write_bytes(b"\n".join([*lines, b"not an envelope", unfit]))
    done = load(tmp_path, "--from-files", str(tmp_path / "a.jsonl"), "-", given=lines[0])
    assert done.returncode == 0, done.stderr
    told = done.stderr.decode()
    assert "a.jsonl:16: not an envelope" in told
    assert "16 messages loaded, 2 bad lines" in told
    with connect(settings=WarehouseSettings(state=str(tmp_path))) as reader:
        assert reader.execute("select count(*) from gpu_health").fetchall() == [(4,)]
        bad = reader.execute("select count(*) + sum(unreported) from rejected where source like '%a.jsonl'")
        assert bad.fetchall() == [(2,)]


def test_a_file_that_is_not_there_is_a_mistake_of_one_line(tmp_path: Path) -> None:
    done = load(tmp_path, "--from-files", "nowhere.jsonl")
    assert (done.returncode, done.stderr.decode()) == (
        2,
        "lockstep load: nowhere.jsonl: No such file or directory\n",
    )


def test_a_file_without_one_good_line_is_a_failure(tmp_path: Path) -> None:
    assert load(tmp_path, "--from-files", "-", given=b"nothing\n").returncode == 2
