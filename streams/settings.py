"""Settings of the stream app."""

import os
from dataclasses import dataclass
from functools import cache

from collectors.contract.settings import read_settings, setting


@dataclass(frozen=True)
class StreamSettings:
    """How `lockstep stream` runs and whom it tells."""

    group: str = setting(
        "LOCKSTEP_STREAM_GROUP", "lockstep-stream", "consumer group and Faust app id; its Tables carry the name"
    )
    alertmanager: str | None = setting(
        "LOCKSTEP_ALERTMANAGER",
        None,
        "Alertmanager base URLs, comma separated; each gets every alert; empty: terminal and file",
    )
    alerts_file: str | None = setting(
        "LOCKSTEP_ALERTS_FILE",
        None,
        "JSON-lines file of alerts when there is no Alertmanager; empty: alerts.jsonl under LOCKSTEP_STATE",
    )
    detectors: str = setting(
        "LOCKSTEP_DETECTORS", "", "limits file of the detectors (TOML, `lockstep detectors --toml`); empty: built in"
    )
    runbooks: str = setting(
        "LOCKSTEP_RUNBOOKS", "", "URL before the runbook path in alerts; empty: the path within the repository"
    )
    metrics_port: int = setting(
        "LOCKSTEP_STREAM_METRICS", 9470, "loopback port of the stream's /metrics; 0 or taken: any free one"
    )


@cache
def stream_settings() -> StreamSettings:
    """The settings of this process. Raises `SettingError`."""
    return read_settings(StreamSettings, os.environ)
