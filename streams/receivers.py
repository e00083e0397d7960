"""Who is told, by the settings: any number of Alertmanagers, PagerDuty, Slack, webhooks; else terminal and file."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from collectors.contract.settings import SettingError
from streams.alert_labels import Links
from streams.alertmanager import Alertmanager, addresses
from streams.alerts import AlertBook
from streams.alerts_file import AlertsFile
from streams.pagerduty import PagerDuty
from streams.posting import Poster, shown
from streams.receiver import Channel, Receiver, Teller
from streams.settings import StreamSettings
from streams.slack import Slack
from streams.webhook import Webhook

ANSWER_S = 10.0
"""For a whole answer; ours."""
_KEY = re.compile(r"[0-9A-Za-z]{32}")


@dataclass(frozen=True, slots=True)
class Addresses:
    """The settings, read and checked; nothing of it may be printed but the names of channels."""

    alertmanagers: tuple[str, ...]
    pagerduty_key: str | None
    slack: str | None
    webhooks: tuple[str, ...]
    webhook_token: str | None


def read(settings: StreamSettings) -> Addresses:
    """Raises `SettingError` that names the setting, and never its value where that is a secret."""
    key = _secret("LOCKSTEP_PAGERDUTY_KEY", settings.pagerduty_key, settings.pagerduty_key_file)
    if key is not None and _KEY.fullmatch(key) is None:
        raise SettingError("LOCKSTEP_PAGERDUTY_KEY: a routing key has 32 letters and digits")
    slack = _secret("LOCKSTEP_SLACK", settings.slack, settings.slack_file)
    hooks = _secret("LOCKSTEP_WEBHOOK", settings.webhook, settings.webhook_file) or ""
    webhooks = tuple(u.strip() for u in re.split(r"[,\n]", hooks) if u.strip())
    for name, url in [
        ("LOCKSTEP_PAGERDUTY_URL", settings.pagerduty_url),
        *([("LOCKSTEP_SLACK", slack)] if slack is not None else []),
        *(("LOCKSTEP_WEBHOOK", url) for url in webhooks),
    ]:
        _check(name, url)
    return Addresses(
        tuple(addresses(settings.alertmanager or "")),
        key,
        slack,
        webhooks,
        _secret("LOCKSTEP_WEBHOOK_TOKEN", settings.webhook_token, settings.webhook_token_file),
    )


def http_session() -> aiohttp.ClientSession:
    """For all receivers, through the proxies of the environment; whoever does not answer is given up after a while."""
    return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ANSWER_S), trust_env=True)


def channels(settings: StreamSettings, to: Addresses, session: aiohttp.ClientSession) -> list[Channel]:
    """Those that are told in words."""
    links = Links(runbooks=settings.runbooks, graphs=settings.graphs)
    found: list[Channel] = []
    if to.pagerduty_key is not None:
        url = f"{settings.pagerduty_url.rstrip('/')}/v2/enqueue"
        found.append(PagerDuty(Poster(session, url), to.pagerduty_key, links, settings.pagerduty_tickets))
    if to.slack is not None:
        found.append(Slack(Poster(session, to.slack), links))
    headers = {} if to.webhook_token is None else {"Authorization": f"Bearer {to.webhook_token}"}
    for number, url in enumerate(to.webhooks, start=1):
        name = f"webhook {number} {shown(url)}" if len(to.webhooks) > 1 else f"webhook {shown(url)}"
        found.append(Webhook(Poster(session, url, headers), links, name))
    return found


def receivers(
    settings: StreamSettings, book: AlertBook, state: Path, session: aiohttp.ClientSession
) -> Sequence[Receiver]:
    """All that are set; a file where nobody else would hear of tickets. Raises `SettingError`."""
    to, links = read(settings), Links(runbooks=settings.runbooks, graphs=settings.graphs)
    found: list[Receiver] = [
        Alertmanager(book, Poster(session, f"{url}/api/v2/alerts"), links, now_us) for url in to.alertmanagers
    ]
    found += [Teller(book, channel, now_us) for channel in channels(settings, to, session)]
    if not to.alertmanagers and to.slack is None and not to.webhooks:
        found.append(AlertsFile(book, Path(settings.alerts_file or state / "alerts.jsonl"), links))
    return found


def now_us() -> int:
    """Unix microseconds."""
    return time.time_ns() // 1000


def _secret(name: str, value: str | None, file: str | None) -> str | None:
    """From the setting or its file."""
    if file is None:
        return value
    if value is not None:
        raise SettingError(f"{name} and {name}_FILE are both set: set one of them")
    try:
        said = Path(file).read_text().strip()
    except (OSError, UnicodeDecodeError) as why:
        reason = why.strerror if isinstance(why, OSError) else "no text"
        raise SettingError(f"{name}_FILE={file}: {reason}") from why
    if not said:
        raise SettingError(f"{name}_FILE={file}: the file is empty")
    return said


def _check(name: str, url: str) -> None:
    if not re.fullmatch(r"https?://[^\s/]+(/\S*)?", url):
        raise SettingError(f"{name}: write an address that begins with https:// (or http://)")
