"""Times as a person writes them on a command line."""

from datetime import UTC, datetime

from collectors.contract.errors import UserError


def moment_us(option: str, text: str) -> int:
    """Unix microseconds of `2026-11-01` or `2026-11-01T08:00`, UTC unless it says otherwise. Raises `UserError`."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as why:
        raise UserError(f"{option} {text}: {why}; write 2026-11-01 or 2026-11-01T08:00") from why
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
    return round(moment.timestamp() * 1e6)
