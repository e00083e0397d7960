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


def test_a_long_outage_is_given_as_long_to_catch_up_but_not_for_ever() -> None:
    clock = WorkerClock()
    clock.heard(T0)
    clock.missed(T0 + 3600 * S)
    clock.heard(T0 + 3600 * S)
    assert at(clock, 3899) == -1.0
    clock.heard(T0 + 3901 * S)
    assert at(clock, 3901) == 3900.0


def test_time_stands_still_while_the_newest_message_still_comes_from_a_spool_but_not_for_ever() -> None:
    clock = WorkerClock()
    clock.heard(T0)
    clock.missed(T0 + 300 * S)
    clock.heard(T0 + 300 * S)

    def told(second: int, newest: int) -> float:
        clock.heard(T0 + second * S)
        return ((clock.now(T0 + second * S, T0 + newest * S) or 0) - T0) / S

    assert told(599, 598) == -1.0
    assert told(610, 590) == -1.0
    assert told(620, 612) == 619.0
    clock.missed(T0 + 1000 * S)
    clock.heard(T0 + 1000 * S)
    assert told(1599, 620) == 619.0
    assert told(1600, 620) == 1599.0


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
