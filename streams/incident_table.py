"""Incidents as a table for a terminal, and one of them in full."""

from collections.abc import Sequence
from datetime import UTC, datetime

from streams.contract import Incident, Order
from streams.incident_words import age_words
from streams.orders import in_force
from streams.standing import standing_words

_GRAVITY = {"critical": 0, "warning": 1, "info": 2}
_COLOURS = {"critical": "\x1b[31m", "warning": "\x1b[33m", "info": "\x1b[2m"}
_OFF = "\x1b[0m"
HEADS = ("AGE", "SEVERITY", "CAUSE", "PART", "JOBS", "STATE", "INCIDENT")


def table(found: Sequence[Incident], now_us: int, colour: bool) -> list[str]:
    """Gravest first, then the newest; a last line counts them."""
    rows = [
        (
            age_words((now_us if i.cleared_us is None else i.cleared_us) - i.opened_us),
            i.severity,
            i.cause_word,
            f"{i.subject.kind} {place(i)}",
            _jobs(i),
            state_words(i),
            i.id,
        )
        for i in sorted(found, key=lambda i: (i.state == "cleared", _GRAVITY[i.severity], -i.opened_us, i.id))
    ]
    widths = [max(len(row[column]) for row in [HEADS, *rows]) for column in range(len(HEADS))]
    lines = [_line(HEADS, widths)] if rows else []
    for row in rows:
        line = _line(row, widths)
        lines.append(f"{_COLOURS[row[1]]}{line}{_OFF}" if colour else line)
    return [*lines, count(found)]


def count(found: Sequence[Incident]) -> str:
    """How many are open, by who is told."""
    left = [i for i in found if i.state != "cleared"]
    if not left:
        return "no open incident"
    quiet = sum(i.muted_until_us is not None or i.planned is not None for i in left)
    critical = sum(i.severity == "critical" for i in left)
    words = f"{len(left)} open: {critical} critical, {len(left) - critical} for a ticket"
    return words + (f"; {quiet} of them muted or planned" if quiet else "")


def detail(i: Incident, now_us: int) -> list[str]:
    """All that a person needs of one incident."""
    until = now_us if i.cleared_us is None else i.cleared_us
    lines = [
        f"{i.id}  {i.severity}  {i.cause_word}  {state_words(i)}  {age_words(until - i.opened_us)}",
        f"  what      {i.summary}",
        f"  part      {i.subject.kind} {place(i)}" + (f" in {i.subject.node}" if i.subject.node else ""),
        f"  jobs      {', '.join(i.jobs) or 'none'}",
        f"  do        {i.action}",
        f"  runbook   {i.runbook}   owner {i.owner}" + (f"   confidence {i.confidence}" if i.confidence else ""),
    ]
    lines += [f"  maybe     {c.kind} {c.id} ({c.score:.0%}): {c.why}" for c in i.candidates]
    for row in i.evidence:
        number = "" if row.value is None else f": {row.value:g}" + (f" {row.unit}" if row.unit else "")
        lines.append(f"  evidence  {row.what}{number}")
    return lines


def order_line(order: Order, now_us: int) -> str:
    """One order in force, or to come."""
    until = "until it is ended" if order.until_us is None else f"until {_time(order.until_us)}"
    start = "" if in_force(order, now_us) or order.from_us is None else f"from {_time(order.from_us)} "
    what = " ".join(filter(None, (order.incident, order.cause, *order.parts)))
    return f"{order.kind}  {what}  {start}{until}  by {order.by}" + (f": {order.why}" if order.why else "")


def place(i: Incident) -> str:
    """The part by the name that a person knows: node and index for a GPU."""
    s = i.subject
    if s.kind == "gpu" and s.node is not None:
        return f"{s.node}/{s.gpu_index if s.gpu_index is not None else s.pci or s.id}"
    return s.id


def state_words(i: Incident) -> str:
    """Open or cleared, and what people said of it."""
    said = standing_words(i)
    state = "cleared" if i.state == "cleared" else "open"
    return f"{state}, {said}" if said else state


def _jobs(i: Incident) -> str:
    if i.jobs:
        return i.jobs[0] + (f" +{len(i.jobs) - 1}" if len(i.jobs) > 1 else "")
    possible = [c.id for c in i.candidates if c.kind == "job"]
    return f"maybe {possible[0]}" + (f" +{len(possible) - 1}" if len(possible) > 1 else "") if possible else "-"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _time(us: int) -> str:
    return datetime.fromtimestamp(us / 1e6, UTC).strftime("%Y-%m-%d %H:%M UTC")
