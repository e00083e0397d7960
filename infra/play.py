"""A scenario played in virtual time through the detectors, and judged."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from infra.fleet.scenario import Scenario, ScenarioError, named
from infra.fleet.virtual import DEFAULT_START_US, messages
from infra.scoreboard import Scoreboard, judge
from streams.contract import Finding, Incident
from streams.pipeline import Pipeline

TICK_US = 1_000_000
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


def play(scenario: Scenario, progress: Callable[[float], None] = lambda done: None) -> Scoreboard:
    """Every message through one pipeline with a tick a second. `progress` hears the share done."""
    findings: list[Finding] = []
    incidents: list[Incident] = []
    for message in outputs(scenario, progress):
        if isinstance(message, Finding):
            findings.append(message)
        else:
            incidents.append(message)
    return judge(scenario, findings, incidents, DEFAULT_START_US)


def outputs(scenario: Scenario, progress: Callable[[float], None] = lambda done: None) -> Iterator[Finding | Incident]:
    """What the pipeline says, in order."""
    pipeline = Pipeline()
    end_us = DEFAULT_START_US + round(scenario.seconds * 1e6)
    tick_us = DEFAULT_START_US + TICK_US
    for topic, message in messages(scenario):
        while message.ts_us >= tick_us:
            progress((tick_us - DEFAULT_START_US) / (end_us - DEFAULT_START_US))
            yield from _heard(pipeline.tick(tick_us))
            tick_us += TICK_US
        yield from _heard(pipeline.feed(topic, message))
    yield from _heard(pipeline.tick(end_us))


def _heard(out: Sequence[tuple[object, object]]) -> Iterator[Finding | Incident]:
    for _, message in out:
        if isinstance(message, Finding | Incident):
            yield message
