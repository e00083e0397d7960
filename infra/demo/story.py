"""The demo from Kafka's start to the scoreboard."""

import contextlib
import json
import shutil
import signal
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collectors.contract.errors import UserError
from collectors.contract.kafka import KafkaClient
from collectors.contract.message import Message
from infra.demo.children import Child, Children, tail
from infra.demo.layout import Places, split_config
from infra.fleet.scenario import Scenario
from infra.kafka.listener import Listener
from infra.watch.board import Board
from streams.contract import Incident

PAST_DAYS = 7
PAST_INTERVAL_S = 300
STREAM_READY_S = 60.0
FLEET_READY_S = 30.0
STORY_LEAD_S = 2.0
"""The fleet's clock starts this long after its process: collectors are connected by then."""
DRAIN_S = 6.0
"""After the story's last second: detectors, correlator and pager have their last word."""
PAST_WAIT_S = 240.0


@dataclass
class Story:
    """Starts the parts in order, watches them, and ends them whatever happens."""

    scenario: Scenario
    scenario_path: str
    places: Places
    client: KafkaClient
    cluster: str
    env: dict[str, str]
    say: Callable[[str], None]
    past: bool = True
    end: threading.Event = field(default_factory=threading.Event)
    board: Board = field(default_factory=Board)
    lock: threading.Lock = field(default_factory=threading.Lock)
    start_us: int = 0
    troubles: list[str] = field(default_factory=list)
    lags_s: list[float] = field(default_factory=list)
    """For each incident: from the event that opened it to its arrival here, by the wall clock."""

    def __post_init__(self) -> None:
        self.children = Children(self.places.logs, self.env)
        self.listener: Listener | None = None
        self.past_child: Child | None = None
        self.background = False
        self.dagster_address: str | None = None

    def begin(self) -> None:
        """Topics, stream, loader, fleet, collectors. Raises `UserError` naming the part that did not come up."""
        from infra.topics import ALL_TOPICS, admin_client, create

        create(admin_client(self.client), ALL_TOPICS)
        stream = self.children.lockstep("stream", "stream")
        self.children.lockstep("load", "load", "--commit-seconds", "5")
        self._wait(stream, STREAM_READY_S, lambda: "ready:" in stream.log.read_text(errors="replace"))
        self.say("stream jobs and loader run")
        about = self._fleet()
        self.start_us = int(about["start_us"])
        configs = split_config(Path(about["collect"]), self.places.state / "collect")
        for process, config in configs.items():
            self.children.lockstep(f"collect-{process}", "collect", "--config", str(config), "--metrics-listen", "off")
        self.say(f"fleet and {len(configs)} collectors run")
        self._listen()

    def _fleet(self) -> dict[str, Any]:
        ready = self.places.fleet / "fleet.json"
        fleet = self.children.lockstep(
            "fleet", "fleet", self.scenario_path, "--dir", str(self.places.fleet), "--start-at", f"+{STORY_LEAD_S}"
        )
        self._wait(fleet, FLEET_READY_S, ready.exists)
        about: dict[str, Any] = json.loads(ready.read_text())
        return about

    def _wait(self, child: Child, seconds: float, ready: Callable[[], bool]) -> None:
        deadline = time.monotonic() + seconds
        while not ready():
            if child.process.poll() is not None or time.monotonic() > deadline:
                raise UserError(f"{child.name} did not come up; the end of {child.log}:\n{tail(child.log, 8)}")
            if self.end.wait(0.1):
                raise KeyboardInterrupt

    def _listen(self) -> None:
        from collectors.contract.topics import COLLECTOR_BEATS, REJECTED
        from streams.contract import STREAM_TOPICS

        self.listener = Listener(self.client, [*STREAM_TOPICS, COLLECTOR_BEATS, REJECTED], self._take)
        self.listener.start()

    def _take(self, message: Message) -> None:
        if message.cluster != self.cluster:
            return
        with self.lock:
            self.board.take(message)
            if isinstance(message, Incident) and message.state == "opened":
                self.lags_s.append(time.time() - message.ts_us / 1e6)

    def begin_background(self, dagster: bool) -> None:
        """A virtual week with its rollups, and the Dagster UI, below everything else in priority."""
        self.background = True
        if dagster:
            self._dagster()
        if self.past:
            days, interval = str(PAST_DAYS), str(PAST_INTERVAL_S)
            argv = [sys.executable, "-m", "infra.demo.past", "--days", days, "--interval", interval]
            self.past_child = self.children.start("past", argv, nice=15)

    def _dagster(self) -> None:
        """`dagster dev` on a free port of loopback."""
        from infra.kafka.process import free_port
        from pipelines.materialize import dagster_home

        dagster_home()
        port = free_port()
        program = str(Path(sys.executable).with_name("dagster"))
        argv = [program, "dev", "-m", "pipelines.definitions", "-h", "127.0.0.1", "-p", str(port)]
        self.children.start("dagster", argv, nice=10)
        self.dagster_address = f"http://127.0.0.1:{port}"

    def dagster_answers(self, seconds: float) -> bool:
        """Whether the UI serves pages, within `seconds`."""
        assert self.dagster_address is not None
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and not self.end.wait(0.5):
            with contextlib.suppress(OSError), urllib.request.urlopen(self.dagster_address, timeout=5) as answer:
                if answer.status == 200:
                    return True
        return False

    def watch_parts(self) -> None:
        """Note parts that ended by themselves; the past's end is its normal end."""
        for name, code, last in self.children.dead():
            if name == "past" and code == 0:
                continue
            self.troubles.append(f"{name} ended by itself with status {code}: {last}")
            self.say(self.troubles[-1])

    @property
    def past_stage(self) -> str:
        """How far the week is, in a few words."""
        if self.past_child is None:
            return ""
        if not self.past_running:
            return "past week: rolled up"
        said = [line for line in tail(self.past_child.log, 400).splitlines() if " - dagster - " not in line]
        return "past week: " + (said[-1][:60] if said else "being written")

    @property
    def past_running(self) -> bool:
        """The week is still being written or rolled up."""
        return self.past_child is not None and self.past_child.process.poll() is None

    def close(self) -> None:
        """End every part. The state folder stays; the fleet's goes."""
        if self.listener is not None:
            self.listener.close()
        self.children.stop()
        shutil.rmtree(self.places.fleet, ignore_errors=True)


def ends_on_signal(end: threading.Event) -> None:
    """SIGTERM and Ctrl-C set `end`, so that every part is ended in order."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: end.set())
