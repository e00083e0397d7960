"""`lockstep collect`: sources by name, or many from one file."""

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from collectors.command import add_arguments, run
from collectors.config_file import read_config
from collectors.source import SourceError
from collectors.sources import SOURCES
from tests.collectors.exporter import PAGE


def collect(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "infra.command.main", "collect", *words], capture_output=True, text=True, check=False
    )


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="lockstep collect")
    add_arguments(parser)
    return parser.parse_args(words)


def test_help_lists_every_source_and_imports_none_of_them() -> None:
    code = (
        "import sys; from infra.command.main import main\n"
        "try: main(['collect', '--help'])\n"
        "except SystemExit: pass\n"
        "heavy = ('confluent', 'prometheus', 'grpc', 'collectors.dcgm')\n"
        "print('LOADED', [m for m in sys.modules if m.startswith(heavy)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "LOADED []" in done.stdout
    assert all(f"    {name}" in done.stdout for name in SOURCES)


@pytest.mark.parametrize("words", [("--once", "dcgm", "--target", "a"), ("dcgm", "--once", "--target", "a")])
def test_once_stands_before_or_after_the_source(words: tuple[str, ...]) -> None:
    args = parsed(*words)
    assert (args.once, args.source, args.target, args.metrics_listen) == (True, "dcgm", ["a"], None)


def test_no_source_and_no_file_is_said() -> None:
    with pytest.raises(SourceError, match="name one source, or many with --config FILE"):
        run(parsed())


def test_once_prints_one_envelope_and_ends_well(tmp_path: Path) -> None:
    page = tmp_path / "a.prom"
    page.write_text(PAGE)
    done = collect("dcgm", "--target", str(page), "--once")
    assert (done.returncode, done.stdout.count("\n"), done.stderr) == (0, 1, "")
    assert done.stdout.startswith('{"topic":"gpu.scrapes.v1","key":"default/node-a","ts_us":')


def test_nothing_readable_ends_with_2_and_a_line(tmp_path: Path) -> None:
    done = collect("dcgm", "--target", str(tmp_path / "none.prom"), "--once")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"lockstep collect dcgm: --target {tmp_path}/none.prom: no such file\n"


def test_a_file_names_many_sources_once(tmp_path: Path) -> None:
    page = tmp_path / "a.prom"
    page.write_text(PAGE)
    config = tmp_path / "c.toml"
    config.write_text(f'[[dcgm]]\ntarget = "{page}"\ninterval = 5\n[[dcgm]]\ntarget = ["{tmp_path}/none.prom"]\n')
    done = collect("--config", str(config), "--once")
    assert (done.returncode, done.stdout.count("\n")) == (0, 1)
    assert done.stderr == f"lockstep collect dcgm: --target {tmp_path}/none.prom: no such file\n"


def test_options_of_a_table_are_those_of_the_command(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('[dcgm]\ntarget = ["a", "b"]\ninterval = 5\nnode = "n"\n')
    (dcgm,) = read_config(config)
    assert (dcgm.name, dcgm.args.target, dcgm.args.interval, dcgm.args.node) == ("dcgm", ["a", "b"], 5.0, "n")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", ": no source in it; write a table such as [dcgm]"),
        ("[dcgm", ": not TOML: "),
        ("[gpus]\n", ": [gpus]: no such source; there are dcgm, "),
        ("dcgm = 5\n", ": dcgm: write a table [dcgm] with the options as keys"),
        (
            "[dcgm]\ntargit = 'a'\n",
            ": [dcgm] targit: no such option; there are bearer-token-file, ca, cert, dns-server",
        ),
        ("[dcgm]\ninterval = 'soon'\n", ": [dcgm] interval: invalid seconds value: 'soon'"),
        ("[dcgm]\ninterval = -1\n", ": [dcgm] interval: '-1' is not a positive number of seconds"),
        ("[dcgm]\ntarget = true\n", ": [dcgm] target: write text or a number, not True"),
        ("[[dcgm]]\n[[dcgm]]\nonce = true\n", ": [[dcgm]] number 2 once: no such option"),
    ],
)
def test_a_mistake_names_the_file_the_table_and_the_key(tmp_path: Path, text: str, why: str) -> None:
    config = tmp_path / "c.toml"
    config.write_text(text)
    with pytest.raises(SourceError) as failure:
        read_config(config)
    assert str(failure.value).startswith(f"{config}{why}")
