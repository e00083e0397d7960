"""Correlator and node health as one: what happens to a finding after it was made, in Kafka or without."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from collectors.contract.message import Message
from collectors.contract.topic import Topic
from streams.contract import INCIDENTS, NODE_HEALTH, Finding
from streams.correlator import Correlator
from streams.correlator_limits import CorrelatorLimits
from streams.correlator_state import CorrelatorState
from streams.correlator_state import restore as restore_cases
from streams.detector import Tick
from streams.detectors.all import Choice
from streams.health import Health, HealthBook, HealthLimits
from streams.health import restore as restore_health
from streams.world import World

Output = tuple[Topic[Any], Message]


@dataclass(slots=True)
class Correlation:
    """Judges findings with the world at hand; its rows are what outlives the process."""

    world: World
    cases: CorrelatorState = field(default_factory=CorrelatorState)
    health: HealthBook = field(default_factory=HealthBook)
    choices: Mapping[str, Choice] = field(default_factory=dict)
    """Of a limits file; sections `correlator`, `health` and `fleet` are looked at."""
    _correlator: Correlator = field(init=False)
    _nodes: Health = field(init=False)

    def __post_init__(self) -> None:
        joins, points = self.choices.get("correlator"), self.choices.get("health")
        self._correlator = Correlator(self.world, joins.limits if joins else CorrelatorLimits())
        if (fleet := self.choices.get("fleet")) is not None:
            self.world.states.give(fleet.limits.racks)
        self._nodes = Health(self.world, points.limits if points else HealthLimits())

    def feed(self, finding: Finding) -> list[Output]:
        """Incidents and node health that one finding brings about; a shadow's brings none."""
        if finding.shadow:
            return []
        self.cases, incidents = self._correlator.step(self.cases, (finding,))
        out: list[Output] = [(INCIDENTS, i) for i in incidents]
        return out + [(NODE_HEALTH, h) for h in self._nodes.step(self.health, finding, self.is_cause)]

    def tick(self, ts_us: int) -> list[Output]:
        """What the passing of time brings about."""
        self.cases, incidents = self._correlator.step(self.cases, (Tick(ts_us),))
        out: list[Output] = [(INCIDENTS, i) for i in incidents]
        return out + [(NODE_HEALTH, h) for h in self._nodes.tick(self.health, ts_us, self.is_cause)]

    def is_cause(self, key: str) -> bool:
        """Is a finding the cause of its incident? One that stands in no incident counts as its own."""
        member = self.cases.members.get(key)
        return member is None or self.cases.cases[member.case].root == key

    def take_changes(self) -> dict[str, bytes | None]:
        """Rows to write since the last call; None: delete."""
        return {**self.cases.take_changes(), **self.health.take_changes()}

    def restore(self, rows: dict[str, bytes]) -> None:
        """Go on from kept rows. Raises `msgspec.MsgspecError` on bytes that are not ours."""
        nodes = {k: v for k, v in rows.items() if k.startswith("node|")}
        self.health = restore_health(nodes)
        self.cases = restore_cases({k: v for k, v in rows.items() if k not in nodes}, self.world)
