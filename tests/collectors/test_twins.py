"""Several tables of one source in one file."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from collectors.config_file import Configured, read_config
from collectors.contract.kafka import kafka_settings
from collectors.source import SourceError
from collectors.sources import load
from tests.collectors.list_outlet import ListOutlet

KERNEL = "[[kernel]]\nfollow = true\ninterval = 0.05\nfile = "


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("LOCKSTEP_STATE", str(tmp_path / "state"))
    kafka_settings.cache_clear()
    yield tmp_path / "state"
    kafka_settings.cache_clear()


def configured(folder: Path, text: str) -> list[Configured]:
    file = folder / "c.toml"
    file.write_text(text)
    return read_config(file)


def instances(folder: Path, text: str) -> list[str | None]:
    return [source.args.instance for source in configured(folder, text)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("[dcgm]\ntarget = 'a'\n[kernel]\n", [None, None]),
        ("[[dcgm]]\ntarget = 'a'\n[[dcgm]]\ntarget = 'b'\n[[dcgm]]\ntarget = 'c'\n", [None, "2", "3"]),
        ("[[dcgm]]\ntarget = 'a'\ninstance = '2'\n[[dcgm]]\ntarget = 'b'\n[[dcgm]]\ntarget = 'c'\n", ["2", None, "3"]),
        ("[[dcgm]]\ntarget = 'a'\n[[dcgm]]\ntarget = 'b'\n[[dcgm]]\ntarget = 'c'\ninstance = '2'\n", [None, "3", "2"]),
        (
            "[[training-log]]\nfile = 'a'\njob = 'x'\n[[training-log]]\nfile = 'b'\njob = 'y'\n"
            "[[training-log]]\nfile = 'c'\njob = 'x'\n",
            [None, None, "x-3"],
        ),
    ],
)
def test_tables_of_one_source_have_names_of_their_own(tmp_path: Path, text: str, wanted: list[str | None]) -> None:
    assert instances(tmp_path, text) == wanted


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "[[dcgm]]\ntarget = 'a'\ninstance = 'x'\n[[dcgm]]\ntarget = 'b'\ninstance = 'x'\n",
            "[[dcgm]] number 2 instance: number 1 has 'x' too; each needs a name of its own",
        ),
        (
            "[[dcgm]]\ntarget = 'a'\ninterval = 5\n[[dcgm]]\ntarget = 'a'\ninterval = 9\ninstance = 'y'\n",
            "[[dcgm]] number 2: reads what number 1 reads; take one of them away",
        ),
        (
            "[[kernel]]\nfile = 'k.log'\nfollow = true\nnode = 'a'\n[[kernel]]\nfile = './k.log'\nnode = 'b'\n",
            "[[kernel]] number 2: reads what number 1 reads; take one of them away",
        ),
        ("[[kernel]]\n[[kernel]]\n", "[[kernel]] number 2: reads what number 1 reads; take one of them away"),
        (
            "[dcgm]\ntarget = 'a'\ninstance = 'a/b'\n",
            "[dcgm] instance: 'a/b' cannot be a name: write one word without a slash",
        ),
        (
            "[dcgm]\ntarget = 'a'\ninstance = ''\n",
            "[dcgm] instance: '' cannot be a name: write one word without a slash",
        ),
    ],
)
def test_tables_that_would_be_taken_for_one_another_are_refused(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(SourceError) as refused:
        configured(tmp_path, text)
    assert str(refused.value) == f"{tmp_path / 'c.toml'}: {why}"


def test_two_logs_of_one_process_have_beats_and_cursors_of_their_own(tmp_path: Path, state: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text("a line\n")
    sources = configured(tmp_path, f"{KERNEL}'{tmp_path}/a'\n{KERNEL}'{tmp_path}/b'\n")
    outlet = ListOutlet()

    async def run() -> None:
        running = [asyncio.create_task(load(one.name).serve(one.args, outlet)) for one in sources]
        while len({beat.collector for beat in outlet.beats if beat.samples}) < 2:
            await asyncio.sleep(0.01)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    asyncio.run(asyncio.wait_for(run(), 30))
    told = {(beat.collector.partition("@")[0], beat.collector.partition(":")[2], beat.target) for beat in outlet.beats}
    assert told == {("kernel", "", f"{tmp_path}/a"), ("kernel", "2", f"{tmp_path}/b")}
    assert len(list((state / "cursors").glob("kernel-*.json"))) == 2
