"""When people are told of a case: its first word, what cannot wait, damped updates, its end."""

from dataclasses import dataclass

from msgspec import structs

from streams.causes import FLEET_SILENCE
from streams.contract import Incident
from streams.correlator_causes import level
from streams.correlator_common import SYMPTOM
from streams.correlator_limits import CorrelatorLimits, S
from streams.correlator_state import Case, CorrelatorState
from streams.incidents import Edge, incident, standing_of
from streams.standing import standing_told
from streams.world import World


@dataclass(slots=True)
class Telling:
    """Works on the cases that it is given; what was told last stands in them."""

    world: World
    limits: CorrelatorLimits

    def restand(self, state: CorrelatorState, case: Case, now_us: int) -> list[Incident]:
        """Somebody has seen it, muted it, or works there, or no longer: told at once, with the time it was said."""
        told = case.told
        if told is None or case.closed_us is not None or case.id in state.folded:
            return []
        stands = standing_of(state, case, told.cause_word, told.subject, self.world, now_us)
        if stands == standing_told(told):
            return []
        if told.planned is not None and stands.planned is None and self._is_over(state, case):
            return []  # The work ended, and so has what it explained: nobody need hear of it now.
        return self._say(state, case, "updated", max(told.ts_us + 1, case.touched_us, self._turned_us(now_us)))

    def _is_over(self, state: CorrelatorState, case: Case) -> bool:
        return all(state.members[key].cleared_us is not None for key in state.keys_of(case.id))

    def _turned_us(self, now_us: int) -> int:
        return max(self.world.orders.turned_us(now_us), self.world.states.turned_us(now_us))

    def due(self, state: CorrelatorState, case: Case, now_us: int) -> list[Incident]:
        """What the passing of time brings: first word, damped update, end, and at last to be forgotten."""
        if case.id in state.folded:
            return self._folded(state, case, now_us)
        if case.closed_us is not None:
            if now_us >= case.closed_us + self.limits.forget_us:
                state.drop(case.id)
            return []
        ends = [state.members[key].cleared_us for key in state.keys_of(case.id)]
        if None not in ends:
            end = max(e for e in ends if e is not None)
            if case.told is None and _was_due(case, end):
                return self._say(state, case, "opened", case.due_us)
            if now_us < end + self.limits.settle_us:
                return []
            case.closed_us = end + self.limits.settle_us
            state.changed.add(f"case|{case.id}")
            return self._say(state, case, "cleared", case.closed_us, end) if case.told else []
        if case.told is None:
            return self._say(state, case, "opened", max(case.due_us, case.touched_us)) if now_us >= case.due_us else []
        due = case.told.ts_us + self.limits.update_us
        return self._say(state, case, "updated", max(due, case.touched_us)) if case.news and now_us >= due else []

    def tell(self, state: CorrelatorState, case: Case, ts_us: int) -> list[Incident]:
        """What an edge brings at once: a hardware cause, a new cause or part, a graver severity, an end by folding."""
        if case.told is None:
            # A symptom is told by a tick: while a backlog is read, its cause may come right behind it.
            hardware = case.closed_us is None and case.root in state.members and ts_us >= case.due_us
            if not hardware or level(state.members[case.root].finding, self.world) < SYMPTOM:
                return []
            return self._say(state, case, "opened", ts_us)
        if case.id in state.folded:
            return self._folded(state, case, ts_us)
        if case.closed_us is not None:
            return []
        if case.told.severity == "critical" and _is_same_cause(state, case, case.told):
            return []
        fresh = incident(state, case, "updated", ts_us, self.world)
        if _gist(fresh) != _gist(case.told):
            return self._say(state, case, "updated", ts_us)
        return []

    def _say(
        self, state: CorrelatorState, case: Case, how: Edge, ts_us: int, cleared_us: int | None = None
    ) -> list[Incident]:
        fresh = incident(state, case, how, ts_us, self.world, cleared_us)
        case.news = False
        state.changed.add(f"case|{case.id}")
        if how == "updated" and case.told is not None and not _differs(case.told, fresh):
            return []
        case.told = fresh
        return [fresh]

    def _folded(self, state: CorrelatorState, case: Case, ts_us: int) -> list[Incident]:
        told = case.told
        assert told is not None
        into = state.members[case.root].case if case.root in state.members else None
        case.told = structs.replace(
            told,
            state="cleared",
            ts_us=ts_us,
            cleared_us=ts_us,
            summary=f"part of {into or 'another incident'}: {told.summary}",
            folded_into=into,
        )
        state.changed.add(f"case|{case.id}")
        return [case.told]


def _was_due(case: Case, end_us: int) -> bool:
    """Was it to be told before it ended, had time not stood still, as it does while Kafka is away?"""
    return -(-case.due_us // S) * S <= end_us


def _gist(i: Incident) -> tuple[str, str, str, str, str]:
    """What is told at once when it changes."""
    return i.cause, i.cause_word, i.severity, i.subject.kind, i.subject.id


def _is_same_cause(state: CorrelatorState, case: Case, told: Incident) -> bool:
    """Nothing that would be told at once can be new but the severity."""
    root = state.members[case.root].finding
    subject = case.common if case.common is not None else root.subject
    word = FLEET_SILENCE if case.fleet else root.cause
    return (told.cause, told.cause_word, told.subject.kind, told.subject.id) == (
        case.root,
        word,
        subject.kind,
        subject.id,
    )


def _differs(told: Incident, now: Incident) -> bool:
    """Is there news in it for a person? Age and damped numbers are none."""
    return standing_told(told) != standing_told(now) or any(
        getattr(told, name) != getattr(now, name)
        for name in (
            "severity",
            "cause",
            "cause_word",
            "subject",
            "symptoms",
            "jobs",
            "gpus",
            "gpu_hours_lost_per_hour",
            "action",
            "candidates",
            "confidence",
        )
    )
