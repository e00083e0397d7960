"""`lockstep stream` against the real broker: the live path, replay of what it read, orderly end."""

import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from collectors.contract.envelope import write
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import COLLECTOR_TOPICS
from infra.kafka.local import running_kafka
from streams.contract import INCIDENTS, NODE_HEALTH, Finding
from streams.pipeline import Pipeline
from streams.replay import Recording, replay
from tests.integration.stream_line import Line, edges, findings_settle, line, paced, story, wait_until

pytestmark = pytest.mark.kafka


def recorded(of: Line, to: Path) -> Path:
    """All that the collectors' topics hold, as envelopes, as `kcat` would have them: by topic and partition."""
    with to.open("wb") as file:
        for topic in COLLECTOR_TOPICS:
            for message in of.read(topic):
                file.write(write(topic, message) + b"\n")
    return to


def findings_of(messages: Iterable[tuple[Topic[Any], Message]]) -> list[Finding]:
    """What replay makes of messages."""
    return [m for _, m in replay(messages, Pipeline()) if isinstance(m, Finding)]


def test_a_recorded_minute_replays_to_the_findings_of_the_live_topics() -> None:
    with line() as live, live.worker() as worker:
        live.ready()
        messages = story(time.time_ns() // 1000, nodes=4, seconds=40)
        paced(messages, live.produce)
        found = findings_settle(live, len(findings_of(messages)))
        with recorded(live, live.state / "minute.jsonl").open("rb") as lines:
            assert edges(findings_of(Recording([("minute", lines)]).messages())) == edges(found)
        assert {f.detector for f in found} >= {"memory", "xid", "straggler"}

        told = {i.cause_word: i for i in live.read(INCIDENTS)}
        assert told["xid_79"].gpus == ["GPU-2-2"]
        assert {h.node for h in live.read(NODE_HEALTH)} == {"n0", "n1", "n2", "n3"}
        assert [h.schedulable for h in live.read(NODE_HEALTH) if h.node == "n2"][-1] is False

        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0
        assert "Traceback" not in live.log()


def test_two_workers_share_the_partitions_and_say_everything_once() -> None:
    with line() as live, live.worker("--workers", "2") as workers:
        live.ready(2)
        messages = story(time.time_ns() // 1000, nodes=12, seconds=30)
        paced(messages, live.produce)
        expected = findings_of(messages)
        assert edges(findings_settle(live, len(expected))) == edges(expected)
        workers.send_signal(signal.SIGTERM)
        assert workers.wait(40) == 0
        assert "Traceback" not in live.log()


def test_metrics_are_served_on_loopback() -> None:
    with line() as live, live.worker():
        live.ready()
        live.produce(story(time.time_ns() // 1000, nodes=2, seconds=3, faults=False))
        url = live.log().split("metrics at ")[1].split()[0]
        assert url.startswith("http://127.0.0.1:")

        def page() -> str:
            with urllib.request.urlopen(url) as reply:
                return str(reply.read().decode())

        wait_until(lambda: 'lockstep_stream_messages_total{topic="gpu.scrapes.v1"} 6.0' in page(), page)


def test_missing_topics_are_said_in_one_line_with_what_to_do(tmp_path: Path) -> None:
    with running_kafka() as broker:
        done = subprocess.run(
            [sys.executable, "-m", "infra.command.main", "stream"],
            env={"LOCKSTEP_STATE": str(tmp_path), "LOCKSTEP_KAFKA": broker.bootstrap},
            capture_output=True,
            timeout=60,
            check=False,
            text=True,
        )
    assert done.returncode == 2
    assert "run `lockstep topics`" in done.stderr
    assert "Traceback" not in done.stderr
