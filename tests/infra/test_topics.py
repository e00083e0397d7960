"""The contract's topics."""

from infra.topics import ALL_TOPICS, BY_NAME, wanted_config


def test_every_topic_has_one_name() -> None:
    assert len(BY_NAME) == len(ALL_TOPICS) == 16


def test_what_the_correlator_must_see_in_one_order_has_one_partition() -> None:
    assert {n for n, t in BY_NAME.items() if t.partitions == 1} == {
        "findings.v1",
        "incidents.v1",
        "node.health.v1",
        "job.placements.v1",
        "fabric.links.v1",
        "node.states.v1",
        "node.pasts.v1",
        "incident.orders.v1",
        "rejected.v1",
    }


def test_a_compacted_topic_asks_for_compaction_and_no_retention() -> None:
    assert wanted_config(BY_NAME["node.health.v1"]) == {"cleanup.policy": "compact"}
    assert wanted_config(BY_NAME["gpu.scrapes.v1"]) == {
        "cleanup.policy": "delete",
        "retention.ms": str(3 * 86_400_000),
    }


def test_topics_that_carry_whole_placements_take_messages_of_8_mib() -> None:
    assert {n for n, t in BY_NAME.items() if t.max_message_bytes is not None} == {"job.events.v1", "job.placements.v1"}
    assert wanted_config(BY_NAME["job.placements.v1"]) == {
        "cleanup.policy": "compact",
        "max.message.bytes": "8388608",
    }
