"""Words that all answers share."""

from collections.abc import Iterable
from datetime import UTC, datetime

from infra.diagnose.judged import Episode
from streams.causes import cause_row


def moment(ts_us: int) -> str:
    """UTC, to the second."""
    return datetime.fromtimestamp(ts_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def gravest(episodes: Iterable[Episode]) -> list[Episode]:
    """The weightiest cause first, of equals the oldest."""
    return sorted(episodes, key=lambda e: (-cause_row(e.finding.cause).weight(e.finding.severity), e.opened_us))


def said(episode: Episode) -> str:
    """One fault in a line."""
    end = "open" if episode.cleared_us is None else f"until {moment(episode.cleared_us)}"
    return f"{episode.finding.cause} since {moment(episode.opened_us)}, {end}: {episode.finding.summary}"
