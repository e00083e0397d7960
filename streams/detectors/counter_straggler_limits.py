"""The limits of the judgement by GPU counters alone."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterStragglerLimits:
    """Windows and persistence are those of Minder (NSDI '25); the other numbers are this project's choice.

    Nobody has tested such a rule on data with known faults: its findings are tickets of low confidence.
    """

    active: float = 0.3
    """Share of time with work on the SMs from which a GPU is judged (rule sketch of gpu fault knowledge)."""
    window: int = 8
    """Samples in a row that are one point (Minder)."""
    for_us: int = 240_000_000
    """A GPU must stand apart for so long (Minder)."""
    longest_us: int = 900_000_000
    """A window that took longer says nothing, and neither does a gap of that size: own choice."""
    least: int = 4
    """GPUs of one job and model on the node, itself included, that make a comparison: own choice."""
    distance: float = 2.0
    """Root mean square of the deviations from the others, in units of their spread, that stands apart: own choice."""
    clock_distance: float = 3.0
    """Deviation of the SM clock alone, in the same unit, that a slow GPU has: own choice."""
    apart: float = 2.0
    """And so many times the median distance of the others: own choice."""
    clock_loss: float = 0.06
    """Share of the others' SM clock that is lost: own choice, beyond what a job
    would notice; from 0.1 on the throttle detector speaks."""
    capped_loss: float = 0.1
    """The same at the power cap, where chips differ: own choice."""
    busy: float = 0.97
    """Of the others' tensor (else SM) activity: a GPU with less does not hold them up by its clock. Own choice."""
    starved: float = 0.7
    """Of the others' activity, at their clock: its host may starve it. Own choice; for the record only."""
    clock_spread: float = 0.01
    """Least spread of the SM clock that is believed, as a share of it: own choice."""
    power_spread: float = 0.03
    """The same of power: own choice."""
    activity_spread: float = 0.05
    """The same of tensor and memory activity: own choice."""
    heat_spread: float = 0.06
    """The same of the temperature in Celsius: own choice."""
