"""What the schedulers' words on a node come to: is it in service, who says so, and until when."""

from collections.abc import Sequence

from collectors.contract.node import NodeState
from streams.health_book import Word


def word_of(told: Sequence[NodeState], ts_us: int) -> Word:
    """One source that closes a node is enough; it is open where one says so and none closes it; else nobody knows.

    Before a source's last word it had another, which is not known any more: then nothing is.
    """
    if any(s.ts_us > ts_us for s in told):
        return Word(None, ts_us, until_us=_ahead(told, ts_us))
    closing = [s for s in told if _closed(s, ts_us)]
    opening = [s for s in told if _closed(s, ts_us) is False]
    if not closing:
        seen = max((_opened_us(s, ts_us) for s in opening), default=0)
        person = any(s.by is not None for s in opening)
        return Word(False if opening else None, seen, "person" if person else "scheduler", until_us=_ahead(told, ts_us))
    last = max(closing, key=lambda s: (s.ts_us, s.source))
    return Word(
        True,
        last.ts_us,
        "person" if last.planned else "scheduler",
        "planned_work" if last.planned and last.until_us is not None else "drained",
        _ahead(told, ts_us),
    )


def _closed(state: NodeState, ts_us: int) -> bool | None:
    if state.schedulable is not None:
        # Planned as well or not: a node that sleeps to save power takes work.
        return not state.schedulable
    if state.planned is None:
        return None
    return state.planned and (state.until_us is None or ts_us < state.until_us)


def _opened_us(state: NodeState, ts_us: int) -> int:
    ended = state.until_us if state.planned and state.until_us is not None and state.until_us <= ts_us else 0
    return max(state.ts_us, ended)


def _ahead(told: Sequence[NodeState], ts_us: int) -> int | None:
    """When the first planned work that is still to end ends."""
    return min((s.until_us for s in told if s.planned and s.until_us is not None and s.until_us > ts_us), default=None)
