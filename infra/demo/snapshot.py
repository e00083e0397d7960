"""The live view of a scenario at one second, in virtual time, as an SVG: `python -m infra.demo.snapshot OUT.svg`."""

import argparse
import io
import re
import sys
from pathlib import Path

from rich.console import Console

from collectors.contract.beat import Beat
from collectors.contract.fabric import PortScrape
from collectors.contract.gpu import GpuScrape
from infra.fleet.scenario import load, named
from infra.fleet.virtual import messages
from infra.watch.board import Board
from infra.watch.view import render
from streams.pipeline import Pipeline

START_US = 1_796_040_000_000_000


def board_at(name: str, seconds: float) -> tuple[Board, list[str], str]:
    """(board, node names, what the scenario is about) after `seconds`."""
    scenario = load(named(name))
    board, pipeline, last = Board(), Pipeline(), 0
    for topic, message in messages(scenario, start_us=START_US, seconds=seconds):
        told = pipeline.feed(topic, message)
        if message.ts_us // 1_000_000 > last:
            last = message.ts_us // 1_000_000
            told += pipeline.tick(message.ts_us)
        # Virtual time has no collectors: what their beats would count is counted here.
        if isinstance(message, GpuScrape | PortScrape):
            source = "dcgm" if isinstance(message, GpuScrape) else "gnmi"
            cells = sum(map(len, message.columns.values()))
            board.take(Beat(ts_us=message.ts_us, collector=source, source=source, samples=cells))
        elif not isinstance(message, Beat):
            board.take(message)
        for _, out in told:
            board.take(out)
    return board, list(scenario.layout.node_names), scenario.about


def main(argv: list[str] | None = None) -> int:
    """Write the picture."""
    parser = argparse.ArgumentParser(prog="python -m infra.demo.snapshot", description=__doc__)
    parser.add_argument("out", type=Path, help="SVG file to write")
    parser.add_argument("--scenario", default="demo", help="scenario file or name (default %(default)s)")
    parser.add_argument(
        "--at", type=float, default=95.0, metavar="S", help="second of the scenario (default %(default)g)"
    )
    args = parser.parse_args(argv)
    board, nodes, about = board_at(args.scenario, args.at)
    console = Console(width=150, record=True, force_terminal=True, file=io.StringIO(), color_system="truecolor")
    console.print(render(board, nodes, START_US + round(args.at * 1e6), f"Lockstep  {about}", f"{args.at:.0f} s"))
    # rich names a font of the web; the picture must stand by itself.
    picture = re.sub(r"@font-face\s*{[^}]*}", "", console.export_svg(title="lockstep demo"))
    args.out.write_text(picture.replace("Fira Code, monospace", "monospace"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
