"""A scenario played in virtual time through the detectors, and judged."""

from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from collectors.contract.job import StepReport
from collectors.contract.message import Message
from infra.fleet.scenario import Scenario, ScenarioError, named
from infra.fleet.telemetry import arrivals
from infra.fleet.virtual import DEFAULT_START_US, messages
from infra.restart import Restarting
from infra.scoreboard import Scoreboard, judge
from streams.contract import Finding, Incident
from streams.detectors.all import Choice
from streams.pipeline import Pipeline

BEHIND_US = 1_000_000
"""A worker's clock is so far behind the wall's (`streams/ticks.py`)."""
TICKS_PER_INTERVAL = 5
"""Ticks come every second, or so often in an interval of many seconds: a tick's news carry their own times."""
OWN = Path(__file__).parent / "fleet" / "scenarios"


def files(names: Sequence[str]) -> list[Path]:
    """Scenario files by path, folder or own name; `all` is every one that comes with Lockstep."""
    out: list[Path] = []
    for name in names:
        path = OWN if name == "all" else named(name)
        if path.is_dir():
            found = sorted(path.glob("*.toml"))
            if not found:
                raise ScenarioError(f"{path}: no scenario files (*.toml) in it")
            out += found
        elif path.exists():
            out.append(path)
        else:
            known = ", ".join(
                sorted(own.stem for own in (Path(__file__).parent / "fleet" / "scenarios").glob("*.toml"))
            )
            raise ScenarioError(f"{name}: no such file, and no scenario of that name; there is {known}")
    return out


@dataclass(slots=True)
class Tape:
    """What a pipeline said of a scenario, in order, and the steps that it could judge."""

    findings: list[Finding] = field(default_factory=list)
    incidents: list[Incident] = field(default_factory=list)
    heard_us: list[int] = field(default_factory=list)
    """When each incident came out."""
    steps: dict[str, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    """Job -> number of a training step -> its end."""

    def hear(self, us: int, out: Sequence[tuple[object, object]]) -> None:
        """Outputs of the pipeline at a time on the wall."""
        for _, message in out:
            if isinstance(message, Finding):
                self.findings.append(message)
            elif isinstance(message, Incident):
                self.incidents.append(message)
                self.heard_us.append(us)

    def follow(self, message: Message) -> None:
        """Remember when steps ended."""
        if isinstance(message, StepReport) and message.phase[0] == "train":
            self.steps[message.job].setdefault(message.step[0], message.ts_us)


def play(
    scenario: Scenario,
    progress: Callable[[float], None] = lambda done: None,
    choices: Mapping[str, Choice] | None = None,
) -> Scoreboard:
    """Every message through one pipeline. `progress` hears the share done; `choices` are those of a limits file."""
    tape = record(scenario, progress, choices)
    ends_us = {job: sorted(ends.values()) for job, ends in tape.steps.items()}
    return judge(scenario, tape.findings, tape.incidents, DEFAULT_START_US, tape.heard_us, ends_us)


def record(
    scenario: Scenario,
    progress: Callable[[float], None] = lambda done: None,
    choices: Mapping[str, Choice] | None = None,
) -> Tape:
    """What the pipeline says."""
    tape = Tape()
    restarts = deque(DEFAULT_START_US + round(at_s * 1e6) for at_s in scenario.telemetry.restarts_s)
    restarting = Restarting(choices) if restarts else None
    pipeline = restarting or Pipeline(choices=choices)
    span_us = round(scenario.seconds * 1e6)
    rhythm_us = max(1, round(scenario.interval_s / TICKS_PER_INTERVAL)) * 1_000_000
    tick_us = DEFAULT_START_US + rhythm_us
    for arrival_us, (topic, message) in arrivals(messages(scenario), scenario.telemetry, scenario.seed):
        while arrival_us >= tick_us:
            progress(min(1.0, (tick_us - DEFAULT_START_US) / span_us))
            if restarting is not None and restarts and tick_us >= restarts[0]:
                restarts.popleft()
                restarting.restart()
            tape.hear(tick_us, pipeline.tick(tick_us - BEHIND_US))
            tick_us += rhythm_us
        tape.follow(message)
        tape.hear(arrival_us, pipeline.feed(topic, message))
    tape.hear(DEFAULT_START_US + span_us, pipeline.tick(DEFAULT_START_US + span_us))
    return tape
