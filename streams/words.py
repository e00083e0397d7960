"""Findings, incidents and node health as one line each, for a terminal."""

from datetime import UTC, datetime

from collectors.contract.message import Message
from streams.contract import Finding, Incident, NodeHealth
from streams.standing import standing_words


def line(message: Message) -> str:
    """One readable line; the time is the message's own, UTC."""
    time = datetime.fromtimestamp(message.ts_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(message, Finding):
        s = message.subject
        return (
            f"{time}  finding   {message.state:<8}{message.severity:<9}{message.cause}  "
            f"{s.kind} {s.id}  {message.summary}"
        )
    if isinstance(message, Incident):
        stands = standing_words(message)
        return (
            f"{time}  incident  {message.state:<8}{message.severity:<9}{message.cause_word}  {message.id}  "
            f"{message.summary}; do: {message.action}; {message.runbook}" + (f"; {stands}" if stands else "")
        )
    if isinstance(message, NodeHealth):
        why = ", ".join(f"{r.cause} on {r.part} -{r.points:g}" for r in message.reasons[:3])
        return f"{time}  health    {message.state:<17}{message.node}  {message.score:g}  {why}".rstrip()
    return f"{time}  {type(message).__name__}"
