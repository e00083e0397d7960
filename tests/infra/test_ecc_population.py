"""Wrong tickets for corrected memory errors, in GPUs drawn from published rates."""

import pytest

from infra.fleet.ecc_population import LONE_PER_DAY, SPELL_EVENTS, calibrate, false_tickets
from streams.detectors.memory_conditions import MemoryLimits
from streams.detectors.memory_trend import TrendLimits

GPU_DAYS = 200_000


def test_the_rates_are_those_of_the_studies() -> None:
    """Events a GPU-day of the whole fleet: 0.0008 on Perlmutter, 0.0101 on Delta."""
    assert pytest.approx(2_016 / (7_604 * 326)) == 0.045 * LONE_PER_DAY
    assert pytest.approx(3_324 / (849 * 388)) == 0.0506 * (LONE_PER_DAY * 388 + SPELL_EVENTS) / 388


def test_less_than_one_ticket_in_100000_gpu_days_is_wrong_and_every_bad_gpu_is_found() -> None:
    made = calibrate(GPU_DAYS, seed=5)
    assert made.false_per_1000 == false_tickets(GPU_DAYS, seed=5) == 0.0
    assert (made.spells, made.spells_found) == (21, 21)
    assert made.days_to_ticket == pytest.approx(2.547, abs=0.01)


def test_milder_limits_would_bring_more_wrong_tickets() -> None:
    """So the figure moves with the limits: a single event-day is chance often enough."""
    mild = MemoryLimits(trend=TrendLimits(event_days=1))
    assert false_tickets(GPU_DAYS, seed=5, limits=mild) > 0.05
