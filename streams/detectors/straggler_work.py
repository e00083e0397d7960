"""When a job's load model is chosen: at its start, and when its ranks' work first differs."""

from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_load import Sample, choose_load, differs
from streams.detectors.straggler_state import StragglerState
from streams.detectors.straggler_steps import OpenStep

_RANKS = 256
"""Of a group that are sampled at the start."""
_LATER_RANKS, _LATER_GROUPS = 16, 16
"""That are looked at afterwards, in every step of a job whose ranks have had the same work so far."""
_LATER = (1, 3)
"""Steps of unequal work after which the model is chosen early: a verdict needs three at least. Our own choice."""


def learn_load(limits: StragglerLimits, state: StragglerState, step: OpenStep) -> bool:
    """Take in a step that is to be judged, and choose where it is time to; True: it is another model than before."""
    uneven = sample(limits, state, step)
    at_start = state.judged in (0, limits.settled_steps)
    if not at_start and not (uneven and state.uneven_steps in (*_LATER, limits.settled_steps)):
        return False
    load = choose_load(state.samples, state.load)
    if state.judged == limits.settled_steps:
        # Equal work says nothing of what unequal work would cost.
        state.uneven_steps = limits.settled_steps if any(map(differs, state.samples)) else 0
        state.samples.clear()
    changed = load != state.load
    state.load = load
    return changed


def sample(limits: StragglerLimits, state: StragglerState, step: OpenStep) -> bool:
    """Remember what peers worked on in one step, until a model was chosen from work that differed; True: it did now,
    for the first times since the start."""
    if not step.train or state.uneven_steps >= limits.settled_steps:
        return False
    later = state.judged > limits.settled_steps
    uneven = False
    for group in state.groups[:_LATER_GROUPS] if later else state.groups:
        samples = [
            Sample(e.compute_s, e.tokens, e.sum_sq_len)
            for rank in group.ranks[: _LATER_RANKS if later else _RANKS]
            if (e := step.entries.get(rank)) is not None and e.compute_s is not None and e.compute_s > 0
        ]
        if len(samples) > 1 and (differs(samples) or not later):
            state.samples.append(samples)
            uneven = later
    state.uneven_steps += uneven
    return uneven
