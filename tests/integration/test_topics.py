"""`lockstep topics` against the real Kafka."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from collectors.contract.errors import UserError
from collectors.contract.kafka import KafkaClient
from collectors.contract.topic import DAY_MS, Topic
from infra.kafka.local import running_kafka
from infra.topics import ALL_TOPICS, BY_NAME, Difference, admin_client, apply, create, differences, existing

pytestmark = pytest.mark.kafka


def with_other(name: str, **changes: Any) -> Topic[Any]:
    return dataclasses.replace(BY_NAME[name], **changes)


def test_topics_are_created_once_told_when_they_differ_and_altered_only_when_asked(
    tmp_path: Path,
) -> None:
    with running_kafka(tmp_path) as broker:
        admin = admin_client(KafkaClient(broker.bootstrap))
        assert len(create(admin, [with_other("kernel.events.v1", retention_ms=DAY_MS)])) == 1
        assert len(create(admin, [with_other("gpu.scrapes.v1", partitions=2)])) == 1
        assert len(create(admin, [with_other("findings.v1", partitions=2)])) == 1
        assert len(create(admin, ALL_TOPICS)) == len(ALL_TOPICS) - 3
        found = differences(admin, ALL_TOPICS)
        assert set(found) == {
            Difference("gpu.scrapes.v1", "partitions", "2", "8"),
            Difference("findings.v1", "partitions", "2", "1", can_apply=False),
            Difference("kernel.events.v1", "retention.ms", str(DAY_MS), str(14 * DAY_MS)),
        }
        assert create(admin, ALL_TOPICS) == []
        assert differences(admin, ALL_TOPICS) == found
        assert apply(admin, ALL_TOPICS) == [Difference("findings.v1", "partitions", "2", "1", can_apply=False)]

        # What a person sees.
        told = subprocess.run(
            [sys.executable, "-m", "infra.command.main", "topics"],
            env=os.environ | {"LOCKSTEP_KAFKA": broker.bootstrap},
            capture_output=True,
            text=True,
            check=False,
        )
        assert told.returncode == 1
        assert "findings.v1: partitions is 2, the contract says 1; cannot be altered" in told.stderr


def test_a_cluster_that_does_not_answer_is_told() -> None:
    admin = admin_client(KafkaClient("127.0.0.1:1"))
    with pytest.raises(UserError, match="Kafka does not answer"):
        existing(admin, timeout_s=1.0)
