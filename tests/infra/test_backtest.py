"""The past judged anew."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collectors.contract.message import Message
from collectors.contract.topic import Topic
from infra.backtest import Match, Tally, Told, begun_within, matched, tallies
from infra.command.main import main
from infra.fleet.scenario import parse
from infra.fleet.virtual import DEFAULT_START_US, messages
from streams.contract import FINDINGS, INCIDENTS, NODE_HEALTH
from streams.pipeline import Pipeline
from streams.ticks import EventClock
from warehouse import connect
from warehouse.loader import write
from warehouse.place import place_of
from warehouse.settings import WarehouseSettings, warehouse_settings

S = 1_000_000
HOT = """
seconds = 60
[fleet]
nodes = 2
switches = 0
[[jobs]]
name = "train"
nodes = ["node-01", "node-02"]
[[faults]]
kind = "thermal_throttle"
target = "node-01/0"
from_s = 20
size = 0.3
"""


def told(part: str, at_s: int, cause: str = "xid_79", severity: str = "critical", to_s: int | None = None) -> Told:
    end = None if to_s is None else to_s * S
    return Told(
        cluster="default",
        id=f"{part}/{at_s}",
        cause=cause,
        part=part,
        severity=severity,
        opened_us=at_s * S,
        cleared_us=end,
        jobs=[],
        summary="",
    )


def test_incidents_of_one_part_at_one_time_are_the_same_and_no_other() -> None:
    then = [told("gpu a", 100, to_s=200), told("gpu b", 100), told("gpu a", 5000)]
    now = [told("gpu a", 130, cause="gpu_lost", to_s=210), told("gpu c", 100)]
    assert [(m.then and m.then.id, m.now and m.now.id, m.word) for m in matched(then, now)] == [
        ("gpu b/100", None, "gone"),
        (None, "gpu c/100", "new"),
        ("gpu a/100", "gpu a/130", "another cause"),
        ("gpu a/5000", None, "gone"),
    ]


def test_a_ticket_that_was_a_page_pages_no_more() -> None:
    assert Match(told("gpu a", 1), told("gpu a", 1, severity="warning")).word == "pages no more"
    assert Match(told("gpu a", 1, severity="warning"), told("gpu a", 1)).word == "now pages"


def test_what_was_open_when_the_span_began_is_nobodys_doing() -> None:
    before, after = told("gpu a", 50, to_s=300), told("gpu a", 130, to_s=310)
    fresh = told("gpu b", 140)
    assert begun_within(matched([before], [after, fresh]), 100 * S) == [Match(None, fresh)]


def test_pages_and_tickets_are_counted_where_each_side_puts_them() -> None:
    found = matched(
        [told("gpu a", 1, cause="xid_79", to_s=9), told("gpu b", 1, severity="warning")],
        [told("gpu a", 2, cause="gpu_lost", to_s=9), told("gpu c", 1)],
    )
    assert tallies(found, lambda one: one.cause) == {
        "gpu_lost": Tally(pages_now=1),
        "xid_79": Tally(pages_then=1, tickets_then=1, pages_now=1, new=1, gone=1),
    }
    assert tallies(found, lambda one: "d")["d"] == Tally(
        pages_then=1, tickets_then=1, pages_now=2, tickets_now=0, new=1, gone=1
    )


@pytest.fixture
def past(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A warehouse with a minute of a throttled GPU and what was told of it."""
    monkeypatch.setenv("LOCKSTEP_STATE", str(tmp_path))
    warehouse_settings.cache_clear()
    settings = WarehouseSettings(state=str(tmp_path), threads=1)
    pipeline, clock = Pipeline(), EventClock()
    rows: dict[str, tuple[Topic[Any], list[Message]]] = {}
    for topic, message in messages(parse(HOT, "hot.toml", "hot")):
        out = [o for now_us in clock.advance(message.ts_us) for o in pipeline.tick(now_us)]
        for of, one in [(topic, message), *out, *pipeline.feed(topic, message)]:
            rows.setdefault(of.name, (of, []))[1].append(one)
    assert {FINDINGS.name, INCIDENTS.name, NODE_HEALTH.name} <= rows.keys()
    with connect(read_only=False, settings=settings) as lake:
        write(lake, list(rows.values()), place=place_of(settings))
    yield tmp_path
    warehouse_settings.cache_clear()


def ask(capsys: pytest.CaptureFixture[str], *more: str) -> str:
    from datetime import UTC, datetime

    start = datetime.fromtimestamp(DEFAULT_START_US / 1e6, UTC)
    span = ["--from", start.isoformat(), "--to", start.replace(minute=start.minute + 1).isoformat()]
    assert main(["backtest", *span, *more]) == 0
    return capsys.readouterr().out


def test_the_same_limits_tell_the_same(past: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ask(capsys, "--all")
    assert "the same" in out
    assert out.endswith("incidents: 1 then, 1 with these limits (1 the same); pages: 1 then, 1 with these limits\n")
    assert "; jobs: train\n" in out


def test_other_limits_tell_what_they_change(past: Path, capsys: pytest.CaptureFixture[str]) -> None:
    limits = past / "limits.toml"
    limits.write_text("[throttle]\non = false\n[straggler]\non = false\n")
    out = ask(capsys, "--config", str(limits))
    assert "gone" in out
    first, _, head, by_cause, _, _, by_day, _, _ = out.splitlines()
    assert "  gone (page)  " in first
    assert head.split() == ["cause", "pages", "then", "now", "tickets", "then", "now", "new", "gone"]
    assert by_cause.split() == ["thermal_throttle", "1", "0", "0", "0", "0", "1"]
    assert by_day.split() == ["2026-09-21", "1", "0", "0", "0", "0", "1"]
    assert "pages: 1 then, 0 with these limits" in out


def test_a_time_that_is_none_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backtest", "--from", "yesterday", "--to", "2026-01-01"]) == 2
    assert "--from yesterday" in capsys.readouterr().err
    assert main(["backtest", "--from", "2026-01-02", "--to", "2026-01-01"]) == 2
    assert "is not after" in capsys.readouterr().err


def test_a_time_of_which_the_warehouse_has_nothing_is_named_with_what_it_has(
    past: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["backtest", "--from", "2026-10-01", "--to", "2026-10-02"]) == 2
    assert "it goes from 2026-09-21T14:13:20+00:00 to 2026-09-21T14:14:" in capsys.readouterr().err


def test_a_program_gets_the_counts_by_cause_and_day(past: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (incident, totals) = map(json.loads, ask(capsys, "--json").splitlines())
    assert (incident["verdict"], incident["then"]["cause"]) == ("the same", "thermal_throttle")
    assert totals["totals"] == {"the same": 1}
    assert totals["causes"]["thermal_throttle"] == totals["days"]["2026-09-21"]
    assert totals["causes"]["thermal_throttle"]["pages_now"] == 1
