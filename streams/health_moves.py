"""From which state a node goes to which, why and by whom: one move at one moment."""

from dataclasses import dataclass

from streams.contract import HealthState
from streams.health_book import Move, NodeMarks, Word
from streams.health_limits import HealthLimits
from streams.health_score import Evidence, is_hushed, unclean_us

OUT: frozenset[HealthState] = frozenset({"cordoned", "draining", "in_repair", "retired_candidate"})
"""States in which a node should get no work."""
RETURNING: frozenset[HealthState] = frozenset({"validating", "probation"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known of a node at one moment."""

    ts_us: int
    evidence: Evidence
    word: Word
    busy: bool
    """A job is on it."""
    gpus: tuple[str, ...]
    may_cordon: bool
    """The guard lets one more be taken out."""


def move(node: NodeMarks, facts: Facts, limits: HealthLimits) -> Move | None:
    """The next move of a node, with what it means for its memory; None: it stays."""
    before, at = node.move.state, facts.ts_us
    if before in ("draining", "in_repair"):
        return _served(node, facts)
    if before == "retired_candidate":
        # Whoever takes it out and puts it back has decided otherwise.
        return _returned(node, facts) if node.closed and facts.word.closed is False else None
    if facts.word.closed:
        return _taken_out(node, facts)
    why = facts.evidence.out(limits)
    if why and before not in OUT:
        if facts.may_cordon:
            return _cordoned(node, facts, why, limits)
        return _to("suspect", node, at, "fleet_guard", facts.evidence.keys) if before == "healthy" else None
    if before == "cordoned":
        good = facts.evidence.score >= limits.cordon_below + limits.margin
        if not why and good and at - node.move.since_us >= limits.dwell_us and not is_hushed(node):
            node.cordon = False
            return _to("suspect", node, at, "faded", facts.evidence.keys)
        return None
    if before in RETURNING:
        return _proven(node, at, limits)
    return _by_score(node, facts, limits)


def deadline_us(node: NodeMarks, limits: HealthLimits) -> int | None:
    """When the state alone, without a new word or fault, may move next."""
    state = node.move.state
    if state == "cordoned":
        return node.move.since_us + limits.dwell_us
    if state == "suspect" and node.good_us is not None:
        return node.good_us + limits.clear_us
    if state in RETURNING and (clean := unclean_us(node)) is not None:
        return max(clean, node.move.since_us) + _wait_us(node, limits)
    return None


def _served(node: NodeMarks, facts: Facts) -> Move | None:
    """Out of service by a scheduler's word: it empties, is repaired, comes back. Its silence is no word."""
    before, at, word = node.move.state, facts.ts_us, facts.word
    if word.closed is False:
        if before == "draining" and not node.cordon:
            return _to("suspect" if facts.evidence.keys else "healthy", node, at, "undrained", (), word)
        return _returned(node, facts)
    if before == "draining" and not facts.busy:
        return _to("in_repair", node, at, "empty", (), word)
    return None


def _returned(node: NodeMarks, facts: Facts) -> Move:
    node.back_us, node.cordon, node.cordoned_us = facts.ts_us, False, None
    node.swapped = bool(node.gpus) and bool(facts.gpus) and list(facts.gpus) != node.gpus
    return _to("validating", node, facts.ts_us, "returned", (), facts.word)


def _taken_out(node: NodeMarks, facts: Facts) -> Move:
    node.gpus, node.good_us = list(facts.gpus), None
    state: HealthState = "draining" if facts.busy else "in_repair"
    return _to(state, node, facts.ts_us, facts.word.why, facts.evidence.keys, facts.word)


def _cordoned(node: NodeMarks, facts: Facts, why: str, limits: HealthLimits) -> Move:
    at = facts.ts_us
    node.taken_out = [*(us for us in node.taken_out if at - us < limits.returns_us), at][-limits.returns :]
    node.cordon, node.cordoned_us, node.back_us, node.good_us = True, at, None, None
    state: HealthState = "retired_candidate" if len(node.taken_out) >= limits.returns else "cordoned"
    return _to(state, node, at, why, facts.evidence.keys)


def _proven(node: NodeMarks, at: int, limits: HealthLimits) -> Move | None:
    clean = unclean_us(node)
    if clean is None or at < max(clean, node.move.since_us) + _wait_us(node, limits):
        return None
    if node.move.state == "validating":
        return _to("probation", node, at, "clean", ())
    node.marks = {k: m for k, m in node.marks.items() if m.cleared_us is None or m.cleared_us > (node.back_us or 0)}
    node.back_us, node.swapped = None, False
    return _to("healthy", node, at, "clean", ())


def _wait_us(node: NodeMarks, limits: HealthLimits) -> int:
    if node.move.state == "probation":
        return limits.probation_us
    return limits.burn_in_swap_us if node.swapped else limits.burn_in_us


def _by_score(node: NodeMarks, facts: Facts, limits: HealthLimits) -> Move | None:
    at, now = facts.ts_us, facts.evidence.score
    if node.move.state == "healthy":
        return _to("suspect", node, at, "score", facts.evidence.keys) if now < limits.suspect_below else None
    if now < limits.suspect_below + limits.margin or is_hushed(node):
        node.good_us = None
    elif node.good_us is None:
        node.good_us = at
    if node.move.state != "suspect" or node.good_us is None or at - node.good_us < limits.clear_us:
        return None
    node.good_us = None
    return _to("healthy", node, at, "clear", ())


def _to(
    state: HealthState, node: NodeMarks, at: int, why: str, evidence: tuple[str, ...], word: Word | None = None
) -> Move:
    return Move(
        state=state,
        since_us=at,
        before=node.move.state,
        why=why,
        actor="lockstep" if word is None else word.actor,
        evidence=evidence,
    )
