"""The Faust agents: one for each topic that detectors read, one for findings, one for incidents."""

import logging
from typing import Any

import faust
import msgspec

from collectors.contract.message import Message
from collectors.contract.topic import Topic
from streams.contract import FINDINGS, INCIDENTS
from streams.desk import Desk
from streams.faust_events import Raw
from streams.judge import Judge
from streams.outbox import Outbox
from streams.pager import Pager

log = logging.getLogger("lockstep.stream")


def raw_topic(app: faust.App, topic: Topic[Any]) -> Any:
    """A Faust topic of bytes: our contract decodes them, so that bad ones are ours to reject."""
    return app.topic(topic.name, schema=Raw(), internal=False)


def add_detector_agents(app: faust.App, judge: Judge, outbox: Outbox) -> None:
    """One agent a topic; all share the judge."""
    for topic in judge.topics.values():
        app.agent(raw_topic(app, topic), name=f"judge-{topic.name}")(_judging(topic, judge, outbox))


def _judging(topic: Topic[Any], judge: Judge, outbox: Outbox) -> Any:
    decode, name, groups = topic.decode, topic.name, judge.groups
    counted = judge.metrics.judged(name)

    async def judging(stream: Any) -> None:
        async for event in stream.events():
            record = event.message
            partition, raw = record.partition, event.value
            group = groups.get(partition)
            if (group is None or not group.ready.is_set()) and not await judge.ready(partition):
                continue
            if raw is None:
                judge.skip(topic, partition, record.offset)
                continue
            try:
                message = decode(raw)
            except msgspec.MsgspecError as why:
                judge.skip(topic, partition, record.offset)
                await outbox.reject(name, partition, record.offset, raw, str(why))
                continue
            await judged(judge, topic, partition, record.offset, message)
            counted(message)

    return judging


async def judged(judge: Judge, topic: Topic[Any], partition: int, offset: int, message: Message) -> None:
    """Take one message of a warm partition, and tell what it brings."""
    found = judge.take(topic, partition, offset, message)
    if judge.mender.waiting:
        await judge.report(topic.name, partition, offset)
    if found:
        await judge.publish(partition, found, judge.listeners(topic, message))


def add_incident_agents(app: faust.App, desk: Desk, pager: Pager, outbox: Outbox) -> None:
    """Findings to the desk, incidents to the pager."""

    async def correlating(stream: Any) -> None:
        async for event in stream.events():
            await desk.ready.wait()
            record = event.message
            finding = await _decoded(FINDINGS, event, outbox)
            if finding is not None:
                await desk.take(finding, record.offset)
            desk.next = record.offset + 1

    async def paging(stream: Any) -> None:
        async for event in stream.events():
            await pager.ready.wait()
            incident = await _decoded(INCIDENTS, event, outbox)
            if incident is not None:
                await pager.take(incident)

    app.agent(raw_topic(app, FINDINGS), name="correlate")(correlating)
    app.agent(raw_topic(app, INCIDENTS), name="page")(paging)


async def _decoded(topic: Topic[Any], event: Any, outbox: Outbox) -> Any:
    if event.value is None:
        return None
    try:
        return topic.decode(event.value)
    except msgspec.MsgspecError as why:
        await outbox.reject(topic.name, event.message.partition, event.message.offset, event.value, str(why))
        return None
