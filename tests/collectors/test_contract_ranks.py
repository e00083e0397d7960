"""Ranks as short text, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.contract.ranks import MOST, pack_ranks, unpack_ranks


@pytest.mark.parametrize(
    ("ranks", "text"),
    [
        ([], ""),
        ([5], "5"),
        (range(8), "0-7"),
        (range(0, 64, 8), "0-56/8"),
        ([0, 1, 2, 8, 9, 10], "0-2,8-10"),
        ([3, 9], "3,9"),
        ([3, 1, 0], "3,1,0"),
        ([7, 7], "7,7"),
    ],
)
def test_runs_are_written_short(ranks: list[int], text: str) -> None:
    assert pack_ranks(ranks) == text
    assert unpack_ranks(text) == list(ranks)


@given(st.lists(st.integers(0, 40), max_size=30))
def test_any_order_of_ranks_comes_back(ranks: list[int]) -> None:
    assert unpack_ranks(pack_ranks(ranks)) == ranks


@pytest.mark.parametrize("text", ["a", "1-", "-1", "5-3", "0-7/0", "1,,2", "0-999999999", "1 2"])
def test_what_is_no_list_of_ranks_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"not a rank|backwards|more than"):
        unpack_ranks(text)


def test_a_whole_million_is_still_read() -> None:
    assert len(unpack_ranks(f"0-{MOST - 1}")) == MOST
