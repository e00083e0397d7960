"""The demo as a person sees it: a live view on a terminal, lines elsewhere."""

import argparse
import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from rich.console import Console
from rich.live import Live

from collectors.contract.errors import UserError
from collectors.contract.kafka import KafkaClient, KafkaSettings, kafka_client, kafka_settings
from infra.demo.ending import scoreboard, tell
from infra.demo.layout import Places, places
from infra.demo.story import DRAIN_S, PAST_WAIT_S, Story, ends_on_signal
from infra.demo.view import plain, render
from infra.fleet.scenario import load, named
from infra.kafka import local

FRAME_S = 0.5


def show(args: argparse.Namespace) -> int:
    """Exit status: 0 every fault found and no false page, 1 not so, 2 something did not run."""
    scenario = load(named(args.scenario))
    settings = kafka_settings()
    state = Path(settings.state) / "demo"
    began = time.monotonic()
    with _prepared(state) as where, _kafka(settings, where) as client:
        cluster = f"demo-{time.time_ns() // 1_000_000_000}" if settings.bootstrap else settings.cluster
        env = _environment(where, client, cluster, settings)
        story = Story(scenario, args.scenario, where, client, cluster, env, _say(began), past=not args.no_past)
        ends_on_signal(story.end)
        os.environ.update({name: env[name] for name in ("LOCKSTEP_STATE", "DAGSTER_HOME")})
        _forget_settings()
        try:
            story.begin()
            _live(story, args.seconds, began)
            if story.end.is_set():
                return 130
            return _finish(story, args)
        except KeyboardInterrupt:
            return 130
        finally:
            story.close()


def _finish(story: Story, args: argparse.Namespace) -> int:
    board = scoreboard(story)
    deadline = time.monotonic() + PAST_WAIT_S
    while story.past_running and time.monotonic() < deadline and not story.end.wait(1.0):
        story.watch_parts()
    story.watch_parts()
    if story.past_running:
        story.troubles.append(f"the week's rollups were not done {PAST_WAIT_S:.0f} s after the story")
    tell(story, board, args.seconds)
    if story.dagster_address:
        print(f"Dagster: {story.dagster_address}" + (" (until the demo ends)" if not args.exit else ""))
    for trouble in story.troubles:
        sys.stderr.write(f"{trouble}\n")
    if not args.exit:
        print("everything goes on until Ctrl-C")
        _live(story, None, time.monotonic())
    if story.troubles:
        return 2
    return 0 if board.ok else 1


def _live(story: Story, seconds: float | None, began: float) -> None:
    """Until the story's last second and what follows from it; with None, until an end is asked for."""
    console = Console()
    nodes = list(story.scenario.layout.node_names)
    background = story.past_child is None
    told = len(story.board.edges)
    frame = Live(console=console, refresh_per_second=4, transient=False) if console.is_terminal else None
    with frame or contextlib.nullcontext():
        while not story.end.wait(FRAME_S):
            now_us = time.time_ns() // 1000
            passed = (now_us - story.start_us) / 1e6
            if background and story.board.first_us is not None:
                background = False
                story.begin_past()
            story.watch_parts()
            with story.lock:
                edges, told = story.board.edges[told:], len(story.board.edges)
                if frame is not None:
                    length = "" if seconds is None else f" of {seconds:.0f}"
                    status = f"{max(0, passed):.0f}{length} s   " + _past_words(story)
                    frame.update(render(story.board, nodes, now_us, f"Lockstep  {story.scenario.about}", status))
            if frame is None:
                for edge in edges:
                    print(plain(edge, story.start_us), flush=True)
            if seconds is not None and passed > seconds + DRAIN_S:
                return


def _past_words(story: Story) -> str:
    if story.past_child is None:
        return ""
    from infra.demo.children import tail

    return ("past week: " + tail(story.past_child.log, 1)) if story.past_running else "past week: rolled up"


@contextlib.contextmanager
def _prepared(state: Path) -> Iterator[Places]:
    """A clean state folder. Raises `UserError` when another demo runs in it."""
    if local.status(state / "kafka") is not None:
        raise UserError(f"another demo runs in {state}; end it, or set LOCKSTEP_STATE to another folder")
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir(parents=True)
    yield places(state)


@contextlib.contextmanager
def _kafka(settings: KafkaSettings, where: Places) -> Iterator[KafkaClient]:
    """The cluster of `LOCKSTEP_KAFKA`, or a local one for the length of the demo."""
    if settings.bootstrap or settings.config:
        yield kafka_client(settings)
        return
    with local.running_kafka(where.state / "kafka") as broker:
        yield KafkaClient(broker.bootstrap)


def _environment(where: Places, client: KafkaClient, cluster: str, settings: KafkaSettings) -> dict[str, str]:
    """The parts' environment; a setting of the caller's that would lead elsewhere is replaced."""
    env = dict(os.environ)
    for name in ("LOCKSTEP_WAREHOUSE", "LOCKSTEP_WAREHOUSE_DATA", "LOCKSTEP_REPORTS", "LOCKSTEP_ALERTS_FILE"):
        env.pop(name, None)
    env |= {
        "LOCKSTEP_STATE": str(where.state),
        "LOCKSTEP_KAFKA": client.bootstrap,
        "LOCKSTEP_CLUSTER": cluster,
        "LOCKSTEP_STREAM_METRICS": "0",
        "DAGSTER_HOME": str(where.state / "dagster"),
        "PYTHONUNBUFFERED": "1",
    }
    return env


def _forget_settings() -> None:
    """This process asks the demo's warehouse at the end, not the caller's."""
    from pipelines.settings import pipeline_settings
    from warehouse.settings import warehouse_settings

    pipeline_settings.cache_clear()
    warehouse_settings.cache_clear()


def _say(began: float) -> Callable[[str], None]:
    def say(line: str) -> None:
        print(f"{time.monotonic() - began:5.1f} s  {line}", flush=True)

    return say
