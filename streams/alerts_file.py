"""Alerts without an Alertmanager: a line for people on the terminal, and a JSON-lines file."""

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from collectors.contract.settings import SettingError
from streams.alerts import Alert, AlertBook, AlertLimits, pages, payload

TAIL_BYTES = 4 << 20


@dataclass(slots=True)
class AlertsFile:
    """Each opening and each end of an alert once, whatever happens in between: the file remembers."""

    book: AlertBook
    path: Path
    runbooks: str = ""
    terminal: TextIO = field(default_factory=lambda: sys.stdout)
    _written: set[tuple[str, str, str]] = field(default_factory=set)

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
                self._written.add((row["labels"]["incident"], row["labels"]["severity"], row["state"]))
            except (ValueError, KeyError, TypeError):
                continue  # a line cut by a crash, or by the tail

    def write_due(self, now_us: int) -> None:
        """Append what was not written yet and show it."""
        for alert in self.book.alerts():
            self._write(alert, "firing", now_us)
            if alert.ended_us is not None:
                self._write(alert, "resolved", now_us)
        self.book.forget(now_us, delivered=True)

    def _write(self, alert: Alert, state: str, now_us: int) -> None:
        name = (alert.labels["incident"], alert.labels["severity"], state)
        if name in self._written:
            return
        self._written.add(name)
        row = {"state": state, "page": pages(alert), **payload(alert, AlertLimits(), now_us, self.runbooks)}
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")
        word = ("PAGE" if pages(alert) else "ticket") if state == "firing" else "resolved"
        self.terminal.write(
            f"{word}: {alert.labels['alertname']} {alert.incident.summary}; do: {alert.incident.action}; "
            f"{row['annotations']['runbook_url']} [{alert.incident.id}]\n"
        )
        self.terminal.flush()
