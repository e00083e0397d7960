"""`lockstep collect check`: one table over every source, and a source that hangs or breaks is a line in it."""

import argparse
import io
import threading
from pathlib import Path

import pytest

from collectors.check import look, look_at_all, plain, run_check
from collectors.command import add_arguments, run
from collectors.config_file import Configured
from collectors.source import Sight, SourceError
from collectors.sources import SOURCES, load
from tests.collectors.exporter import PAGE

ANY = Configured("dcgm", argparse.Namespace())
FINE = Sight("a", True, "8 GPUs")
LACKING = Sight("b", False, "8 GPUs", "throttle reasons (112)", "add field 112 to the counters file")


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="lockstep collect")
    add_arguments(parser)
    return parser.parse_args(words)


def test_every_source_can_be_checked() -> None:
    assert [name for name in SOURCES if not callable(getattr(load(name), "check", None))] == []


def test_a_source_that_hangs_is_a_line_and_hides_nothing() -> None:
    never = threading.Event()

    def look_or_hang(source: Configured) -> list[Sight]:
        if source.name == "gnmi":
            never.wait()
        return [FINE]

    wanted = [Configured("gnmi", argparse.Namespace()), ANY]
    found = dict(look_at_all(wanted, look_or_hang, limit_s=0.2))
    never.set()
    assert found[1] == [FINE]
    assert (found[0][0].ok, found[0][0].lacks) == (False, "no answer within 0 s")


def test_a_mistake_in_the_options_is_a_line(tmp_path: Path) -> None:
    (sight,) = look(Configured("links", argparse.Namespace(file=tmp_path / "none.csv", instance=None)))
    assert (sight.ok, "none.csv" in sight.lacks) == (False, True)


def test_plain_lines_name_source_target_and_what_to_do() -> None:
    assert list(plain([("dcgm", [FINE, LACKING])])) == [
        "ok    dcgm a: 8 GPUs",
        "LACKS dcgm b: 8 GPUs; lacks throttle reasons (112); do: add field 112 to the counters file",
    ]


def test_the_exit_status_says_whether_anything_is_lacking(tmp_path: Path) -> None:
    page = tmp_path / "a.prom"
    page.write_text(PAGE)
    cables = tmp_path / "cables.csv"
    cables.write_text("device,port,far_device\nleaf1,Ethernet1,node-a\n")
    out = io.StringIO()
    good = run_check([Configured("links", parsed("check", "links", "--file", str(cables)))], out)
    assert (good, out.getvalue().splitlines()[-1]) == (0, "all 1 as they should be"), out.getvalue()
    out = io.StringIO()
    bad = run_check([Configured("links", parsed("check", "links", "--file", str(tmp_path / "none")))], out)
    assert (bad, out.getvalue().splitlines()[-1]) == (1, "0 of 1 as they should be")


def test_check_takes_a_config_or_one_source(tmp_path: Path) -> None:
    args = parsed("check", "links", "--file", "x.csv")
    assert (args.checking, args.source, args.config) == (True, "links", None)
    args = parsed("check", "--config", "c.toml")
    assert (args.checking, args.source, args.config) == (True, None, Path("c.toml"))
    assert parsed("links", "--file", "x.csv").checking is False
    with pytest.raises(SourceError, match="name one source"):
        run(parsed("check"))
