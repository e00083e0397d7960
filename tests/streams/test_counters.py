"""Counters: every reason for a fall, and what may be claimed of each."""

from hypothesis import given
from hypothesis import strategies as st

from collectors.contract.fabric import CounterForm
from streams.counters import Change, Past, Rhythm, advance, line_rate_per_s

S = 1_000_000
NARROW = CounterForm(bits=32)
SATURATING = CounterForm(kind="saturating_counter", bits=16)


def past(value: int, ts_s: int = 10, epoch: str = "a") -> Past:
    return Past(value, ts_s * S, ts_s * S, epoch)


def test_the_first_sample_is_only_a_baseline() -> None:
    assert advance(None, 7, 10 * S, epoch="a") == (past(7), Change(None, first=True))


def test_growth_is_the_difference_over_the_time_between_the_sources_stamps() -> None:
    assert advance(past(7), 9, 21 * S, epoch="a") == (past(9, 21), Change(2, 11 * S))


def test_no_growth_is_zero_not_nothing() -> None:
    assert advance(past(7), 7, 20 * S, epoch="a")[1] == Change(0, 10 * S)


def test_a_duplicate_or_late_sample_changes_nothing() -> None:
    assert advance(past(7), 7, 10 * S, epoch="a") == (past(7), None)
    assert advance(past(7), 3, 9 * S, epoch="a") == (past(7), None)


def test_a_value_that_could_not_be_read_changes_nothing() -> None:
    assert advance(past(7), None, 20 * S, epoch="a") == (past(7), None)
    assert advance(past(7), float("nan"), 20 * S, epoch="a") == (past(7), None)
    assert advance(past(7), -1, 20 * S, epoch="a") == (past(7), None)


def test_a_32_bit_wrap_below_line_rate_is_growth() -> None:
    _, change = advance(past(2**32 - 5), 6, 20 * S, epoch="a", form=NARROW, ceiling_per_s=1e6)
    assert change == Change(11, 10 * S, wrapped=True)


def test_a_32_bit_fall_that_no_line_could_carry_is_a_reset() -> None:
    _, change = advance(past(2**31 + 5), 6, 20 * S, epoch="a", form=NARROW, ceiling_per_s=1e6)
    assert change == Change(0, 10 * S, reset=True)


def test_a_small_counter_that_was_cleared_is_no_wrap_even_on_a_fast_line() -> None:
    fast = line_rate_per_s("packets", 400)
    _, change = advance(past(10), 0, 20 * S, epoch="a", form=NARROW, ceiling_per_s=fast)
    assert change == Change(0, 10 * S, reset=True)


def test_a_wrap_is_not_believed_where_the_speed_is_unknown() -> None:
    assert advance(past(2**32 - 5), 6, 20 * S, epoch="a", form=NARROW)[1] == Change(0, 10 * S, reset=True)


def test_a_64_bit_counter_that_falls_was_reset_and_nothing_is_claimed() -> None:
    assert advance(past(700), 6, 20 * S, epoch="a", ceiling_per_s=1e9)[1] == Change(0, 10 * S, reset=True)


def test_after_a_restart_at_most_the_new_value_was_counted() -> None:
    assert advance(past(700), 6, 20 * S, epoch="b")[1] == Change(6, 10 * S, reset=True)
    assert advance(past(7), 600, 20 * S, epoch="b")[1] == Change(600, 10 * S, reset=True)


def test_a_jump_that_no_line_could_carry_is_not_growth() -> None:
    assert advance(past(7), 2**63, 20 * S, epoch="a", ceiling_per_s=1e9)[1] == Change(0, 10 * S, reset=True)


def test_a_saturated_counter_is_blind_and_gives_no_delta() -> None:
    after, change = advance(past(7), 2**16 - 1, 20 * S, epoch="a", form=SATURATING)
    assert change == Change(None, blind=True)
    assert after is not None and after.blind
    after, change = advance(after, 3, 30 * S, epoch="a", form=SATURATING)
    assert change == Change(0, 20 * S, reset=True)
    assert after is not None and not after.blind


def test_the_same_value_inside_the_refresh_period_says_nothing_and_stretches_the_window() -> None:
    slow = CounterForm(refresh_us=10 * S)
    after, change = advance(past(7), 7, 15 * S, epoch="a", form=slow)
    assert change is None
    assert advance(after, 9, 22 * S, epoch="a", form=slow)[1] == Change(2, 12 * S)


def test_over_a_gap_the_delta_is_kept_and_marked() -> None:
    _, change = advance(past(7), 9, 100 * S, epoch="a", nominal_us=10 * S)
    assert change == Change(2, 90 * S, gap=True)


def test_nothing_is_subtracted_across_a_lost_stream() -> None:
    assert advance(past(7), 900, 20 * S, epoch="a", baseline=True)[1] == Change(None, first=True)


def test_a_narrow_counter_that_was_cleared_with_others_did_not_wrap() -> None:
    for cleared, expected in ((True, Change(0, 10 * S, reset=True)), (False, Change(6, 10 * S, wrapped=True))):
        found = advance(past(2**32 - 5), 1, 20 * S, form=NARROW, epoch="a", ceiling_per_s=1e9, cleared=cleared)
        assert found == (past(1, 20), expected)


def test_a_lines_rate_is_known_for_packets_and_bytes_only() -> None:
    assert line_rate_per_s("bytes", 8) == 1e9
    assert line_rate_per_s("packets", 0.672) == 1e6
    assert line_rate_per_s("events", 8) is None
    assert line_rate_per_s("packets", None) is None


samples = st.lists(
    st.tuples(
        st.integers(0, 40),
        st.one_of(st.none(), st.integers(0, 2**32 - 1), st.integers(2**32 - 50, 2**32 - 1), st.integers(0, 9)),
        st.sampled_from(["a", "b"]),
        st.booleans(),
    ),
    max_size=30,
)


@given(samples)
def test_never_a_negative_and_never_more_than_the_line_carries(
    taken: list[tuple[int, int | None, str, bool]],
) -> None:
    held: Past | None = None
    for ts_s, value, epoch, baseline in taken:
        held, change = advance(held, value, ts_s * S, form=NARROW, epoch=epoch, ceiling_per_s=1000.0, baseline=baseline)
        if change is not None and change.delta is not None:
            assert 0 <= change.delta <= 1000 * 60


@given(st.lists(st.integers(0, 2**20), min_size=2, max_size=30), st.data())
def test_missing_samples_lose_no_growth(steps: list[int], data: st.DataObject) -> None:
    """A true counter, sampled with gaps, duplicates and late repeats, adds up to its true growth."""
    total, series = 2**32 - 2**21, []
    for i, step in enumerate(steps):
        total += step
        series.append((i * S, total % 2**32))
    kept = [series[0], *(s for s in series[1:-1] if data.draw(st.booleans())), series[-1]]
    again = [s for sample in kept for s in (sample, sample, kept[0])]
    held: Past | None = None
    seen = 0
    for ts_us, value in again:
        held, change = advance(held, value, ts_us, form=NARROW, ceiling_per_s=2.0**21)
        if change is not None and change.delta is not None:
            seen += int(change.delta)
    assert seen == sum(steps[1:])


def test_the_usual_window_is_the_lower_median_and_unknown_at_first() -> None:
    rhythm = Rhythm()
    for at_s in (0, 10, 20, 20, 15, 31):
        rhythm.learn(at_s * S)
    assert rhythm.nominal_us() is None
    for at_s in (40, 99):
        rhythm.learn(at_s * S)
    assert rhythm.nominal_us() == 10 * S
