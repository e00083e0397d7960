"""Ratios, noise, windows and level shifts, on numbers that can be checked by hand."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_statistic import (
    level_shift,
    median,
    ratios_to_others,
    sigma_of,
    slow_window,
)

LIMITS = StragglerLimits()


def quiet(_: int) -> float:
    return 0.01


def test_a_pair_shows_the_whole_excess() -> None:
    assert ratios_to_others({0: 1.2, 1: 1.0}) == pytest.approx({0: math.log(1.2), 1: -math.log(1.2)})


@given(st.dictionaries(st.integers(0, 999), st.floats(0.01, 100), min_size=2, max_size=40))
def test_a_rank_is_compared_with_the_median_of_the_others(own: dict[int, float]) -> None:
    expected = {r: math.log(v / median([w for q, w in own.items() if q != r])) for r, v in own.items()}
    assert ratios_to_others(own) == pytest.approx(expected)


def test_noise_is_robust_and_has_a_floor() -> None:
    assert sigma_of([0.0] * 10 + [9.0], 0.01) == 0.01
    assert sigma_of([-0.1, 0.0, 0.1] * 5, 0.01) == pytest.approx(0.14826)
    assert sigma_of([], 0.01) == 0.01


def test_three_steps_prove_a_large_slow_down_in_a_quiet_group() -> None:
    found = slow_window(LIMITS, [0.0] * 20 + [math.log(1.3)] * 3, quiet)
    assert found is not None
    assert found.window == 3
    assert found.factor == pytest.approx(1.3)


@pytest.mark.parametrize("series", [[math.log(2.0)] * 2, [0.0] * 9 + [math.log(3.0)], [math.log(1.05)] * 40])
def test_few_steps_a_spike_or_a_small_slow_down_prove_nothing(series: list[float]) -> None:
    assert slow_window(LIMITS, series, quiet) is None


def test_noise_asks_for_a_longer_window() -> None:
    series = [0.0] * 20 + [math.log(1.3)] * 10
    assert slow_window(LIMITS, series[:-5], lambda _: 0.12) is None
    found = slow_window(LIMITS, series, lambda _: 0.12)
    assert found is not None
    assert found.window == 7


def test_a_shift_of_the_level_is_told_from_a_spike_and_from_a_swing() -> None:
    draw = random.Random(1)
    past = [math.log(5.0) + draw.gauss(0, 0.01) for _ in range(60)]
    assert level_shift(LIMITS, [*past, *(y + math.log(1.2) for y in past[:10])]) is not None
    assert level_shift(LIMITS, [*past, *past[:8], past[0] + 1, past[1] + 1]) is None
    assert level_shift(LIMITS, [*past, *(y + math.log(1.02) for y in past[:10])]) is None


def test_without_a_past_no_shift_is_claimed() -> None:
    assert level_shift(LIMITS, [0.0] * 19 + [1.0] * 10) is None
