"""Alerts where no chat, ticket system or Alertmanager hears them: a line on the terminal, and a JSON-lines file."""

import json
import sys
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from msgspec import structs

from collectors.contract.settings import SettingError
from streams.alert_labels import Links, labels_of
from streams.alert_payload import payload, starts_at
from streams.alerts import Alert, AlertBook, AlertRow, is_over, is_quiet, pages
from streams.contract import Incident
from streams.posting import Answer
from streams.receiver import News
from streams.standing import standing_words

TAIL_BYTES = 4 << 20
MOST_REMEMBERED = 100_000
"""Lines known to be written; an alert is due for a day at most."""

Line = tuple[str, str, str, str]
"""Incident, severity, start and state: what a line is about."""


@dataclass(slots=True)
class AlertsFile:
    """Each opening, mute and end of an alert once, whatever happens in between: the file remembers."""

    book: AlertBook
    path: Path
    links: Links = field(default_factory=Links)
    terminal: TextIO = field(default_factory=lambda: sys.stdout)
    _written: "OrderedDict[Line, None]" = field(default_factory=OrderedDict)

    @property
    def name(self) -> str:
        """With its path."""
        return f"terminal and file {self.path}"

    @property
    def is_away(self) -> bool:
        """A disk that is full ends the worker."""
        return False

    def open(self) -> None:
        """Read what was written before. Raises `SettingError` when the file cannot be used."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab+") as file:
                file.seek(max(0, file.seek(0, 2) - TAIL_BYTES))
                tail = file.read()
                if tail and not tail.endswith(b"\n"):
                    file.write(b"\n")  # a line that a crash cut
                lines = tail.splitlines()
        except OSError as why:
            raise SettingError(f"LOCKSTEP_ALERTS_FILE={self.path}: {why.strerror}") from why
        for line in lines:
            try:
                row = json.loads(line)
                labels = row["labels"]
                self._remember((labels["incident"], labels["severity"], row["startsAt"], row["state"]))
            except (ValueError, KeyError, TypeError):
                continue  # a line cut by a crash, or by the tail

    async def send_due(self, now_us: int) -> None:
        """Append what was not written yet and show it."""
        for row in list(self.book.rows.values()):
            for alert in row.alerts:
                self._write(row, alert, "firing", now_us)
                if alert is row.alerts[-1] and is_over(row):
                    alert = structs.replace(alert, incident=row.incident)
                if alert.ended_us is not None:
                    self._write(row, alert, "quiet" if _is_quiet(row, alert) else "resolved", now_us)

    def is_done(self, row: AlertRow) -> bool:
        """Every end is written."""
        return all(a.ended_us is not None and _line(a, "resolved") in self._written for a in row.alerts)

    async def say(self, item: News) -> Answer | None:
        """A line. Raises `SettingError` when the file cannot be used."""
        self.open()
        i = item.incident
        row = AlertRow([], i, item.symptoms)
        self._write(row, Alert(labels_of(i), i, i.opened_us, i.cleared_us), _state(i), i.ts_us)
        return Answer(True, "")

    def _write(self, row: AlertRow, alert: Alert, state: str, now_us: int) -> None:
        name = _line(alert, state)
        if name in self._written:
            return
        line = {
            "state": state,
            "page": pages(alert),
            **payload(alert, self.book.limits, now_us, self.links, row.symptoms),
        }
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
        self._remember(name)
        word = ("PAGE" if pages(alert) else "ticket") if state == "firing" else _end_word(alert)
        self.terminal.write(
            f"{word}: {alert.labels['alertname']} {alert.incident.summary}; do: {alert.incident.action}; "
            f"{line['annotations']['runbook_url']} [{alert.incident.id}]\n"
        )
        self.terminal.flush()

    def _remember(self, name: Line) -> None:
        self._written[name] = None
        if len(self._written) > MOST_REMEMBERED:
            self._written.popitem(last=False)


def _is_quiet(row: AlertRow, alert: Alert) -> bool:
    """Did it end because it was muted, or for planned work?"""
    return alert is row.alerts[-1] and not is_over(row) and is_quiet(alert.incident)


def _line(alert: Alert, state: str) -> Line:
    return alert.labels["incident"], alert.labels["severity"], starts_at(alert), state


def _state(incident: Incident) -> str:
    return "resolved" if incident.state == "cleared" else "firing"


def _end_word(alert: Alert) -> str:
    """Only what is over is told as resolved."""
    if alert.incident.folded_into is not None:
        return "joined"
    if alert.incident.state == "cleared":
        return "resolved"
    return f"quiet ({standing_words(alert.incident)})" if is_quiet(alert.incident) else "no ticket any more but a page"
