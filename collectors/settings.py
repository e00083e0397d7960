"""What every collector process reads from the environment."""

import os
import socket
from dataclasses import dataclass
from functools import cache

from collectors.contract.settings import read_settings, setting


@dataclass(frozen=True)
class CollectorSettings:
    """Settings of `lockstep collect`; options of the command win over them."""

    node: str | None = setting(
        "LOCKSTEP_NODE", None, "name of this node where a source does not name it; empty: the host name"
    )
    interval_s: float = setting("LOCKSTEP_INTERVAL", 15.0, "seconds between two sweeps of a collector")
    spool_mb: float = setting(
        "LOCKSTEP_SPOOL_MB",
        1024.0,
        "disk that each topic of a collector may use while Kafka is away, MB; full: the newest are dropped, counted",
    )
    spool_hours: float = setting(
        "LOCKSTEP_SPOOL_HOURS",
        72.0,
        "hours that messages may wait on disk while Kafka is away; older ones are dropped, counted",
    )
    spool_after_s: float = setting(
        "LOCKSTEP_SPOOL_AFTER",
        2.0,
        "seconds that a message may wait for Kafka's acknowledgement before it is also written to disk",
    )
    linger_ms: float = setting("LOCKSTEP_LINGER_MS", 250.0, "milliseconds that messages wait to share a Kafka batch")
    metrics_listen: str = setting(
        "LOCKSTEP_METRICS_LISTEN", "127.0.0.1:9469", "address of a collector's own /metrics; `off` for none"
    )
    reject_every_s: float = setting(
        "LOCKSTEP_REJECT_EVERY", 10.0, "seconds between two reports of bad bytes from the same source"
    )


@cache
def collector_settings() -> CollectorSettings:
    """The settings of this process. Raises `SettingError`."""
    return read_settings(CollectorSettings, os.environ)


def this_node(named: str | None = None) -> str:
    """The option `--node`, else `LOCKSTEP_NODE`, else the host name."""
    return named or collector_settings().node or socket.gethostname()


def collector_name(source: str, instance: str | None = None) -> str:
    """What a process calls itself in its beats: `source@host`, or `source@host:instance`."""
    return f"{source}@{socket.gethostname()}" + (f":{instance}" if instance else "")
