"""What an alert is called and where its links lead."""

import string
from dataclasses import dataclass

from collectors.contract.settings import SettingError
from streams.contract import Incident

MOST_KEY = 255
"""Characters of PagerDuty's `dedup_key`; nobody allows fewer."""
_FIELDS = ("cluster", "incident", "node", "device", "port", "job", "cause", "from_ms", "to_ms")


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Where people find runbooks and graphs."""

    runbooks: str = ""
    """URL before a runbook's path."""
    graphs: str = ""
    """URL with `{node}` and the like in it; empty: no link."""

    def __post_init__(self) -> None:
        try:
            names = {name for _, name, _, _ in string.Formatter().parse(self.graphs) if name is not None}
        except ValueError as why:
            raise SettingError(f"LOCKSTEP_GRAPHS={self.graphs!r}: {why}") from why
        if unknown := sorted(names - set(_FIELDS)):
            raise SettingError(
                f"LOCKSTEP_GRAPHS={self.graphs!r}: {{{unknown[0]}}} is none of {', '.join(f'{{{f}}}' for f in _FIELDS)}"
            )

    def runbook(self, incident: Incident) -> str:
        """Of the cause."""
        return f"{self.runbooks.rstrip('/')}/{incident.runbook}" if self.runbooks else incident.runbook

    def graph(self, incident: Incident) -> str:
        """From ten minutes before it opened until ten minutes after its last news; empty: none."""
        from urllib.parse import quote

        s = incident.subject
        values = {
            "cluster": incident.cluster,
            "incident": incident.id,
            "node": s.node or "",
            "device": s.device or "",
            "port": s.port or "",
            "job": s.job or (incident.jobs[0] if incident.jobs else ""),
            "cause": incident.cause_word,
            "from_ms": str(incident.opened_us // 1000 - 600_000),
            "to_ms": str(incident.ts_us // 1000 + 600_000),
        }
        return self.graphs.format(**{name: quote(value, safe="") for name, value in values.items()})


def dedup_key(incident: Incident) -> str:
    """The same at every receiver, over updates, restarts and workers. An id is short; a cluster's name need not be."""
    return f"lockstep/{incident.cluster[: MOST_KEY - len(incident.id) - 10]}/{incident.id}"


def labels_of(incident: Incident) -> dict[str, str]:
    """A stable label set, strings only; empty ones left out. No counts, times or job lists."""
    s = incident.subject
    labels = {
        "alertname": camel(incident.cause_word),
        "cluster": incident.cluster,
        "incident": incident.id,
        "detector": incident.detector,
        "owner": incident.owner,
        "rack": incident.rack or "",
        "node": s.node or "",
        "device": s.device or "",
        "port": s.port or "",
        "priority": "" if s.priority is None else str(s.priority),
        "gpu_index": "" if s.gpu_index is None else str(s.gpu_index),
        **grade(incident),
    }
    labels = {k: v for k, v in labels.items() if v != ""}
    labels.setdefault(s.kind, s.id)
    return labels


def grade(incident: Incident) -> dict[str, str]:
    """The labels that say whether somebody is woken."""
    return {"severity": incident.severity, "page": "yes" if incident.severity == "critical" else "no"}


def camel(word: str) -> str:
    """`thermal_throttle` as `ThermalThrottle`."""
    return "".join(part[:1].upper() + part[1:] for part in word.split("_"))
