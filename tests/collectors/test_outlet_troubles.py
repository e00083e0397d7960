"""What the log says of targets: a line when one fails, when the reason changes, and when it is read again."""

import logging

import pytest

from collectors.contract.beat import Beat
from collectors.outlet_troubles import AGAIN_S, CALM_S, LINES, Troubles


class Log:
    """Troubles under a clock of the test's, and their lines."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.now_s = 0.0
        self._caplog = caplog
        caplog.set_level(logging.INFO)
        self._troubles = Troubles(logging.getLogger("test.targets"), lambda: self.now_s)

    def hear(self, target: str, error: str | None, at_s: float) -> list[str]:
        """The lines that one beat makes."""
        self.now_s = at_s
        self._caplog.clear()
        self._troubles.hear(
            Beat(ts_us=1, collector="dcgm@h", source="dcgm", target=target, ok=error is None, error=error)
        )
        return [f"{record.levelname} {record.getMessage()}" for record in self._caplog.records]


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Log:
    return Log(caplog)


def test_a_good_target_is_no_news(log: Log) -> None:
    assert log.hear("a", None, 0.0) == []


def test_a_target_that_fails_is_told_once_and_again_after_an_hour(log: Log) -> None:
    assert log.hear("a", "Connection refused", 0.0) == ["WARNING dcgm a: Connection refused"]
    told = [line for second in range(10, 2 * int(AGAIN_S), 10) for line in log.hear("a", "Connection refused", second)]
    assert told == ["WARNING dcgm a: Connection refused (failing for 3600 s)"]


def test_targets_that_differ_by_a_digit_have_a_line_each(log: Log) -> None:
    assert log.hear("leaf1", "silent", 0.0) == ["WARNING dcgm leaf1: silent"]
    assert log.hear("leaf2", "silent", 0.1) == ["WARNING dcgm leaf2: silent"]


def test_another_number_in_the_reason_is_no_other_reason(log: Log) -> None:
    log.hear("a", "nothing came for 10 s", 0.0)
    assert log.hear("a", "nothing came for 90 s", 90.0) == []


def test_another_reason_is_told_when_the_last_line_is_a_minute_old(log: Log) -> None:
    log.hear("a", "Connection refused", 0.0)
    assert log.hear("a", "no answer", 10.0) == []
    assert log.hear("a", "no answer", CALM_S) == ["WARNING dcgm a: no answer (failing for 60 s)"]


def test_a_target_that_is_read_again_is_told_with_how_long_it_was_away(log: Log) -> None:
    for second in (0, 30, 60):
        log.hear("a", "Connection refused", second)
    assert log.hear("a", None, 90.0) == ["INFO dcgm a: read again, after 3 failed sweeps in 90 s"]
    assert log.hear("a", None, 100.0) == []


def test_a_target_that_comes_and_goes_is_no_line_each_time(log: Log) -> None:
    told = [line for second in range(0, 50) for line in log.hear("a", "reset" if second % 2 else None, second)]
    assert told == ["WARNING dcgm a: reset"]


def test_a_network_that_is_down_is_a_few_lines_and_a_count(log: Log) -> None:
    lines = [line for number in range(1000) for line in log.hear(f"node-{number}", "No route to host", 1.0)]
    assert len(lines) == LINES
    assert log.hear("other", "refused", 100.0) == [
        f"WARNING {1000 - LINES} more lines of targets were held back; their beats say all of it",
        "WARNING dcgm other: refused",
    ]
