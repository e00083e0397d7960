"""SONiC's flex counters: which group of counters a field is in, and how often the switch renews that group.

Groups: sonic-net/sonic-swss orchagent/portsorch.h and pfcwdorch.cpp; usual intervals: the same files, and
sonic-net/sonic-utilities counterpoll/main.py, which switches them.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Group:
    """One flex counter group. `counterpoll`: the word by which `counterpoll` knows it; None: it does not."""

    name: str
    counterpoll: str | None
    usual_s: float | None
    shows: str


GROUPS: tuple[Group, ...] = (
    Group("PORT_STAT_COUNTER", "port", 1.0, "port and PFC counters"),
    Group("PORT_BUFFER_DROP_STAT", "port-buffer-drop", 60.0, "packets a port dropped for want of buffer"),
    Group("QUEUE_STAT_COUNTER", "queue", 10.0, "packets and drops of queues"),
    Group("QUEUE_WATERMARK_STAT_COUNTER", "watermark", 60.0, "how full queues were"),
    Group("PG_DROP_STAT_COUNTER", "pg-drop", 10.0, "drops of lossless priority groups"),
    Group("PG_WATERMARK_STAT_COUNTER", "watermark", 60.0, "how full headroom was"),
    Group("BUFFER_POOL_WATERMARK_STAT_COUNTER", "watermark", 60.0, "how full buffer pools were"),
    Group("WRED_ECN_QUEUE_STAT_COUNTER", "wredqueue", 10.0, "ECN marks of queues"),
    Group("WRED_ECN_PORT_STAT_COUNTER", "wredport", 1.0, "ECN marks of ports"),
    Group("PFC_WD", None, None, "PFC storms, by the watchdog"),
)

_GROUP_OF: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), group)
    for pattern, group in (
        (r"SAI_PORT_STAT_(IN|OUT)_DROPPED_PKTS", "PORT_BUFFER_DROP_STAT"),
        (r"SAI_PORT_STAT_.*(WRED|ECN)_.*", "WRED_ECN_PORT_STAT_COUNTER"),
        (r"(SAI|EST)_PORT_STAT_.*", "PORT_STAT_COUNTER"),
        (r"SAI_QUEUE_STAT_.*WATERMARK.*", "QUEUE_WATERMARK_STAT_COUNTER"),
        (r"SAI_QUEUE_STAT_WRED_.*", "WRED_ECN_QUEUE_STAT_COUNTER"),
        (r"SAI_QUEUE_STAT_.*", "QUEUE_STAT_COUNTER"),
        (r"SAI_INGRESS_PRIORITY_GROUP_STAT_.*WATERMARK.*", "PG_WATERMARK_STAT_COUNTER"),
        (r"SAI_INGRESS_PRIORITY_GROUP_STAT_.*", "PG_DROP_STAT_COUNTER"),
        (r"SAI_BUFFER_POOL_STAT_.*", "BUFFER_POOL_WATERMARK_STAT_COUNTER"),
        (r"PFC_WD_.*|SAI_QUEUE_ATTR_.*", "PFC_WD"),
    )
)
GROUP_TABLE = "FLEX_COUNTER_GROUP_TABLE"


@dataclass(frozen=True, slots=True)
class Poll:
    """How a switch polls one group. `interval_us` None: not told."""

    interval_us: int | None
    enabled: bool


def poll(held: Mapping[str, str]) -> Poll | None:
    """From the fields of `FLEX_COUNTER_GROUP_TABLE:<group>`; None where the group is not there."""
    if not held:
        return None
    text = held.get("POLL_INTERVAL", "")
    interval_us = int(text) * 1000 if text.isascii() and text.isdigit() and 0 < len(text) < 12 else None
    return Poll(interval_us or None, held.get("FLEX_COUNTER_STATUS", "").lower() == "enable")


def refresh_us(field: str, polls: Mapping[str, Poll]) -> int | None:
    """How often the switch renews a field, as it says or else as is usual; None for a field of no group."""
    for pattern, name in _GROUP_OF:
        if pattern.fullmatch(field):
            told = polls.get(name)
            if told is not None and told.interval_us is not None:
                return told.interval_us
            return _USUAL_US[name]
    return None


_USUAL_US = {group.name: None if group.usual_s is None else round(group.usual_s * 1e6) for group in GROUPS}
