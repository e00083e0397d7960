"""What any parser makes of good and of damaged bytes is taken by the detectors and fits the warehouse."""

import random
from typing import Any

import pytest

from collectors.contract.topics import COLLECTOR_TOPICS
from streams.pipeline import Pipeline
from tests.fuzz.mutate import mutate
from tests.fuzz.oracle import hold, parsers
from tests.fuzz.parser import Parser
from warehouse.batch import Batch

TOPICS = {topic.name: topic for topic in COLLECTOR_TOPICS}
DAMAGED = 25
every = pytest.mark.parametrize("parser", parsers(), ids=[parser.name for parser in parsers()])


def messages(parser: Parser, data: bytes) -> list[tuple[str, Any]]:
    return list(getattr(hold(parser, data), "published", ()))


def inputs(parser: Parser) -> list[bytes]:
    rng = random.Random(parser.name)
    damaged = [mutate(rng.choice(parser.seeds), rng.choice(parser.seeds), rng) for _ in range(DAMAGED)]
    return [*parser.seeds, *damaged]


@every
def test_the_detectors_take_it(parser: Parser) -> None:
    for data in inputs(parser):
        pipeline, latest_us = Pipeline(), 0
        for name, message in messages(parser, data):
            pipeline.feed(TOPICS[name], message)
            latest_us = max(latest_us, message.ts_us)
        pipeline.tick(latest_us + 3600_000_000)


@every
def test_it_fits_the_warehouse(parser: Parser) -> None:
    batch = Batch()
    for data in inputs(parser):
        for name, message in messages(parser, data):
            batch.add(name, message)
    _, bad = batch.rows()
    assert [(one.topic, one.why) for one in bad] == []
