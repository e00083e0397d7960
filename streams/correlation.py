"""Correlator and node health as one: what happens to a finding after it was made, in Kafka or without."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from collectors.contract.message import Message
from collectors.contract.topic import Topic
from streams.contract import FINDINGS, INCIDENTS, NODE_HEALTH, Finding
from streams.correlator import Correlator
from streams.correlator_limits import CorrelatorLimits
from streams.correlator_state import CorrelatorState
from streams.correlator_state import restore as restore_cases
from streams.detector import Tick
from streams.detectors.all import Choice
from streams.fabric_joins import RETRIES, FabricJoins
from streams.fabric_joins_grey import host_of
from streams.fabric_joins_state import JoinLimits, JoinState
from streams.fabric_joins_state import restore as restore_joins
from streams.health import Health, Told
from streams.health_book import HealthBook
from streams.health_book import restore as restore_health
from streams.health_limits import HealthLimits
from streams.world import World

Output = tuple[Topic[Any], Message]


@dataclass(slots=True)
class Correlation:
    """Judges findings with the world at hand; its rows are what outlives the process."""

    world: World
    cases: CorrelatorState = field(default_factory=CorrelatorState)
    health: HealthBook = field(default_factory=HealthBook)
    joins: JoinState = field(default_factory=JoinState)
    choices: Mapping[str, Choice] = field(default_factory=dict)
    """Of a limits file; sections `correlator`, `fabric_joins`, `health` and `fleet` are looked at."""
    _correlator: Correlator = field(init=False)
    _joins: FabricJoins = field(init=False)
    _nodes: Health = field(init=False)

    def __post_init__(self) -> None:
        cases, points = self.choices.get("correlator"), self.choices.get("health")
        self._correlator = Correlator(self.world, cases.limits if cases else CorrelatorLimits())
        joins = self.choices.get("fabric_joins")
        self._joins = FabricJoins(self.world, joins.limits if joins else JoinLimits())
        if (fleet := self.choices.get("fleet")) is not None:
            self.world.states.give(fleet.limits.racks)
        self._nodes = Health(self.world, points.limits if points else HealthLimits())

    def feed(self, finding: Finding) -> list[Output]:
        """Incidents, node health and joined findings that one finding brings about; a shadow's brings none."""
        if finding.shadow:
            return []
        out = self._judge(finding)
        joins = self._joins.step(self.joins, finding)
        if finding.cause == RETRIES:
            self.cases.retry(retrying(self.joins))
        for joined in joins:
            out += [(FINDINGS, joined), *self._judge(joined)]
        return out

    def tick(self, ts_us: int) -> list[Output]:
        """What the passing of time brings about."""
        out: list[Output] = []
        for joined in self._joins.tick(self.joins, ts_us):
            out += [(FINDINGS, joined), *self._judge(joined)]
        self.cases, incidents = self._correlator.step(self.cases, (Tick(ts_us),))
        out += [(INCIDENTS, i) for i in incidents]
        return out + self._tell(self._nodes.tick(self.health, ts_us, self.is_cause))

    def _judge(self, finding: Finding) -> list[Output]:
        self.cases, incidents = self._correlator.step(self.cases, (finding,))
        out: list[Output] = [(INCIDENTS, i) for i in incidents]
        return out + self._tell(self._nodes.step(self.health, finding, self.is_cause))

    def _tell(self, told: Told) -> list[Output]:
        """Words on nodes; a finding of the guard is judged like any other."""
        out: list[Output] = []
        for one in told:
            if isinstance(one, Finding):
                out += [(FINDINGS, one), *self._judge(one)]
            else:
                out.append((NODE_HEALTH, one))
        return out

    def is_cause(self, key: str) -> bool:
        """Is a finding the cause of its incident? One that stands in no incident counts as its own."""
        member = self.cases.members.get(key)
        return member is None or self.cases.cases[member.case].root == key

    def take_changes(self) -> dict[str, bytes | None]:
        """Rows to write since the last call; None: delete."""
        return {**self.cases.take_changes(), **self.joins.take_changes(), **self.health.take_changes()}

    def restore(self, rows: dict[str, bytes]) -> None:
        """Go on from kept rows. Raises `msgspec.MsgspecError` on bytes that are not ours."""
        nodes = {k: v for k, v in rows.items() if k.startswith("node|")}
        joins = {k: v for k, v in rows.items() if k.startswith("join|")}
        self.health, self.joins = restore_health(nodes), restore_joins(joins)
        self.cases = restore_cases({k: v for k, v in rows.items() if k not in nodes and k not in joins}, self.world)
        self.cases.retrying = retrying(self.joins)


def retrying(joins: JoinState) -> frozenset[tuple[str, str]]:
    """Cluster and name of the hosts whose transport retries now."""
    return frozenset(
        (f.cluster, host_of(f)) for f in joins.heard.values() if f.cause == RETRIES and f.state != "cleared"
    )
