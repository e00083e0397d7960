"""Where a rank runs, and how the whole placement is told. Part of the training client."""

import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from collectors.steps.client_env import NODE, first
from collectors.steps.client_words import body

RANKS_A_PART = 200
"""Ranks of a placement in one datagram: about 30 KB, far below the kernel's limit for one."""


def node_of(path: str, env: Mapping[str, str]) -> str:
    """The collector's own name for this node where it has left it beside its socket."""
    try:
        with open(f"{path}.node", encoding="utf-8") as file:  # noqa: PTH123 - saves the import
            return file.read().strip()
    except (OSError, ValueError):
        return first(env, NODE) or socket.gethostname()


def parts(ranks: Iterable[Mapping[str, Any]], aliases: list[str]) -> Iterator[str]:
    """The bodies of the datagrams of one placement. Raises for what JSON cannot hold."""
    rows = [dict(row) for row in ranks]
    cut = [rows[i : i + RANKS_A_PART] for i in range(0, len(rows), RANKS_A_PART)]
    every = {"ts_us": time.time_ns() // 1000, "parts": len(cut), "aliases": aliases}
    for number, part in enumerate(cut):
        yield body({**every, "part": number, "ranks": part})
