"""A test incident told to everybody who would be told of a real one, right now, and what each answered."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from streams.alert_news import Event
from streams.alerts import AlertBook
from streams.contract import Evidence, Incident, Severity, Subject
from streams.posting import Answer
from streams.receiver import News
from streams.receivers import http_session, now_us, receivers
from streams.settings import StreamSettings


@dataclass(frozen=True, slots=True)
class Reply:
    """What one receiver said to one thing. `answer` None: it is not told such things."""

    receiver: str
    event: Event
    answer: Answer | None


async def try_alerts(
    settings: StreamSettings, state: Path, cluster: str, severity: Severity, for_s: float
) -> AsyncIterator[Reply]:
    """It opens, stays for a while, and ends, where anybody took it. Raises `SettingError`."""
    opened_us = now_us()
    async with http_session() as session:
        to = receivers(settings, AlertBook(), state, session)
        events: tuple[Event, ...] = ("opened", "ended")
        for event in events:
            ended_us = now_us() if event == "ended" else None
            item = News(incident(cluster, opened_us, severity, ended_us), event)
            answers = await asyncio.gather(*(r.say(item) for r in to))
            for receiver, answer in zip(to, answers, strict=True):
                yield Reply(receiver.name, event, answer)
            if not any(answer is not None and answer.taken for answer in answers):
                return
            if event == "opened":
                await asyncio.sleep(for_s)


def incident(cluster: str, opened_us: int, severity: Severity, ended_us: int | None) -> Incident:
    """What a page looks like, and that it is none."""
    return Incident(
        cluster=cluster,
        ts_us=opened_us if ended_us is None else ended_us,
        id=f"inc-test-{opened_us // 1_000_000}",
        state="opened" if ended_us is None else "cleared",
        severity=severity,
        cause=f"alert-test|{cluster}/node/test-node|{opened_us}",
        cause_word="lockstep_test",
        detector="alert-test",
        subject=Subject(kind="node", id="test-node", node="test-node"),
        opened_us=opened_us,
        cleared_us=ended_us,
        summary="TEST: somebody asks whether alerts arrive; nothing is wrong",
        action="nothing: it ends by itself",
        runbook="docs/alerts.md",
        evidence=[Evidence(what="`lockstep alert-test` was run")],
        place="nowhere",
    )
