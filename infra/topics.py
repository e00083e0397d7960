"""Every topic of the contract, and whether a cluster has them as the contract says."""

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from collectors.contract.errors import UserError
from collectors.contract.kafka import KafkaClient
from collectors.contract.topic import Topic
from collectors.contract.topics import COLLECTOR_TOPICS
from streams.contract import STREAM_TOPICS

if TYPE_CHECKING:
    from confluent_kafka.admin import AdminClient

ALL_TOPICS: tuple[Topic[Any], ...] = COLLECTOR_TOPICS + STREAM_TOPICS
BY_NAME: dict[str, Topic[Any]] = {topic.name: topic for topic in ALL_TOPICS}

TIMEOUT_S = 15.0
SETTLE_S = 5.0


@dataclass(frozen=True)
class Difference:
    """One way in which a topic of the cluster is not as the contract says."""

    topic: str
    what: str
    is_: str
    should: str
    can_apply: bool = True


def wanted_config(topic: Topic[Any]) -> dict[str, str]:
    """The Kafka topic configuration that the contract asks for."""
    config = {"cleanup.policy": "compact" if topic.compacted else "delete"}
    if not topic.compacted:
        config["retention.ms"] = str(topic.retention_ms)
    if topic.max_message_bytes is not None:
        config["max.message.bytes"] = str(topic.max_message_bytes)
    return config


def admin_client(client: KafkaClient) -> "AdminClient":
    """An admin client that does not print by itself."""
    from confluent_kafka.admin import AdminClient

    return AdminClient({**client.librdkafka(), "log_level": 0, "socket.timeout.ms": int(TIMEOUT_S * 1000)})


def existing(admin: "AdminClient", timeout_s: float = TIMEOUT_S) -> dict[str, int]:
    """Topic -> partitions. Raises `UserError` when the cluster does not answer."""
    from confluent_kafka import KafkaException

    try:
        found = admin.list_topics(timeout=timeout_s).topics
    except KafkaException as why:
        raise UserError(f"Kafka does not answer: {why.args[0].str()}; is LOCKSTEP_KAFKA right?") from why
    return {name: len(meta.partitions) for name, meta in found.items()}


def create(admin: "AdminClient", topics: Iterable[Topic[Any]], replication: int = -1) -> list[str]:
    """Create the topics that are not there; returns their names once the brokers tell of them.

    `replication` -1: the broker's default.
    """
    from confluent_kafka import KafkaError, KafkaException
    from confluent_kafka.admin import NewTopic

    there = existing(admin)
    new = [
        NewTopic(t.name, num_partitions=t.partitions, replication_factor=replication, config=wanted_config(t))
        for t in topics
        if t.name not in there
    ]
    if not new:
        return []
    created = []
    for name, future in admin.create_topics(new, operation_timeout=TIMEOUT_S).items():
        try:
            future.result()
            created.append(name)
        except KafkaException as why:
            if why.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise UserError(f"topic {name} could not be created: {why.args[0].str()}") from why
    deadline = time.monotonic() + SETTLE_S
    while not existing(admin).keys() >= {topic.topic for topic in new} and time.monotonic() < deadline:
        threading.Event().wait(0.1)
    return created


def differences(admin: "AdminClient", topics: Iterable[Topic[Any]]) -> list[Difference]:
    """What differs between the cluster and the contract."""
    from confluent_kafka.admin import ConfigResource, ResourceType

    topics = list(topics)
    there = existing(admin)
    found = [Difference(t.name, "topic", "absent", "there") for t in topics if t.name not in there]
    present = [t for t in topics if t.name in there]
    for topic in present:
        if there[topic.name] != topic.partitions:
            # Fewer can be mended by adding; more cannot be taken away.
            found.append(
                Difference(
                    topic.name,
                    "partitions",
                    str(there[topic.name]),
                    str(topic.partitions),
                    there[topic.name] < topic.partitions,
                )
            )
    if present:
        resources = {t.name: ConfigResource(ResourceType.TOPIC, t.name) for t in present}
        configs = {r.name: f.result() for r, f in admin.describe_configs(list(resources.values())).items()}
        for topic in present:
            for name, should in wanted_config(topic).items():
                is_ = configs[topic.name][name].value
                if is_ != should:
                    found.append(Difference(topic.name, name, str(is_), should))
    return found


def apply(admin: "AdminClient", topics: Iterable[Topic[Any]]) -> list[Difference]:
    """Alter topics that exist to what the contract says; returns what still differs.

    Waits a moment until the brokers tell of the change. Raises `UserError` naming a topic that was refused.
    """
    topics = list(topics)
    for difference in differences(admin, topics):
        if difference.what != "topic" and difference.can_apply:
            _mend(admin, difference)
    deadline = time.monotonic() + SETTLE_S
    left = differences(admin, topics)
    while any(d.can_apply for d in left) and time.monotonic() < deadline:
        threading.Event().wait(0.2)
        left = differences(admin, topics)
    return left


def _mend(admin: "AdminClient", difference: Difference) -> None:
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import (
        AlterConfigOpType,
        ConfigEntry,
        ConfigResource,
        NewPartitions,
        ResourceType,
    )

    if difference.what == "partitions":
        futures = list(admin.create_partitions([NewPartitions(difference.topic, int(difference.should))]).values())
    else:
        entry = ConfigEntry(difference.what, difference.should, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, difference.topic, incremental_configs=[entry])
        futures = list(admin.incremental_alter_configs([resource]).values())
    for future in futures:
        try:
            future.result()
        except KafkaException as why:
            raise UserError(f"{difference.topic}: {difference.what}: {why.args[0].str()}") from why
