"""Where reading of a partition begins, and what has to be told about it."""

from dataclasses import dataclass

from warehouse.offsets import Partition, Stored


@dataclass(frozen=True, slots=True)
class Start:
    """An offset to read from; `told` when it is not the one that was stored."""

    offset: int
    told: str | None = None


def start_of(at: Partition, stored: Stored | None, topic_id: str | None, low: int, high: int) -> Start:
    """`low` and `high`: the first offset that the broker still has, and the next it will give."""
    name = f"{at[0]}[{at[1]}]"
    if stored is None:
        return Start(low)
    if stored.topic_id and topic_id and stored.topic_id != topic_id:
        return Start(low, f"{name}: the topic was made anew since it was last loaded; loading it from its start")
    if stored.next_offset < low:
        missed = low - stored.next_offset
        return Start(
            low,
            f"{name}: {missed} offsets from {stored.next_offset} on left Kafka before they were loaded "
            f"(retention or compaction); going on at {low}",
        )
    if stored.next_offset > high:
        return Start(
            low,
            f"{name}: loaded up to {stored.next_offset}, but Kafka ends at {high}: the topic was cut or made anew; "
            f"loading it from its start at {low}",
        )
    return Start(stored.next_offset)
