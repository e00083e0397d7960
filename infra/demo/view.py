"""The live view: incidents with cause and age, the fleet by node, rates."""

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from infra.demo.board import Board
from streams.contract import Incident, NodeHealth

STYLE = {"critical": "bold red", "warning": "yellow", "info": "cyan"}
STATE_STYLE = {"healthy": "green", "suspect": "yellow", "cordoned": "bold red", "unknown": "magenta"}
MOST_INCIDENTS = 8


def age(since_us: int, now_us: int) -> str:
    """`12 s`, `3 min 05 s` or `2 h 07 min`."""
    seconds = max(0, (now_us - since_us) // 1_000_000)
    if seconds < 60:
        return f"{seconds} s"
    minutes, rest = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def render(board: Board, nodes: list[str], now_us: int, title: str, status: str) -> RenderableType:
    """One frame. `nodes`: every node that should be there, so that one nobody speaks of is still shown."""
    return Group(
        Text(title, style="bold") + Text("   " + status, style="dim"),
        _incidents(board, now_us),
        _fleet(board, nodes),
        _rates(board, now_us),
    )


def _incidents(board: Board, now_us: int) -> RenderableType:
    still = board.open_incidents()
    cleared = len(board.incidents) - len(still)
    title = f"open incidents: {len(still)}" + (f", cleared: {cleared}" if cleared else "")
    if not still:
        return Panel(Text("nothing is wrong", style="green"), title=title, title_align="left", border_style="green")
    table = Table(box=None, expand=True, padding=(0, 1))
    table.add_column("age", justify="right", no_wrap=True)
    table.add_column("severity", no_wrap=True)
    table.add_column("cause", no_wrap=True)
    table.add_column("what", ratio=1)
    for incident in still[:MOST_INCIDENTS]:
        table.add_row(
            age(incident.opened_us, now_us),
            Text(incident.severity, style=STYLE[incident.severity]),
            incident.cause_word,
            _what(incident),
        )
    if len(still) > MOST_INCIDENTS:
        table.add_row("", "", "", f"and {len(still) - MOST_INCIDENTS} more")
    return Panel(table, title=title, title_align="left", border_style=STYLE[still[0].severity].split()[-1])


def _what(incident: Incident) -> str:
    folded = f" (+{len(incident.symptoms)} symptoms)" if incident.symptoms else ""
    return incident.summary + folded


def _fleet(board: Board, nodes: list[str]) -> RenderableType:
    line = Text()
    for name in nodes:
        health = board.health.get(name)
        style = STATE_STYLE[health.state] if health else "green"
        line.append("■ ", style=style)
        line.append(f"{name} ", style="" if health else "dim")
        line.append(f"{_score(health)}   ", style=style)
    return Panel(line, title="nodes, health of 100", title_align="left")


def _score(health: NodeHealth | None) -> str:
    return "100" if health is None else f"{health.score:.0f}"


def _rates(board: Board, now_us: int) -> RenderableType:
    line = Text()
    for source, rate in sorted(board.rates.items()):
        line.append(f"{source} ", style="bold")
        line.append(f"{rate.per_second(now_us):,.0f}/s   ")
    total = sum(rate.total for rate in board.rates.values())
    line.append(f"{total:,} samples so far", style="dim")
    return Panel(line, title="samples into Kafka", title_align="left")


def plain(incident: Incident, start_us: int) -> str:
    """One line for one edge of an incident, where there is no terminal. Seconds are since `start_us`."""
    at = (incident.ts_us - start_us) / 1e6
    return f"{at:6.1f} s  {incident.state:8} {incident.severity:8} {incident.cause_word:24} {_what(incident)}"
