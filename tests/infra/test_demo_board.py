"""The live view is a pure picture of messages."""

from rich.console import Console

from collectors.contract.beat import Beat
from infra.watch.board import Board
from infra.watch.view import age, plain, render
from streams.contract import HealthReason, Incident, NodeHealth, Severity, Subject

T = 1_700_000_000_000_000
S = 1_000_000


def incident(id: str, severity: Severity, opened_us: int, **kwargs: object) -> Incident:
    known: dict[str, object] = {"state": "opened", "ts_us": opened_us, "symptoms": []} | kwargs
    return Incident(
        id=id,
        severity=severity,
        cause="c",
        cause_word="thermal_throttle",
        detector="throttle",
        subject=Subject(kind="gpu", id="g"),
        opened_us=opened_us,
        summary=f"{id} is hot",
        action="drain",
        runbook="r",
        **known,  # type: ignore[arg-type]
    )


def test_the_gravest_incident_stands_first_and_a_cleared_one_not_at_all() -> None:
    board = Board()
    for one in (
        incident("old", "warning", T),
        incident("grave", "critical", T + S),
        incident("over", "critical", T),
        incident("over", "critical", T, state="cleared"),
    ):
        board.take(one)
    assert [i.id for i in board.open_incidents()] == ["grave", "old"]


def test_a_rate_is_of_the_last_fifteen_seconds_and_the_loader_counts_nothing_twice() -> None:
    board = Board()
    for second in range(20):
        board.take(Beat(ts_us=T + second * S, collector="c", source="dcgm", samples=100))
        board.take(Beat(ts_us=T + second * S, collector="l", source="load", samples=100))
    assert list(board.rates) == ["dcgm"]
    assert board.rates["dcgm"].per_second(T + 19 * S) == 100
    assert board.rates["dcgm"].total == 2000
    assert board.rates["dcgm"].per_second(T + 60 * S) == 0


def test_a_frame_names_cause_age_health_and_rates() -> None:
    board = Board()
    board.take(incident("gpu3", "critical", T, symptoms=["a", "b"]))
    reason = HealthReason(cause="thermal_throttle", points=25, part="g", since_us=T, finding="f")
    board.take(NodeHealth(ts_us=T, node="n1", score=75, schedulable=True, state="suspect", reasons=[reason]))
    board.take(Beat(ts_us=T + 60 * S, collector="c", source="dcgm", samples=1500))
    console = Console(width=120, record=True, force_terminal=False, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    console.print(render(board, ["n1", "n2"], T + 65 * S - S, "Lockstep", "0:42"))
    text = console.export_text()
    for part in ("1 min 04 s", "critical", "thermal_throttle", "gpu3 is hot (+2 symptoms)", "n1 75", "n2 100"):
        assert part in text, text
    assert "dcgm 100/s" in text


def test_ages_are_read_aloud() -> None:
    assert [age(T, T + s * S) for s in (0, 59, 65, 7620)] == ["0 s", "59 s", "1 min 05 s", "2 h 07 min"]


def test_without_a_terminal_an_edge_is_one_line() -> None:
    line = plain(incident("gpu3", "critical", T + 12 * S), T)
    assert line == "  12.0 s  opened   critical thermal_throttle         gpu3 is hot"
