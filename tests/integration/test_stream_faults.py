"""Faults of every plane that end again, through workers that die and a broker that goes away: each told once."""

import json
import time
from pathlib import Path
from threading import Thread

import pytest

from infra.kafka.local import restart, stop
from streams.contract import FINDINGS, INCIDENTS, Finding, Incident
from streams.limits import load
from streams.pipeline import Pipeline
from streams.replay import replay
from tests.integration.stream_faults import faults, limits_file
from tests.integration.stream_line import Line, line, paced, wait_until

pytestmark = pytest.mark.kafka

SECONDS = 100
PLANES = {"memory", "xid", "gpu_lost", "gpu_link", "link_quality", "comm"}


def expected(messages: list[object], limits: str) -> tuple[list[Finding], dict[tuple[str, str], str]]:
    """Findings of the detectors, and (cause, subject) -> last state of the incidents, as replay has them."""
    out = [m for _, m in replay(messages, Pipeline(choices=load(Path(limits))))]  # type: ignore[arg-type]
    return _judged([m for m in out if isinstance(m, Finding)]), _standing([m for m in out if isinstance(m, Incident)])


def _judged(findings: list[Finding]) -> list[Finding]:
    """Beginnings and ends. How often a finding is updated depends on which topic came first; the rhythm of ticks
    decides what the correlator adds."""
    return [f for f in findings if f.detector in PLANES and f.state != "updated"]


def _standing(incidents: list[Incident]) -> dict[tuple[str, str], str]:
    last = {i.id: i for i in incidents}
    return {(i.cause_word, i.subject.id): "cleared" if i.state == "cleared" else "open" for i in last.values()}


def settled(live: Line, found: list[Finding], patience_s: float = 60.0, late_s: int = 30) -> None:
    """The detectors said what replay has them say and no more; each topic arrives by itself, so sooner or later."""

    def told() -> list[Finding]:
        return _judged(live.read(FINDINGS))

    wait_until(
        lambda: len(told()) >= len(found), lambda: (len(found), sorted(map(_edge, told())), live.log()), patience_s
    )
    expected, seen = sorted(map(_edge, found)), sorted(map(_edge, told()))
    assert [edge[:-1] for edge in seen] == [edge[:-1] for edge in expected]
    late = {edge[:-1]: edge[-1] - was[-1] for edge, was in zip(seen, expected, strict=True)}
    assert all(-1 <= seconds <= (late_s if state == "cleared" else 1) for (_, _, _, state), seconds in late.items()), (
        late
    )


def _edge(finding: Finding) -> tuple[str, str, str, str, float]:
    return (finding.detector, finding.subject.id, finding.cause, finding.state, finding.ts_us / 1e6)


def told_once(live: Line) -> None:
    """Every incident opened once, cleared at most once, and paged once with one end."""
    incidents = live.read(INCIDENTS)
    for state in ("opened", "cleared"):
        edges_ = [i.id for i in incidents if i.state == state]
        assert sorted(edges_) == sorted(set(edges_))
    rows = [json.loads(row) for row in (live.state / "alerts.jsonl").read_text().splitlines()]
    for state in ("firing", "resolved"):
        told = [r["labels"]["incident"] for r in rows if r["page"] and r["state"] == state]
        assert sorted(told) == sorted(set(told))
    paged = {r["labels"]["incident"] for r in rows if r["page"] and r["state"] == "firing"}
    assert paged == {i.id for i in incidents if i.severity == "critical"}
    ended = {r["labels"]["incident"] for r in rows if r["page"] and r["state"] == "resolved"}
    assert ended == {i.id for i in incidents if i.severity == "critical" and i.state == "cleared"}


def test_two_workers_killed_in_turn_while_incidents_are_open_page_once_and_lose_no_end(tmp_path: Path) -> None:
    limits = limits_file(tmp_path)
    with line(LOCKSTEP_DETECTORS=limits) as live:
        messages = faults(time.time_ns() // 1000 + 15_000_000, SECONDS)
        found, standing = expected(list(messages), limits)
        assert {f.detector for f in found} == PLANES
        source = Thread(target=paced, args=(messages, live.produce))
        with live.worker():
            with live.worker():
                live.ready(2)
                source.start()
                time.sleep(15 + 26)  # the faults stand, one worker dies
            time.sleep(16)  # the other takes over
            with live.worker():
                live.ready(3)
                time.sleep(2)
        with live.worker(), live.worker():  # both died while clears were on their way
            source.join()
            settled(live, found)
            wait_until(lambda: _standing(live.read(INCIDENTS)) == standing, lambda: _standing(live.read(INCIDENTS)))
            time.sleep(3)
            told_once(live)
        assert "Traceback" not in live.log()


@pytest.mark.parametrize("away_s", [20, pytest.param(300, marks=[pytest.mark.soak, pytest.mark.timeout(1500)])])
def test_a_broker_that_goes_away_while_incidents_are_open_changes_nothing(tmp_path: Path, away_s: int) -> None:
    limits = limits_file(tmp_path)
    with line(LOCKSTEP_DETECTORS=limits) as live, live.worker() as worker:
        live.ready()
        start = time.time_ns() // 1000
        messages = faults(start, SECONDS, calm_s=20 + 2 * away_s + away_s // 5)
        found, standing = expected(list(messages), limits)
        half = next(i for i, (_, m) in enumerate(messages) if m.ts_us >= start + 30_000_000)
        paced(messages[:half], live.produce)
        stop(live.broker.folder)
        time.sleep(away_s)
        restart(live.broker)
        time.sleep(8)  # the collectors find it a little later and send what they spooled
        source = Thread(target=paced, args=(messages[half:], live.produce))
        source.start()
        settled(live, found, 60.0 + away_s)
        wait_until(
            lambda: _standing(live.read(INCIDENTS)) == standing,
            lambda: _standing(live.read(INCIDENTS)),
            patience_s=60.0 + 2 * away_s,
        )
        source.join()
        told_once(live)
        assert {i.detector for i in live.read(INCIDENTS)} <= PLANES | {"health"}
        assert worker.poll() is None
