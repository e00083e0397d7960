"""What people say of incidents, by the commands and the real Kafka: seen, muted, planned work; and over a restart."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from streams.contract import INCIDENTS, Incident
from tests.integration.stream_line import Line, line, paced, story, wait_until

S = 1_000_000


def say(stream: Line, *words: str) -> "subprocess.CompletedProcess[str]":
    """One command of ours as its user runs it."""
    return subprocess.run(
        [sys.executable, "-m", "infra.command.main", *words],
        env={**stream.environment, "USER": "ann"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def last(stream: Line, id_: str) -> Incident:
    incident: Incident = [i for i in stream.read(INCIDENTS) if i.id == id_][-1]
    return incident


def until(stream: Line, id_: str, true: Callable[[Incident], bool]) -> Incident:
    wait_until(lambda: true(last(stream, id_)), lambda: (last(stream, id_), stream.log()))
    return last(stream, id_)


@pytest.mark.kafka
def test_an_incident_is_seen_muted_and_told_again_and_all_of_it_survives_a_restart() -> None:
    with line() as stream:
        with stream.worker():
            stream.ready()
            start = time.time_ns() // 1000
            paced(story(start, 3, 12), stream.produce)
            wait_until(lambda: any(i.cause_word == "xid_79" for i in stream.read(INCIDENTS)), stream.log)
            id_ = next(i.id for i in stream.read(INCIDENTS) if i.cause_word == "xid_79")

            listed = say(stream, "incidents")
            assert listed.returncode == 0, listed.stderr
            assert "xid_79" in listed.stdout and id_ in listed.stdout and "\x1b[" not in listed.stdout
            told = json.loads(say(stream, "incidents", id_, "--json").stdout)
            assert [(i["id"], i["acked_by"]) for i in told] == [(id_, None)]

            assert say(stream, "ack", id_[:9], "--why", "on it").returncode == 0
            assert until(stream, id_, lambda i: i.acked_by == "ann").state == "updated"
            assert say(stream, "mute", "--cause", "xid_79", "--for", "2h", "--by", "bob").returncode == 0
            assert until(stream, id_, lambda i: i.muted_until_us is not None).muted_by == "bob"
        with stream.worker():
            stream.ready(2)
            assert say(stream, "unmute", "--cause", "xid_79").returncode == 0
            after = until(stream, id_, lambda i: i.muted_until_us is None)
            assert after.acked_by == "ann"
            edges = [i.state for i in stream.read(INCIDENTS) if i.id == id_]
            assert edges.count("opened") == 1
            wrong = say(stream, "ack", "inc-none")
            assert wrong.returncode == 2
            assert "no such incident; there is" in wrong.stderr and id_ in wrong.stderr
            assert "nothing is muted so" in say(stream, "unmute", "--cause", "xid_79").stderr
            planned = say(stream, "maintenance", "node:n99", "--for", "1h", "--why", "fans")
            assert planned.returncode == 0 and "no node n99 has reported" in planned.stderr
            assert "node:n99" in say(stream, "maintenance").stdout
            assert say(stream, "maintenance", "node:n99", "--end").returncode == 0
            assert say(stream, "maintenance").stdout == "no planned work\n"


@pytest.mark.kafka
def test_without_kafka_the_command_says_so_in_one_line(tmp_path: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "infra.command.main", "incidents"],
        env={"PATH": "/usr/bin:/bin", "LOCKSTEP_KAFKA": "localhost:1", "LOCKSTEP_STATE": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert said.returncode == 2
    assert said.stderr.startswith("lockstep incidents: Kafka at localhost:1 does not answer")
    assert said.stderr.count("\n") == 1
