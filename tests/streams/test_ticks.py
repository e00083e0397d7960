from streams.ticks import Reached, WorkerClock

S = 1_000_000
T0 = 1_800_000_000 * S


def at(clock: WorkerClock, second: float) -> float | None:
    """What the clock tells at a second, in seconds."""
    now = clock.now(T0 + int(second * S))
    return None if now is None else (now - T0) / S


def test_the_clock_runs_a_second_behind_while_kafka_answers() -> None:
    clock = WorkerClock()
    assert at(clock, 0) is None
    clock.heard(T0)
    clock.heard(T0 + 10 * S)
    assert at(clock, 10) == 9.0


def test_time_stands_still_while_kafka_is_away_and_until_collectors_caught_up() -> None:
    clock = WorkerClock()
    clock.heard(T0)
    for second in range(1, 21):
        clock.missed(T0 + second * S)
        assert at(clock, second) == -1.0
    clock.heard(T0 + 21 * S)
    assert at(clock, 21) == -1.0
    assert at(clock, 50) == -1.0
    clock.heard(T0 + 52 * S)
    assert at(clock, 52) == 51.0


def after(clock: WorkerClock, second: int, *newest: int) -> float:
    """What the clock tells while the newest messages of the partitions have these seconds."""
    clock.heard(T0 + second * S)
    now = clock.now(T0 + second * S, [T0 + n * S for n in newest])
    assert now is not None
    return (now - T0) / S


def away(from_s: int, to_s: int) -> WorkerClock:
    clock = WorkerClock()
    clock.heard(T0 + from_s * S)
    clock.missed(T0 + to_s * S)
    clock.heard(T0 + to_s * S)
    return clock


def test_time_goes_on_after_half_a_minute_where_every_partition_is_up_to_date() -> None:
    assert after(away(0, 300), 329, 328, 327) == -1.0
    assert after(away(0, 300), 331, 330, 325) == 330.0


def test_time_stands_still_while_one_partition_is_filled_from_a_spool() -> None:
    clock = away(0, 300)
    assert after(clock, 400, 399, 250) == -1.0
    assert after(clock, 410, 409, 405) == 409.0


def test_a_partition_that_was_silent_before_the_outage_is_not_waited_for() -> None:
    assert after(away(100, 400), 431, 430, 20) == 430.0


def test_nobody_is_waited_for_longer_than_twice_the_outage_or_ten_minutes() -> None:
    short = away(0, 60)
    assert after(short, 179, 178, -1) == -1.0
    assert after(short, 180, 179, -1) == 179.0
    long = away(0, 3600)
    assert after(long, 4199, 4198, -1) == -1.0
    assert after(long, 4200, 4199, -1) == 4199.0


def test_a_hiccup_is_no_outage() -> None:
    clock = WorkerClock()
    clock.heard(T0)
    clock.missed(T0 + 2 * S)
    clock.heard(T0 + 3 * S)
    assert at(clock, 3) == 2.0


def test_a_worker_that_lags_is_told_the_time_of_what_it_read() -> None:
    reached = Reached({"a": 5, "b": 9}, {"a": T0, "b": T0 + 7 * S})
    assert reached.time({"a": 5, "b": 9}, T0 + 60 * S) == T0 + 60 * S
    assert reached.time({"a": 6, "b": 9}, T0 + 60 * S) == T0
    assert reached.time({"a": 6, "b": 10}, T0 + 60 * S) == T0
    assert reached.time({"c": 1}, T0 + 60 * S) is None
