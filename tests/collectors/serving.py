"""A source's options from words, and waiting for what it does while it serves."""

import argparse
import asyncio
from collections.abc import Callable
from typing import Any


def parsed(source: Any, *words: str) -> argparse.Namespace:
    """As on the command line, with sweeps that follow each other quickly."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--node")
    parser.add_argument("--interval", type=float, default=0.01)
    source.add_arguments(parser)
    return parser.parse_args(words)


async def until(true: Callable[[], bool]) -> None:
    """Wait until it is so; ten seconds at most."""
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0.01)
