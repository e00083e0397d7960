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
        "Alertmanager base URLs, comma separated; each gets every alert",
    )
    pagerduty_key: str | None = setting(
        "LOCKSTEP_PAGERDUTY_KEY", None, "routing key of a PagerDuty service (Events API v2)", secret=True
    )
    pagerduty_key_file: str | None = setting("LOCKSTEP_PAGERDUTY_KEY_FILE", None, "file that holds the routing key")
    pagerduty_url: str = setting(
        "LOCKSTEP_PAGERDUTY_URL",
        "https://events.pagerduty.com",
        "PagerDuty's event host; in the EU service region https://events.eu.pagerduty.com",
    )
    pagerduty_tickets: bool = setting(
        "LOCKSTEP_PAGERDUTY_TICKETS", False, "send tickets (severity warning) to PagerDuty too, not only pages"
    )
    slack: str | None = setting("LOCKSTEP_SLACK", None, "Slack incoming webhook URL", secret=True)
    slack_file: str | None = setting("LOCKSTEP_SLACK_FILE", None, "file that holds the Slack URL")
    webhook: str | None = setting(
        "LOCKSTEP_WEBHOOK", None, "URLs that get each incident as JSON (docs/alerts.md), comma separated", secret=True
    )
    webhook_file: str | None = setting("LOCKSTEP_WEBHOOK_FILE", None, "file that holds the webhook URLs")
    webhook_token: str | None = setting(
        "LOCKSTEP_WEBHOOK_TOKEN", None, "bearer token that the webhooks are sent", secret=True
    )
    webhook_token_file: str | None = setting("LOCKSTEP_WEBHOOK_TOKEN_FILE", None, "file that holds the bearer token")
    alerts_file: str | None = setting(
        "LOCKSTEP_ALERTS_FILE",
        None,
        "JSON-lines file of alerts where only PagerDuty or nobody hears them; empty: alerts.jsonl under LOCKSTEP_STATE",
    )
    detectors: str = setting(
        "LOCKSTEP_DETECTORS", "", "limits file of the detectors (TOML, `lockstep detectors --toml`); empty: built in"
    )
    runbooks: str = setting(
        "LOCKSTEP_RUNBOOKS", "", "URL before the runbook path in alerts; empty: the path within the repository"
    )
    graphs: str = setting(
        "LOCKSTEP_GRAPHS",
        "",
        "URL of a graph in alerts, with {cluster} {incident} {node} {device} {port} {job} {cause} {from_ms} {to_ms} "
        "to fill in; empty: no link",
    )
    metrics_port: int = setting(
        "LOCKSTEP_STREAM_METRICS", 9470, "loopback port of the stream's /metrics; 0 or taken: any free one"
    )


@cache
def stream_settings() -> StreamSettings:
    """The settings of this process. Raises `SettingError`."""
    return read_settings(StreamSettings, os.environ)
