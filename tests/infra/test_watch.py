"""The live view's pure parts: keys in, frames out."""

import io

from rich.console import Console, RenderableType

from collectors.contract.node import NodeState
from infra.watch.board import MOST_ENDED, Board
from infra.watch.fleet_map import fleet_map
from infra.watch.keys import parse
from infra.watch.live import Screen
from streams.contract import Evidence, HealthState, Incident, NodeHealth, Severity, Subject

T = 1_700_000_000_000_000
S = 1_000_000


def incident(name: str, severity: Severity = "critical", node: str = "n1", **more: object) -> Incident:
    fields: dict[str, object] = {"state": "opened", "ts_us": T, "opened_us": T, **more}
    return Incident(
        id=name,
        severity=severity,
        cause="c",
        cause_word="xid_79",
        detector="xid",
        subject=Subject(kind="gpu", id="g", node=node),
        summary=f"{name} fell off the bus",
        action="reboot the node",
        runbook="docs/runbooks/xid_79.md",
        evidence=[Evidence(what="XID 79", value=1.0, unit="lines")],
        **fields,  # type: ignore[arg-type]
    )


def drawn(frame: RenderableType, width: int = 80, height: int = 24) -> list[str]:
    console = Console(width=width, height=height, file=io.StringIO(), record=True)
    console.print(frame)
    return [line.rstrip() for line in console.export_text().splitlines()]


def board(count: int = 3) -> Board:
    made = Board()
    for n in range(count):
        made.take(incident(f"inc-{n}", opened_us=T + n * S))
    return made


def test_the_cursor_stays_within_the_open_incidents() -> None:
    screen = Screen(board(2), "default")
    for key in ("up", "down", "down", "down"):
        screen.press(key)
    assert screen.at == 1
    screen.board.take(incident("inc-1", state="cleared", ts_us=T + 9 * S))
    screen.press("other")
    assert screen.at == 0


def test_enter_shows_the_chosen_incident_whole_and_escape_the_list() -> None:
    screen = Screen(board(), "default")
    screen.press("down")
    screen.press("enter")
    page = "\n".join(drawn(screen.frame(T + 60 * S, 80, 24, "now")))
    assert "inc-1 fell off the bus" in page
    assert "reboot the node" in page
    assert "XID 79: 1 lines" in page
    assert "inc-2" not in page
    screen.press("back")
    assert "inc-2 fell" in "\n".join(drawn(screen.frame(T, 80, 24, "now")))


def test_what_is_seen_is_the_incident_under_the_cursor_or_the_open_one() -> None:
    screen = Screen(board(), "default")
    chosen = screen.press("ack")
    assert chosen is not None
    assert chosen.id == "inc-0"
    screen.press("down")
    screen.press("enter")
    screen.press("up")
    opened = screen.press("ack")
    assert opened is not None
    assert opened.id == "inc-1"
    assert Screen(Board(), "default").press("ack") is None


def test_a_frame_keeps_to_the_terminal_and_its_last_line_says_the_keys() -> None:
    for width, height in ((80, 24), (60, 16), (200, 50)):
        lines = drawn(Screen(board(40), "default").frame(T, width, height, "now"), width, height)
        assert len(lines) <= height
        assert max(map(len, lines)) <= width
        assert any(line.startswith("up/down") for line in lines)


def test_what_people_said_stands_with_the_severity() -> None:
    made = Board()
    made.take(incident("a", acked_by="mika"))
    made.take(incident("b", muted_until_us=T + S))
    page = "\n".join(drawn(Screen(made, "default").frame(T, 120, 24, "now"), 120))
    assert "seen by mika" in page
    assert "muted" in page


def test_a_fleet_of_512_nodes_is_a_cell_each_by_rack_or_a_cell_a_rack() -> None:
    made = board(1)
    for n in range(512):
        made.take(NodeState(ts_us=T, node=f"n{n}", source="file", rack=f"r{n // 32:02d}"))
        state: HealthState = "cordoned" if n == 40 else "healthy"
        made.take(NodeHealth(ts_us=T, node=f"n{n}", score=0.0, schedulable=True, state=state))
    nodes = made.nodes()
    assert nodes == [f"n{n}" for n in range(512)]
    wide = fleet_map(made, nodes, 100, 20).plain
    assert wide.count("■") == 512 + 3
    assert wide.splitlines()[1].startswith("r01 ")
    folded = fleet_map(made, nodes, 100, 4).plain
    assert folded.splitlines()[0].count("■") == 16
    assert "r01 1/32" in folded
    assert "512 nodes: ■ 511 healthy  ■ 1 cordoned  ■ 1 with a page open: n1" in folded


def test_ended_incidents_are_not_kept_for_ever() -> None:
    made = Board()
    for n in range(MOST_ENDED + 50):
        made.take(incident(f"i{n}", state="cleared", ts_us=T + n * S))
    assert len(made.incidents) == MOST_ENDED
    assert f"i{MOST_ENDED + 49}" in made.incidents


def test_arrows_letters_and_a_lone_escape_are_keys() -> None:
    assert parse("\x1b[A\x1b[Bjq\r\x1b") == ["up", "down", "down", "quit", "enter", "back"]
    assert parse("x") == ["other"]
