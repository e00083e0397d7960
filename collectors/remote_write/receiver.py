"""What all requests come to: targets by their source, one leader of a pair of senders, and Kafka's word."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from collectors.remote_write.pushed import Pushed
from collectors.remote_write.series import Source
from collectors.remote_write.target import Step, Target
from collectors.source import Outlet

WAIT_S = 6.0
"""A scrape's pieces may be so far apart: a shard of Prometheus sends a request that is not full after 5 s
(`batch_send_deadline`)."""
LEADER_S = 30.0
"""After so long without a word of the server that leads, the other one of a pair takes over (as in Cortex)."""
FORGOTTEN_S = 3600.0
OTHER_REPLICA = "another replica leads"


@dataclass(slots=True)
class _Leader:
    replica: str
    heard_s: float


class Receiver:
    """Takes what senders pushed. Nothing is kept on disk: a sender keeps what is not acknowledged."""

    def __init__(
        self, outlet: Outlet, cluster: str, wait_s: float = WAIT_S, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._outlet = outlet
        self._cluster = cluster
        self._wait_s = wait_s
        self._now_s = now_s
        self._leaders: dict[Source, _Leader] = {}
        self.targets: dict[Source, Target] = {}
        self.ignored: Counter[str] = Counter()
        """Samples passed over, by reason."""

    async def accept(self, pushed: Pushed) -> bool:
        """True once Kafka has all of it that is anybody's business; then it may be acknowledged."""
        now_s = self._now_s()
        steps = [
            self._target(source).take(
                ts_ms, pushed.scrapes.get((source, ts_ms), {}), pushed.ended.get((source, ts_ms), set()), now_s
            )
            for source, ts_ms in sorted({**pushed.scrapes, **pushed.ended}, key=lambda scrape: scrape[1])
            if self._leads(source, len(pushed.scrapes.get((source, ts_ms), ())), now_s)
        ]
        self.ignored += pushed.ignored
        delivered = await self._outlet.deliver([message for step in steps for message in step.messages])
        for step in steps:
            _settle(step, delivered)
        return delivered

    async def tick(self) -> None:
        """Scrapes whose rest did not come in time are told as they are; silent targets are forgotten.

        The same way as all else: over the outlet's own way they would be overtaken by what comes after them.
        """
        steps = self._rest(self._now_s() - self._wait_s)
        delivered = await self._outlet.deliver([message for step in steps for message in step.messages])
        for step in steps:
            _settle(step, delivered)
        for source, target in list(self.targets.items()):
            if not target.open and self._now_s() - target.heard_s > FORGOTTEN_S:
                del self.targets[source]

    async def flush(self) -> None:
        """At the end: the same for all that waits. It was acknowledged, so what Kafka does not take is spooled."""
        steps = self._rest(float("inf"))
        messages = [message for step in steps for message in step.messages]
        if not await self._outlet.deliver(messages):
            for topic, message in messages:
                self._outlet.publish(topic, message)
        for step in steps:
            _settle(step, True)

    def _rest(self, silent_since_s: float) -> list[Step]:
        return [target.rest(silent_since_s) for target in self.targets.values() if target.open]

    def _target(self, source: Source) -> Target:
        target = self.targets.get(source)
        if target is None:
            target = self.targets[source] = Target(source, source.cluster or self._cluster)
        return target

    def _leads(self, source: Source, count: int, now_s: float) -> bool:
        """Both servers of a pair scrape each target, at different moments: one is heard, the other is in reserve."""
        if not source.replica:
            return True
        place = source.without_replica
        leader = self._leaders.get(place)
        if leader is None or now_s - leader.heard_s > LEADER_S:
            leader = self._leaders[place] = _Leader(source.replica, now_s)
        if leader.replica != source.replica:
            self.ignored[OTHER_REPLICA] += count
            return False
        leader.heard_s = now_s
        return True


def _settle(step: Step, delivered: bool) -> None:
    for settle in step.confirm if delivered else step.undo:
        settle()
