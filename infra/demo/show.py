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
from infra.fleet.scenario import load, named
from infra.kafka import local
from infra.watch.view import plain, render

FRAME_S = 0.5
DAGSTER_WAIT_S = 60.0


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
            _live(story, args.seconds, dagster=not args.no_dagster)
            if story.end.is_set():
                return 130
            return _finish(story, args)
        except KeyboardInterrupt:
            return 130
        finally:
            story.close()


def _finish(story: Story, args: argparse.Namespace) -> int:
    board = scoreboard(story, args.seconds)
    story.watch_parts()
    if story.past_running:
        story.troubles.append(f"the week's rollups were not done {PAST_WAIT_S:.0f} s after the story")
    if story.dagster_address and not story.dagster_answers(DAGSTER_WAIT_S):
        story.troubles.append(f"the Dagster UI did not answer at {story.dagster_address}")
    tell(story, board, args.seconds)
    if story.dagster_address:
        print(f"Dagster: {story.dagster_address}" + (" (until the demo ends)" if not args.exit else ""))
    for trouble in story.troubles:
        sys.stderr.write(f"{trouble}\n")
    if not args.exit:
        print("everything goes on until Ctrl-C")
        _live(story, None)
    if story.troubles:
        return 2
    return 0 if board.ok else 1


def _live(story: Story, seconds: float | None, *, dagster: bool = False) -> None:
    """Until the story's last second, what follows from it, and the week's rollups; with None until an end is asked."""
    console = Console()
    nodes = list(story.scenario.layout.node_names)
    told = len(story.board.edges)
    stage = ""
    frame = Live(console=console, refresh_per_second=4) if console.is_terminal else None
    with frame or contextlib.nullcontext():
        while not story.end.wait(FRAME_S):
            now_us = time.time_ns() // 1000
            passed = (now_us - story.start_us) / 1e6
            if seconds is not None and not story.background and story.board.first_us is not None:
                story.begin_background(dagster)
            story.watch_parts()
            with story.lock:
                edges, told = story.board.edges[told:], len(story.board.edges)
                if frame is not None:
                    frame.update(
                        render(
                            story.board,
                            nodes,
                            now_us,
                            f"Lockstep  {story.scenario.about}",
                            _status(story, passed, seconds),
                        )
                    )
            if frame is None:
                for edge in edges:
                    print(plain(edge, story.start_us), flush=True)
                if story.past_stage != stage:
                    stage = story.past_stage
                    print(f"{max(0.0, passed):6.1f} s  {stage}", flush=True)
            over = seconds is not None and passed > seconds + DRAIN_S
            if over and (not story.past_running or passed > (seconds or 0) + PAST_WAIT_S):
                return


def _status(story: Story, passed: float, seconds: float | None) -> str:
    if seconds is None:
        return f"{passed:.0f} s"
    return f"{min(seconds, max(0, passed)):.0f} of {seconds:.0f} s   {story.past_stage}"


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
    """The parts' environment; a setting of the caller's that would lead elsewhere is replaced, and nobody is paged
    for faults that are made up."""
    elsewhere = ("WAREHOUSE", "REPORTS", "ALERT", "PAGERDUTY", "SLACK", "WEBHOOK")
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(tuple(f"LOCKSTEP_{word}" for word in elsewhere))
    }
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
