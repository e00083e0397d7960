"""The accounting tree and its ratios."""

import pytest

from pipelines.buckets import BUCKETS, FREE, UNUSABLE, Sums, share, sums
from pipelines.rollup import statement


def test_levels_are_sums_of_the_buckets_below_them() -> None:
    gpu_us = {
        "no_data": 1,
        "down": 2,
        "out_of_service": 4,
        "unhealthy_in_pool": 8,
        "idle": 16,
        "lost": 32,
        "productive": 64,
    }
    assert sums(gpu_us) == Sums(installed=127, usable=112, allocated=96, productive=64)


def test_nothing_installed_has_no_ratios() -> None:
    nothing = sums({})
    assert nothing == Sums(installed=0, usable=0, allocated=0, productive=0)
    assert share(nothing.usable, nothing.installed) is None


def test_a_share_of_zero_is_zero_and_of_an_unknown_is_unknown() -> None:
    assert share(0, 5) == 0
    assert share(None, 5) is None
    assert share(5, None) is None


def test_a_bucket_that_the_tree_does_not_have_is_an_error() -> None:
    with pytest.raises(KeyError, match="idel"):
        sums({"idel": 1})


def test_every_bucket_that_sql_makes_is_in_the_tree_and_told_apart() -> None:
    assert len({bucket.name for bucket in BUCKETS}) == len({bucket.colour for bucket in BUCKETS}) == len(BUCKETS)
    made = statement("rollups", "usable_compute_hourly")
    for bucket in BUCKETS:
        assert f"'{bucket.name}'" in made


def test_the_daily_sums_draw_the_levels_where_the_tree_does() -> None:
    daily = statement("rollups", "effective_compute_daily")
    usable, allocated = daily.split("as usable_us")[0], daily.split("as usable_us")[1].split("as allocated_us")[0]
    for name in (bucket.name for bucket in BUCKETS):
        assert (f"'{name}'" in usable) == (name in UNUSABLE)
        assert (f"'{name}'" in allocated) == (name in UNUSABLE | FREE)
