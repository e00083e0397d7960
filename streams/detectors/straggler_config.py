"""A job that goes on with another configuration or batch size: its own past is no measure of it any more."""

from msgspec import structs

from streams.contract import Evidence, Finding
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_state import StragglerState
from streams.detectors.straggler_steps import OpenStep


def new_setting(
    limits: StragglerLimits, state: StragglerState, number: int, step: OpenStep, ts_us: int, *, muted: bool
) -> list[Finding]:
    """Forget the past before a step that runs with another setting, and end what was held against it.

    What is said of parts (a rank in its own past, transfers) is not over because it cannot be measured: it stays open
    until the part is elsewhere or the job ends.
    """
    setting, kept = state.setting, state.kept
    if setting.take(limits, step):
        _forget_past(state)
    if muted or number <= kept.set_since:
        return []
    changes = [
        f"{what} {was} -> {now}"
        for what, was, now in (
            ("configuration", kept.config, setting.config),
            ("global batch size", kept.batch_size, setting.batch_size),
        )
        if None not in (was, now) and was != now
    ]
    told = setting.config or kept.config, setting.batch_size or kept.batch_size
    if told == (kept.config, kept.batch_size):
        return []
    kept.config, kept.batch_size = told
    kept.set_since = number
    return _end_what_was_held_against_it(state, number, changes, ts_us) if changes else []


def _forget_past(state: StragglerState) -> None:
    for group in state.groups:
        group.forget_past()
    state.times.clear()
    state.parts.clear()
    state.per = None


def _end_what_was_held_against_it(state: StragglerState, number: int, changes: list[str], ts_us: int) -> list[Finding]:
    kept = state.kept
    for rank, suspect in kept.suspects.items():
        if suspect.base is not None:
            kept.suspects[rank] = structs.replace(suspect, held=True)
            state.since_open.pop(rank, None)
    kept.comm_held = bool(kept.comm)
    state.comm_above.clear()
    if kept.regression_base is None:
        return []
    kept.regression_base = None
    state.times_since.clear()
    words = f"{state.job} runs with another setting since step {number}, so its past says nothing of it any more"
    edge = kept.episodes.clear("regression", ts_us, words, [Evidence(what=change) for change in changes])
    return [] if edge is None else [edge]
