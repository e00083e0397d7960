"""Level 1b: ranks that stopped reporting while others go on. An episode of its own, beside that of the hang."""

from streams.contract import Evidence, Finding, Subject
from streams.detectors.hang_findings import NAME
from streams.detectors.hang_limits import HangLimits
from streams.detectors.hang_state import HangState
from streams.detectors.roll import NAMED, listed_numbers


def missing(state: HangState, limits: HangLimits) -> list[Finding]:
    """Ranks that stopped reporting while others went on for a whole limit."""
    limit_us, last_us = state.pace.limit_us(limits), state.pace.last_us
    if last_us < max(state.oldest_us, state.resumed_us) + limit_us or "ranks" in state.kept.episodes.open:
        return []
    state.oldest_us = min(state.seen.values())
    silent = sorted(rank for rank, seen_us in state.seen.items() if last_us >= seen_us + limit_us)
    if not silent:
        return []
    deadline_us = max(state.resumed_us, min(state.seen[rank] for rank in silent)) + limit_us
    state.kept.missing = silent
    state.sync()
    edge = state.kept.episodes.report("ranks", _finding(state, deadline_us, limit_us, silent))
    return [] if edge is None else [edge]


def back(state: HangState, limits: HangLimits, ts_us: int) -> Finding | None:
    """The end, once all of them have reported again."""
    kept, limit_us = state.kept, state.pace.limit_us(limits)
    heard = all(rank in state.seen and state.seen[rank] + limit_us > state.now_us for rank in kept.missing)
    if not kept.missing or not heard:
        return None
    edge = kept.episodes.clear("ranks", ts_us, f"ranks {listed_numbers(kept.missing)} of {state.kept.job} report again")
    kept.missing = []
    return edge


def _finding(state: HangState, deadline_us: int, limit_us: int, silent: list[int]) -> Finding:
    kept = state.kept
    return Finding(
        cluster=kept.cluster,
        ts_us=deadline_us,
        detector=NAME,
        state="opened",
        subject=Subject(kind="job", id=kept.job, job=kept.job),
        episode_us=deadline_us,
        severity="warning",
        cause="rank_silent",
        value=limit_us / 1e6,
        limit=limit_us / 1e6,
        unit="s",
        summary=f"{len(silent)} of {len(state.seen)} ranks of {kept.job} stopped reporting while the others go on: "
        f"{_places(state, silent)}",
        evidence=[Evidence(what=f"last report of rank {rank}", ts_us=state.seen[rank]) for rank in silent[:NAMED]],
        jobs=[kept.job],
    )


def _places(state: HangState, ranks: list[int]) -> str:
    """`2, 3 (n1)`."""
    nodes = sorted({node for rank in ranks if (node := state.roll.of_rank(rank).node) is not None})
    where = ", ".join(nodes[:NAMED]) + (" ..." if len(nodes) > NAMED else "")
    return f"{listed_numbers(ranks)} ({where})" if where else listed_numbers(ranks)
