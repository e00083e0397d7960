"""`lockstep watch` on a terminal: a frame twice a second, moved by keys."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console, RenderableType
from rich.layout import Layout
from rich.live import Live
from rich.text import Text

from collectors.contract.errors import UserError
from infra.kafka.listener import Listener
from infra.watch.board import Board
from infra.watch.keys import Key, keys
from infra.watch.view import detail, render
from streams.contract import Incident

FRAME_S = 0.5
HELP = "up/down choose   enter details   a seen   q quit"


@dataclass(slots=True)
class Screen:
    """What is looked at: the list, or one incident of it. Pure: keys in, frames out."""

    board: Board
    cluster: str
    at: int = 0
    open_id: str | None = None
    said: str = ""

    def press(self, key: Key) -> Incident | None:
        """Move; the incident that was acknowledged, if one was."""
        still = self.board.open_incidents()
        self.at = max(0, min(self.at, len(still) - 1))
        if key == "up":
            self.at = max(0, self.at - 1)
        elif key == "down":
            self.at = min(max(0, len(still) - 1), self.at + 1)
        elif key == "enter" and still:
            self.open_id = still[self.at].id
        elif key == "back":
            self.open_id = None
        elif key == "ack":
            return self.board.incidents.get(self.open_id) if self.open_id else still[self.at] if still else None
        return None

    def frame(self, now_us: int, width: int, height: int, status: str) -> RenderableType:
        """What to show."""
        foot = Text(self.said or HELP, style="dim", no_wrap=True, overflow="ellipsis")
        incident = self.board.incidents.get(self.open_id) if self.open_id else None
        still = self.board.open_incidents()
        if incident is not None:
            page = detail(incident, now_us)
        else:
            nodes = self.board.nodes()
            chosen = min(self.at, max(0, len(still) - 1))
            title = f"Lockstep  {self.cluster}"
            size = {"width": width, "height": height - 1}
            page = render(self.board, nodes, now_us, title, status, **size, chosen=chosen)
        screen = Layout()
        screen.split_column(Layout(page), Layout(foot, size=1))
        return screen


@dataclass(slots=True)
class Watching:
    """A screen, what feeds it, and how an incident is acknowledged: `ack` says who has seen it."""

    screen: Screen
    listener: Listener
    ack: Callable[[Incident], str]

    def run(self) -> None:
        """Until `q` or Ctrl-C."""
        console = Console()
        with keys() as typed, Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                width, height = console.size
                frame = self.screen.frame(time.time_ns() // 1000, width, height, self.status())
                live.update(frame, refresh=True)
                for key in typed.typed(FRAME_S):
                    if key == "quit":
                        return
                    incident = self.screen.press(key)
                    if incident is not None:
                        self.screen.said = self._say(incident)

    def _say(self, incident: Incident) -> str:
        try:
            return f"{incident.id}: seen by {self.ack(incident)}"
        except UserError as why:
            return str(why)

    def status(self) -> str:
        """Whether what is shown is up to date."""
        if self.listener.away_since is not None:
            return f"Kafka does not answer for {time.monotonic() - self.listener.away_since:.0f} s; this is how it was"
        if not self.listener.is_alive():
            return "reading ended; start again"
        if not self.listener.caught_up.is_set():
            return "reading what stands in Kafka ..."
        return time.strftime("%H:%M:%S")
