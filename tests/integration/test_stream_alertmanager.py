"""Alerts into the real Alertmanager with the configuration of this repository."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from msgspec import structs

from infra.kafka.process import free_port
from streams.alert_labels import Links
from streams.alertmanager import Alertmanager
from streams.alerts import AlertBook
from streams.contract import INCIDENTS, Subject
from streams.posting import Poster
from tests.integration.stream_line import line, story, wait_until
from tests.streams.test_alerts import told

BINARY = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
needs_alertmanager = pytest.mark.skipif(
    BINARY is None, reason="Alertmanager is not installed: apt install prometheus-alertmanager"
)


class Receiver(ThreadingHTTPServer):
    """What Alertmanager notified: (path, status, number of alerts, alertname), in order."""

    def __init__(self) -> None:
        self.got: list[tuple[str, dict[str, Any]]] = []
        super().__init__(("127.0.0.1", 0), Hook)

    def notified(self) -> list[tuple[str, str, int, str]]:
        return [(path, b["status"], len(b["alerts"]), b["commonLabels"]["alertname"]) for path, b in self.got]


class Hook(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.got.append((self.path, body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing."""


@contextmanager
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def configuration(hook: Receiver, folder: Path) -> Path:
    """The repository's, with this test's receiver and a short interval between notifications of a group."""
    text = (Path(__file__).parents[2] / "infra/alertmanager/alertmanager.yml").read_text()
    text = text.replace("127.0.0.1:9099", f"127.0.0.1:{hook.server_port}")
    text = text.replace("group_wait: 5s", "group_wait: 1s").replace("group_interval: 1m", "group_interval: 2s")
    path = folder / "alertmanager.yml"
    path.write_text(text)
    return path


@contextmanager
def alertmanager(config: Path, port: int) -> Iterator[str]:
    """Its address, once it answers."""
    process = subprocess.Popen(
        [
            BINARY or "",
            f"--config.file={config}",
            f"--storage.path={config.parent / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--cluster.listen-address=",
        ],
        stdout=subprocess.DEVNULL,
        stderr=(config.parent / "alertmanager.log").open("ab"),
    )
    url = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        try:
            with urllib.request.urlopen(f"{url}/-/ready"):
                return True
        except OSError:
            return False

    try:
        wait_until(answers, (config.parent / "alertmanager.log").read_text)
        yield url
    finally:
        process.kill()
        process.wait()


def now_us() -> int:
    return time.time_ns() // 1000


def instance(book: AlertBook, url: str, session: aiohttp.ClientSession) -> Alertmanager:
    """One that knows nothing of what was sent."""
    return Alertmanager(book, Poster(session, f"{url}/api/v2/alerts"), Links(runbooks="https://wiki"), now_us)


def send(book: AlertBook, url: str, times: int = 1) -> None:
    """Let a new sender do its rounds."""

    async def rounds() -> None:
        async with aiohttp.ClientSession() as session:
            one = instance(book, url, session)
            for _ in range(times):
                await one.send_due(now_us())

    asyncio.run(rounds())


@needs_alertmanager
def test_an_incident_is_received_grouped_and_resolved(tmp_path: Path) -> None:
    with receiver() as hook, alertmanager(configuration(hook, tmp_path), free_port()) as url:
        book = AlertBook()
        page = told(ts_us=now_us(), opened_us=now_us())
        book.learn(page)
        tickets = [told(ts_us=now_us(), opened_us=now_us(), id=f"inc-t{i}", severity="warning") for i in range(3)]
        for ticket in tickets:
            book.learn(ticket)
        send(book, url)
        wait_until(lambda: len(hook.got) >= 2, lambda: hook.got)
        assert sorted(hook.notified()) == [
            ("/page", "firing", 1, "ThermalThrottle"),
            ("/ticket", "firing", 3, "ThermalThrottle"),
        ]
        body = next(b for path, b in hook.got if path == "/page")
        assert body["alerts"][0]["annotations"]["runbook_url"] == ("https://wiki/docs/runbooks/thermal_throttle.md")
        hook.got.clear()
        for incident in (page, *tickets):
            book.learn(structs.replace(incident, state="cleared", ts_us=now_us()))
        send(book, url)
        wait_until(lambda: len(hook.got) >= 2, lambda: hook.got)
        assert sorted(hook.notified()) == [
            ("/page", "resolved", 1, "ThermalThrottle"),
            ("/ticket", "resolved", 3, "ThermalThrottle"),
        ]


@needs_alertmanager
def test_sending_again_and_a_new_cause_do_not_notify_again(tmp_path: Path) -> None:
    with receiver() as hook, alertmanager(configuration(hook, tmp_path), free_port()) as url:
        book = AlertBook()
        first = told(ts_us=now_us(), opened_us=now_us())
        book.learn(first)
        send(book, url)
        wait_until(lambda: len(hook.got) >= 1)
        book.learn(structs.replace(first, state="updated", ts_us=now_us(), cause_word="xid_79"))
        for _ in range(3):
            send(book, url)  # a sender that knows nothing of what was sent: a restarted worker
            time.sleep(1.5)
        assert hook.notified() == [("/page", "firing", 1, "ThermalThrottle")]


@needs_alertmanager
def test_a_page_arrives_once_after_alertmanager_was_away_for_ten_minutes(tmp_path: Path) -> None:
    """Ten minutes of the sender's own clock, which the waits between its tries go by."""
    port, clock = free_port(), [now_us() - 600_000_000]
    with receiver() as hook:
        book = AlertBook()
        book.learn(told(ts_us=clock[0], opened_us=clock[0]))

        async def story_of_an_outage() -> None:
            async with aiohttp.ClientSession() as session:
                url = f"http://127.0.0.1:{port}/api/v2/alerts"
                one, tries = Alertmanager(book, Poster(session, url), Links(), lambda: clock[0]), 0
                while clock[0] < now_us():
                    tries += one.patience.is_due(clock[0])
                    await one.send_due(clock[0])
                    clock[0] += 1_000_000
                    book.forget(clock[0], one.is_done)
                assert 10 <= tries <= 20
                assert one.patience.retry_at_us - clock[0] <= 60_000_000
                with alertmanager(configuration(hook, tmp_path), port):
                    clock[0] = one.patience.retry_at_us
                    await one.send_due(clock[0])
                    await asyncio.to_thread(wait_until, lambda: len(hook.got) >= 1)
                    for _ in range(3):
                        clock[0] += 60_000_000
                        await one.send_due(clock[0])
                        await asyncio.sleep(1.0)

        asyncio.run(story_of_an_outage())
        assert hook.notified() == [("/page", "firing", 1, "ThermalThrottle")]


def heard(hook: Receiver, times: int) -> bool:
    return len(hook.got) >= times


@needs_alertmanager
def test_what_is_muted_is_resolved_and_told_again_when_the_mute_ends(tmp_path: Path) -> None:
    with receiver() as hook, alertmanager(configuration(hook, tmp_path), free_port()) as url:
        book = AlertBook()
        page = told(ts_us=now_us(), opened_us=now_us())

        async def story_of_a_mute() -> None:
            async with aiohttp.ClientSession() as session:
                one = instance(book, url, session)
                for number, quiet in enumerate(({}, {"muted_until_us": now_us() + 10**9, "muted_by": "ann"}, {}), 1):
                    book.learn(structs.replace(page, state="updated", ts_us=now_us(), **quiet))
                    await one.send_due(now_us())
                    await asyncio.to_thread(wait_until, partial(heard, hook, number), lambda: hook.got)

        asyncio.run(story_of_a_mute())
        assert [status for _, status, _, _ in hook.notified()] == ["firing", "resolved", "firing"]


def port_of(device: str, priority: int | None = None) -> Subject:
    return Subject(kind="port", id=f"{device}/Eth1", device=device, port="Eth1", priority=priority)


def node(name: str) -> Subject:
    return Subject(kind="node", id=name, node=name)


def gpu(of: str) -> Subject:
    return Subject(kind="gpu", id=f"{of}-G1", node=of, gpu_uuid=f"{of}-G1", gpu_index=1)


# What is told first, with what it does or does not silence: the cause words, part and rack of each, and which are told.
INHIBITED: dict[str, tuple[list[dict[str, Any]], set[str]]] = {
    "a storm silences tickets of loss at its priority, and no page elsewhere or at another priority": (
        [
            {"id": "root", "cause_word": "pause_storm", "subject": port_of("leaf-1", 3)},
            {"id": "same", "cause_word": "lossless_drop", "subject": port_of("leaf-2", 3), "severity": "warning"},
            {"id": "other", "cause_word": "lossless_drop", "subject": port_of("leaf-2", 4), "severity": "warning"},
            {"id": "far-page", "cause_word": "lossless_drop", "subject": port_of("leaf-2", 3)},
            {"id": "near-page", "cause_word": "lossless_drop", "subject": port_of("leaf-1", 3)},
        ],
        {"root", "other", "far-page"},
    ),
    "a storm without a priority silences nothing": (
        [
            {"id": "root", "cause_word": "pause_storm", "subject": port_of("leaf-1")},
            {"id": "drop", "cause_word": "lossless_drop", "subject": port_of("leaf-2"), "severity": "warning"},
        ],
        {"root", "drop"},
    ),
    "a silent switch silences its ports and no other's": (
        [
            {"id": "root", "cause_word": "device_silent", "subject": Subject(kind="device", id="s1", device="s1")},
            {"id": "own", "cause_word": "link_down", "subject": port_of("s1")},
            {"id": "other", "cause_word": "link_down", "subject": port_of("s2")},
            {"id": "gpu", "cause_word": "xid_79", "subject": gpu("n1")},
        ],
        {"root", "other", "gpu"},
    ),
    "a silent node silences tickets of its parts and no page": (
        [
            {"id": "root", "cause_word": "node_silent", "subject": node("n1")},
            {"id": "own", "cause_word": "thermal_throttle", "subject": gpu("n1"), "severity": "warning"},
            {"id": "page", "cause_word": "xid_79", "subject": gpu("n1")},
            {"id": "other", "cause_word": "thermal_throttle", "subject": gpu("n2"), "severity": "warning"},
            {"id": "no-node", "cause_word": "link_down", "subject": port_of("s1"), "severity": "warning"},
        ],
        {"root", "page", "other", "no-node"},
    ),
    "a rack silences tickets of heat, power and silence in it": (
        [
            {"id": "root", "cause_word": "power_brake", "subject": Subject(kind="rack", id="r1"), "rack": "r1"},
            {"id": "own", "cause_word": "hw_slowdown", "subject": gpu("n1"), "rack": "r1", "severity": "warning"},
            {"id": "other", "cause_word": "hw_slowdown", "subject": gpu("n2"), "rack": "r2", "severity": "warning"},
            {"id": "nowhere", "cause_word": "hw_slowdown", "subject": gpu("n3"), "severity": "warning"},
            {"id": "memory", "cause_word": "row_remap_failure", "subject": gpu("n1"), "rack": "r1"},
        ],
        {"root", "other", "nowhere", "memory"},
    ),
    "maintenance of a node, told by somebody else, silences its links and nothing that is broken": (
        [
            {"id": "root", "cause_word": "maintenance", "subject": node("n1"), "severity": "warning"},
            {"id": "link", "cause_word": "link_down", "subject": structs.replace(port_of("nic"), node="n1")},
            {"id": "drop", "cause_word": "lossless_drop", "subject": structs.replace(port_of("nic"), node="n1")},
            {"id": "other", "cause_word": "link_down", "subject": structs.replace(port_of("nic-2"), node="n2")},
            {"id": "no-node", "cause_word": "link_down", "subject": port_of("s1")},
        ],
        {"root", "drop", "other", "no-node"},
    ),
    "a bad link silences its own flaps": (
        [
            {"id": "root", "cause_word": "bad_link", "subject": port_of("s1")},
            {"id": "flap", "cause_word": "link_flap", "subject": port_of("s1")},
            {"id": "other", "cause_word": "link_flap", "subject": port_of("s2")},
        ],
        {"root", "other"},
    ),
}


@needs_alertmanager
@pytest.mark.parametrize("case", INHIBITED)
def test_inhibition_silences_what_is_explained_and_nothing_else(tmp_path: Path, case: str) -> None:
    alerts, expected = INHIBITED[case]
    with receiver() as hook, alertmanager(configuration(hook, tmp_path), free_port()) as url:
        book = AlertBook()
        for fields in alerts:
            book.learn(told(ts_us=now_us(), opened_us=now_us(), jobs=[], **fields))
        send(book, url)
        time.sleep(2.5)  # past group_wait
        with urllib.request.urlopen(f"{url}/api/v2/alerts?inhibited=false") as reply:
            left = {a["labels"]["incident"] for a in json.load(reply)}
        heard = {a["labels"]["incident"] for _, body in hook.got for a in body["alerts"]}
    assert left == heard == expected


@needs_alertmanager
def test_tickets_go_to_their_owner(tmp_path: Path) -> None:
    with receiver() as hook, alertmanager(configuration(hook, tmp_path), free_port()) as url:
        book = AlertBook()
        for owner in ("fleet", "network", "telemetry", "job"):
            book.learn(told(id=owner, owner=owner, severity="warning", ts_us=now_us(), opened_us=now_us()))
        send(book, url)
        wait_until(lambda: len(hook.got) >= 4, lambda: hook.got)
        assert sorted(path for path, _ in hook.got) == [
            "/ticket",
            "/ticket/job",
            "/ticket/network",
            "/ticket/telemetry",
        ]


@needs_alertmanager
def test_alert_test_arrives_and_ends(tmp_path: Path) -> None:
    with receiver() as hook, alertmanager(configuration(hook, tmp_path), free_port()) as url:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("LOCKSTEP_")}
        said = subprocess.run(
            [sys.executable, "-m", "infra.command.main", "alert-test", "--for", "4s"],
            env=environment | {"LOCKSTEP_ALERTMANAGER": url},
            capture_output=True,
            text=True,
            check=False,
        )
        wait_until(lambda: len(hook.got) >= 2, lambda: (hook.got, said))
    assert hook.notified() == [("/page", "firing", 1, "LockstepTest"), ("/page", "resolved", 1, "LockstepTest")]
    assert said.stdout.count(f"  alertmanager {url}  took it: 200") == 2
    assert said.returncode == 0


AMTOOL = shutil.which("amtool")


@pytest.mark.skipif(AMTOOL is None, reason="amtool is not installed: apt install prometheus-alertmanager")
def test_the_shipped_configuration_is_sound() -> None:
    config = Path(__file__).parents[2] / "infra/alertmanager/alertmanager.yml"
    said = subprocess.run([AMTOOL or "", "check-config", str(config)], check=False, capture_output=True, text=True)
    assert (said.returncode, "SUCCESS" in said.stdout) == (0, True), said.stderr


@needs_alertmanager
def test_one_bad_alert_in_a_batch_holds_back_no_other(tmp_path: Path) -> None:
    with receiver() as hook, alertmanager(configuration(hook, tmp_path), free_port()) as url:
        book = AlertBook()
        bad = book.learn(told(ts_us=now_us(), opened_us=now_us(), id="inc-bad"))
        assert bad is not None
        bad.labels["not a label name"] = "x"
        book.learn(told(ts_us=now_us(), opened_us=now_us()))
        send(book, url, times=3)
        wait_until(lambda: len(hook.got) >= 1)
        assert [b["alerts"][0]["labels"]["incident"] for _, b in hook.got] == ["inc-1"]


@needs_alertmanager
@pytest.mark.kafka
def test_a_fault_in_the_stream_becomes_one_page(tmp_path: Path) -> None:
    with receiver() as hook, alertmanager(configuration(hook, tmp_path), free_port()) as url:
        with line(LOCKSTEP_ALERTMANAGER=url) as live:
            messages = story(now_us() - 12_000_000, nodes=3, seconds=12)
            with live.worker():
                live.ready()
                live.produce(messages)
                wait_until(lambda: any(p == "/ticket" for p, _ in hook.got), live.log)
            with live.worker():
                live.ready(2)
                told_of = {"Xid79", "RowRemapFailure"}
                wait_until(
                    lambda: told_of <= {b["commonLabels"]["alertname"] for _, b in hook.got},
                    lambda: (hook.notified(), [(i.state, i.cause_word) for i in live.read(INCIDENTS)], live.log()),
                    patience_s=30.0,
                )
                time.sleep(3)
        named = [b["commonLabels"]["alertname"] for _, b in hook.got]
        assert sorted(named) == sorted(set(named))
