"""Orders as a person says them on the command line: durations, parts, and the ids under which they stand."""

import getpass
import os
import re
import time
from collections.abc import Sequence
from typing import get_args

from collectors.contract.errors import UserError
from streams.contract import Order, OrderKind, SubjectKind

PLACES = ("node", "rack", "device", "port")
"""Kinds of parts that one can work on."""
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?[smhd])+")


def duration_us(text: str) -> int:
    """`90s`, `30m`, `2h`, `1d`, `1h30m` in microseconds. Raises `UserError`."""
    if not _DURATION.fullmatch(text):
        raise UserError(f"{text!r} is no duration: write 90s, 30m, 2h, 1d or 1h30m")
    us = round(sum(float(n) * _UNITS[u] for n, u in re.findall(r"(\d+(?:\.\d+)?)([smhd])", text)) * 1e6)
    if us <= 0:
        raise UserError(f"{text!r} is no time at all")
    return us


def part(text: str, kinds: Sequence[str] = get_args(SubjectKind)) -> str:
    """`kind:id` as it stands in an order. Raises `UserError`."""
    kind, colon, name = text.partition(":")
    if not colon or not name or kind not in kinds:
        raise UserError(f"{text!r} is no part: write KIND:NAME with one of {', '.join(kinds)}, as node:node-07")
    if kind == "port" and "/" not in name:
        raise UserError(f"{text!r} is no port: write port:DEVICE/PORT, as port:leaf-3/Ethernet8")
    return text


def order_id(kind: OrderKind, incident: str | None, cause: str | None, parts: Sequence[str]) -> str:
    """The same thing said again has the same id, and `unmute` ends what has the id of its mute."""
    family = "mute" if kind == "unmute" else kind
    return "/".join([family, *filter(None, (incident, cause)), *sorted(parts)])


def order(
    kind: OrderKind,
    cluster: str,
    by: str | None,
    why: str,
    *,
    incident: str | None = None,
    cause: str | None = None,
    parts: Sequence[str] = (),
    after_us: int = 0,
    for_us: int | None = None,
) -> Order:
    """An order said now: in force `after_us` from now, for `for_us`."""
    now_us = time.time_ns() // 1000
    return Order(
        cluster=cluster,
        ts_us=now_us,
        id=order_id(kind, incident, cause, parts),
        kind=kind,
        incident=incident,
        cause=cause,
        parts=list(parts),
        from_us=now_us + after_us if after_us else None,
        until_us=None if for_us is None else now_us + after_us + for_us,
        by=by or whoami(),
        why=why,
    )


def whoami() -> str:
    """$USER, else what the system says of this process."""
    return os.environ.get("USER") or getpass.getuser()
