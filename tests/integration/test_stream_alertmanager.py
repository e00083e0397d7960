"""Alerts into the real Alertmanager with the configuration of this repository."""

import asyncio
import json
import shutil
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from msgspec import structs

from infra.kafka.process import free_port
from streams.alertmanager import AlertmanagerSender, instances
from streams.alerts import AlertBook
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


def send(book: AlertBook, *urls: str, times: int = 1) -> None:
    """Let a sender do its rounds."""

    async def rounds() -> None:
        async with aiohttp.ClientSession() as session:
            sender = AlertmanagerSender(book, instances(",".join(urls)), "https://wiki", session)
            for _ in range(times):
                await sender.send_due()

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
def test_nothing_is_lost_while_an_alertmanager_is_away_and_no_other_waits(tmp_path: Path) -> None:
    port = free_port()
    (tmp_path / "b").mkdir()
    with receiver() as hook, alertmanager(configuration(hook, tmp_path / "b"), free_port()) as there:
        book = AlertBook()
        book.learn(told(ts_us=now_us(), opened_us=now_us()))

        async def story_of_an_outage() -> None:
            async with aiohttp.ClientSession() as session:
                sender = AlertmanagerSender(book, instances(f"http://127.0.0.1:{port},{there}"), "", session)
                await sender.send_due()
                away, up = sender.targets
                assert (len(away.told_us), len(up.told_us)) == (0, 1)
                with receiver() as late, alertmanager(configuration(late, tmp_path), port):
                    end = time.monotonic() + 30
                    while not late.got and time.monotonic() < end:
                        await sender.send_due()
                        await asyncio.sleep(0.2)
                    assert late.notified() == [("/page", "firing", 1, "ThermalThrottle")]

        asyncio.run(story_of_an_outage())


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
                time.sleep(3)
        named = [b["commonLabels"]["alertname"] for _, b in hook.got]
        assert sorted(named) == sorted(set(named))
        assert "Xid79" in named
