"""Frames of the live view: incidents with cause and age, the fleet by node, rates; and one incident whole."""

from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from infra.watch.board import Board
from infra.watch.fleet_map import fleet_map
from streams.contract import Incident

STYLE = {"critical": "bold red", "warning": "yellow", "info": "cyan"}
MOST_INCIDENTS = 8
NARROW = 100


def age(since_us: int, now_us: int) -> str:
    """`12 s`, `3 min 05 s` or `2 h 07 min`."""
    seconds = max(0, (now_us - since_us) // 1_000_000)
    if seconds < 60:
        return f"{seconds} s"
    minutes, rest = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def render(
    board: Board,
    nodes: Sequence[str],
    now_us: int,
    title: str,
    status: str,
    *,
    width: int = 120,
    height: int = 40,
    chosen: int | None = None,
) -> RenderableType:
    """One frame of at most `height` lines. `nodes`: every node that should be there, so that one nobody speaks of
    is still shown. `chosen`: the incident under the cursor."""
    room = max(3, min(MOST_INCIDENTS, height - 14))
    map_lines = max(1, min(24, height - min(room, len(board.open_incidents())) - 10))
    return Group(
        Text(title, style="bold", no_wrap=True, overflow="ellipsis") + Text("   " + status, style="dim"),
        _incidents(board, now_us, width, room if chosen is not None else MOST_INCIDENTS, chosen),
        Panel(fleet_map(board, nodes, width - 4, map_lines), title="nodes, health of 100", title_align="left"),
        _rates(board, now_us),
    )


def _incidents(board: Board, now_us: int, width: int, room: int, chosen: int | None) -> RenderableType:
    still = board.open_incidents()
    cleared = len(board.incidents) - len(still)
    title = f"open incidents: {len(still)}" + (f", cleared: {cleared}" if cleared else "")
    if not still:
        return Panel(Text("nothing is wrong", style="green"), title=title, title_align="left", border_style="green")
    first = 0 if chosen is None else max(0, min(chosen - room // 2, len(still) - room))
    table = Table(box=None, expand=True, padding=(0, 1))
    table.add_column("age", justify="right", no_wrap=True)
    table.add_column("severity", no_wrap=True)
    table.add_column("cause", no_wrap=True)
    if width >= NARROW:
        table.add_column("jobs", no_wrap=True, max_width=18)
    table.add_column("what", ratio=1, no_wrap=chosen is not None, overflow="ellipsis")
    for at, incident in enumerate(still[first : first + room], start=first):
        row: list[str | Text] = [age(incident.opened_us, now_us), severity(incident), incident.cause_word]
        if width >= NARROW:
            row.append(", ".join(incident.jobs) or "none")
        table.add_row(*row, _what(incident), style="reverse" if at == chosen else "")
    hidden = len(still) - min(room, len(still))
    if hidden > 0:
        table.add_row(*[""] * (len(table.columns) - 1), f"and {hidden} more")
    return Panel(table, title=title, title_align="left", border_style=STYLE[still[0].severity].split()[-1])


def severity(incident: Incident) -> Text:
    """With what people said of it."""
    word = Text(incident.severity, style=STYLE[incident.severity])
    if incident.acked_by is not None:
        word.append(f" seen by {incident.acked_by}", style="green")
    if incident.muted_until_us is not None:
        word.append(" muted", style="dim")
    if incident.planned is not None:
        word.append(" planned", style="dim")
    return word


def detail(incident: Incident, now_us: int) -> RenderableType:
    """One incident whole: what on-call needs to act."""
    rows: list[RenderableType] = [
        Text(incident.summary),
        Text(""),
        _line("severity", severity(incident)),
        _line("cause", Text(incident.cause_word)),
        _line("part", Text(f"{incident.subject.kind} {incident.subject.id}")),
        _line("first seen", Text(f"{_moment(incident.opened_us)}, {age(incident.opened_us, now_us)} ago")),
        _line("jobs", Text(", ".join(incident.jobs) or "none")),
        _line("do", Text(incident.action, style="bold")),
        _line("runbook", Text(incident.runbook)),
    ]
    if incident.confidence is not None:
        rows.append(_line("confidence", Text(incident.confidence)))
    rows += [_line("maybe", Text(f"{c.kind} {c.id} ({c.score:.0%}): {c.why}")) for c in incident.candidates[:5]]
    if incident.gpu_hours_lost_per_hour is not None:
        rows.append(_line("cost", Text(f"{incident.gpu_hours_lost_per_hour:.1f} GPU-hours an hour")))
    rows.append(Text("\nevidence", style="bold"))
    for fact in incident.evidence[:16]:
        number = "" if fact.value is None else f": {fact.value:g}{f' {fact.unit}' if fact.unit else ''}"
        rows.append(Text(f"  {fact.what}{number}"))
    return Panel(Group(*rows), title=incident.id, title_align="left", border_style=STYLE[incident.severity].split()[-1])


def _line(name: str, value: Text) -> Text:
    return Text(f"{name:<11} ", style="dim") + value


def _moment(ts_us: int) -> str:
    return datetime.fromtimestamp(ts_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _what(incident: Incident) -> str:
    folded = f" (+{len(incident.symptoms)} symptoms)" if incident.symptoms else ""
    return incident.summary + folded


def _rates(board: Board, now_us: int) -> RenderableType:
    line = Text()
    for source, rate in sorted(board.rates.items()):
        line.append(f"{source} ", style="bold")
        line.append(f"{rate.per_second(now_us):,.0f}/s   ")
    total = sum(rate.total for rate in board.rates.values())
    line.append(f"{total:,} samples so far", style="dim")
    if silent := board.silent(now_us):
        line.append(f"\n{len(silent)} collectors silent: {', '.join(silent[:4])}", style="bold magenta")
        line.append(" ..." if len(silent) > 4 else "")
    if board.rejected:
        line.append(f"\n{board.rejected:,} messages could not be read (rejected.v1)", style="yellow")
    return Panel(line, title="samples into Kafka", title_align="left")


def plain(incident: Incident, start_us: int) -> str:
    """One line for one edge of an incident, where there is no terminal. Seconds are since `start_us`."""
    at = (incident.ts_us - start_us) / 1e6
    return f"{at:6.1f} s  {incident.state:8} {incident.severity:8} {incident.cause_word:24} {_what(incident)}"
