"""Recorded bodies, as a receiver would have taken them."""

import argparse
import asyncio
from collections.abc import Callable
from pathlib import Path

from collectors.otlp.metrics import read_otlp
from collectors.remote_write.limits import MOST_BODY, TooLarge, gunzip, unsnappy
from collectors.remote_write.listener import intake_of
from collectors.remote_write.pushed import BadBody, Pushed, read_v1, read_v2
from collectors.remote_write.series import SeriesBook
from collectors.source import Outlet, SourceError
from collectors.whole_file import read_whole

Reader = Callable[[bytes, SeriesBook], Pushed]


def replay(args: argparse.Namespace, outlet: Outlet) -> int:
    """Every file in the order given; a body that cannot be read is rejected. The number of messages.

    Raises `SourceError` for a file that is not there, and where no file could be read.
    """
    intake = intake_of(args, outlet, None)
    read = [asyncio.run(_one(path, intake.book, intake.take, intake.refuse)) for path in args.file]
    asyncio.run(intake.receiver.flush())
    intake.beat()
    if not any(read):
        raise SourceError("none of the files holds a body of remote write or OTLP")
    return sum(target.messages for target in intake.receiver.targets.values())


async def _one(path: Path, book: SeriesBook, take: Callable[..., object], refuse: Callable[..., None]) -> bool:
    body, _ = read_whole(path, MOST_BODY)
    try:
        pushed = read_any(body, book)
    except BadBody as why:
        refuse(str(path), body, str(why))
        return False
    await take(pushed, len(body))  # type: ignore[misc]
    return True


def read_any(body: bytes, book: SeriesBook) -> Pushed:
    """A body without its headers: by what it holds. Raises `BadBody`.

    In the other message's form a body of remote write has no series: its fields have other numbers.
    """
    try:
        if body[:2] == b"\x1f\x8b":
            return read_otlp(gunzip(body), book)
        unpacked = unsnappy(body)
    except TooLarge as why:
        raise BadBody(str(why)) from why
    except BadBody:
        return _first((read_otlp,), body, book)
    return _first((read_v1, read_v2), unpacked, book)


def _first(readers: tuple[Reader, ...], body: bytes, book: SeriesBook) -> Pushed:
    failures: list[str] = []
    for read in readers:
        try:
            pushed = read(body, book)
        except BadBody as why:
            failures.append(str(why))
            continue
        if pushed.samples or pushed.histograms or not body:
            return pushed
    raise BadBody(failures[0] if failures else "no sample in it")
