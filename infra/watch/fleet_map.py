"""The fleet as cells: a node each, by rack where racks are known; racks fold into a cell where there is no room."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from rich.text import Text

from infra.watch.board import Board
from streams.contract import Incident

STATE_STYLE = {
    "healthy": "green",
    "probation": "green",
    "validating": "cyan",
    "suspect": "yellow",
    "cordoned": "bold red",
    "draining": "magenta",
    "in_repair": "magenta",
    "retired_candidate": "bold magenta",
    "unknown": "dim",
}
GRAVITY = tuple(STATE_STYLE)
HURT = "bold white on red"
"""A node with an open incident that pages."""
FEW = 24
"""So many nodes are written out with their names and scores."""


def fleet_map(board: Board, nodes: Sequence[str], width: int, most_lines: int) -> Text:
    """At most `most_lines` lines of `width` columns. `nodes`: those that should be there, in order."""
    hurt = _hurt(board.open_incidents())
    if len(nodes) <= FEW:
        return _named(board, nodes, hurt)
    racks: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        racks[board.racks.get(node, "")].append(node)
    lines = sum(1 + len(those) // max(1, width - 10) for those in racks.values())
    out = Text()
    if lines <= most_lines:
        for rack, those in racks.items():
            out.append(f"{rack or 'nodes':<9.9} ", style="dim")
            for node in those:
                out.append("■", style=_style(board, node, hurt))
            out.append("\n")
    else:
        for rack, those in racks.items():
            worst = max(those, key=lambda n: (n in hurt, GRAVITY.index(_state(board, n))))
            bad = sum(1 for n in those if n in hurt or _state(board, n) not in ("healthy", "probation"))
            out.append("■", style=_style(board, worst, hurt))
            out.append(f"{rack or 'nodes'} {bad}/{len(those)}  " if bad else "", style="dim")
        out.append("\n")
    out.append(_counts(board, nodes, hurt))
    return out


def _named(board: Board, nodes: Sequence[str], hurt: Mapping[str, str]) -> Text:
    line = Text()
    for name in nodes:
        health = board.health.get(name)
        style = _style(board, name, hurt)
        line.append("■ ", style=style)
        line.append(f"{name} ", style="" if health else "dim")
        line.append(f"{100 if health is None else health.score:.0f}   ", style=style)
    return line


def _counts(board: Board, nodes: Sequence[str], hurt: Mapping[str, str]) -> Text:
    counts: dict[str, int] = defaultdict(int)
    for node in nodes:
        counts[_state(board, node)] += 1
    line = Text(f"{len(nodes)} nodes: ", style="dim")
    for state in GRAVITY:
        if counts[state]:
            line.append(f"■ {counts[state]} {state.replace('_', ' ')}  ", style=STATE_STYLE[state])
    if hurt:
        line.append("■", style=HURT)
        line.append(f" {len(hurt)} with a page open: {', '.join(sorted(hurt)[:4])}")
        line.append(" ..." if len(hurt) > 4 else "")
    return line


def _state(board: Board, node: str) -> str:
    health = board.health.get(node)
    return "healthy" if health is None else health.state


def _style(board: Board, node: str, hurt: Mapping[str, str]) -> str:
    return HURT if node in hurt else STATE_STYLE.get(_state(board, node), "dim")


def _hurt(still: Sequence[Incident]) -> dict[str, str]:
    """Node -> the incident that pages for it."""
    return {
        i.subject.node: i.id
        for i in still
        if i.severity == "critical" and i.subject.node is not None and i.planned is None
    }
