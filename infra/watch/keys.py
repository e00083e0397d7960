"""Single keys from a terminal, while it shows something else."""

import os
import select
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

Key = Literal["up", "down", "enter", "back", "quit", "ack", "other"]
_KEYS: dict[str, Key] = {
    "\x1b[A": "up",
    "\x1bOA": "up",
    "k": "up",
    "\x1b[B": "down",
    "\x1bOB": "down",
    "j": "down",
    "\r": "enter",
    "\n": "enter",
    "\x1b": "back",
    "\x7f": "back",
    "q": "quit",
    "\x03": "quit",
    "a": "ack",
}


@contextmanager
def keys() -> Iterator["Keys"]:
    """The terminal gives keys at once and shows none of them; as before at the end."""
    file = sys.stdin.fileno()
    before = termios.tcgetattr(file)
    tty.setcbreak(file)
    try:
        yield Keys(file)
    finally:
        termios.tcsetattr(file, termios.TCSADRAIN, before)


class Keys:
    """Reads what was typed."""

    def __init__(self, file: int) -> None:
        self._file = file

    def typed(self, wait_s: float) -> list[Key]:
        """What was typed within the wait; returns at the first."""
        ready, _, _ = select.select([self._file], [], [], wait_s)
        return parse(os.read(self._file, 256).decode(errors="replace")) if ready else []


def parse(text: str) -> list[Key]:
    """Keys of what a terminal sent; a lone escape is a key, one before `[` or `O` begins an arrow."""
    out: list[Key] = []
    while text:
        size = 3 if text[:2] in ("\x1b[", "\x1bO") and len(text) >= 3 else 1
        out.append(_KEYS.get(text[:size], "other"))
        text = text[size:]
    return out
