"""Workers that die and a broker that goes away: no finding lost, none doubled, no false silence, one page."""

import json
import signal
import time
from threading import Thread

import pytest

from infra.kafka.local import restart, stop
from streams.contract import FINDINGS, INCIDENTS, Finding
from streams.pipeline import Pipeline
from streams.replay import replay
from tests.integration.stream_line import edges, findings_settle, line, paced, story

pytestmark = pytest.mark.kafka


def test_a_worker_killed_again_and_again_loses_and_doubles_nothing() -> None:
    with line() as live:
        messages = story(time.time_ns() // 1000 + 8_000_000, nodes=12, seconds=60)
        expected = [m for _, m in replay(messages, Pipeline()) if isinstance(m, Finding)]
        source = Thread(target=paced, args=(messages, live.produce))
        with live.worker():
            live.ready()
            source.start()
            time.sleep(14)  # into the XIDs and remap failures
        for life_s in (18, 17):
            with live.worker():
                time.sleep(life_s)
        with live.worker() as worker:
            found = findings_settle(live, len(expected))
            source.join()
            assert edges(found) == edges(expected)
            incidents = live.read(INCIDENTS)
            opened = [i.id for i in incidents if i.state == "opened"]
            assert sorted(opened) == sorted(set(opened))
            worker.send_signal(signal.SIGTERM)
            assert worker.wait(30) == 0
        rows = [json.loads(row) for row in (live.state / "alerts.jsonl").read_text().splitlines()]
        pages = [r["labels"]["incident"] for r in rows if r["page"] and r["state"] == "firing"]
        assert sorted(pages) == sorted(set(pages))
        assert {i.id for i in incidents if i.severity == "critical"} == set(pages)


def test_a_broker_that_is_away_for_twenty_seconds_makes_no_false_silence() -> None:
    with line() as live, live.worker() as worker:
        live.ready()
        start = time.time_ns() // 1000
        messages = story(start, nodes=4, seconds=70)
        half = next(i for i, (_, m) in enumerate(messages) if m.ts_us >= start + 15_000_000)
        paced(messages[:half], live.produce)
        stop(live.broker.folder)
        time.sleep(20)
        restart(live.broker)
        # The collectors find the broker again a little later and send what they spooled.
        time.sleep(8)
        paced(messages[half:], live.produce)
        expected = [m for _, m in replay(messages, Pipeline()) if isinstance(m, Finding)]
        found = findings_settle(live, len(expected))
        assert edges(found) == edges(expected)
        assert worker.poll() is None
        assert live.read(FINDINGS) == found
