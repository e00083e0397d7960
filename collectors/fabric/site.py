"""What a site says of its switches: lossless priorities and queue numbers."""

from collections.abc import Mapping, Sequence

from collectors.fabric.series import Site
from collectors.source import SourceError

PRIORITIES = range(8)


def site_of(lossless: str | None, queues: Sequence[str]) -> Site:
    """From the options `--lossless 3,4` and `--queue NAME=N`. Raises `SourceError`."""
    given = None if lossless is None else [part.strip() for part in lossless.split(",") if part.strip()]
    pairs = []
    for text in queues:
        name, sep, number = text.rpartition("=")
        if not sep or not name:
            raise SourceError(f"--queue {text}: write NAME=NUMBER, such as RDMA=3")
        pairs.append((name, number))
    return Site(
        lossless=None if given is None else lossless_priorities(given, "--lossless"),
        queues=queue_numbers(dict(pairs), "--queue"),
    )


def lossless_priorities(given: Sequence[object], where: str) -> tuple[int, ...]:
    """Raises `SourceError` unless each is a priority 0 to 7."""
    try:
        priorities = tuple(sorted({int(str(p)) for p in given}))
    except ValueError:
        priorities = (-1,)
    if any(p not in PRIORITIES for p in priorities):
        raise SourceError(f"{where}: priorities are numbers from 0 to 7, such as 3,4")
    return priorities


def queue_numbers(given: Mapping[str, object], where: str) -> dict[str, str]:
    """Raises `SourceError` unless each is a whole number."""
    for name, number in given.items():
        if not str(number).isdecimal():
            raise SourceError(f"{where} {name}={number}: the number of a queue is 0, 1, 2, ...")
    return {name: str(int(str(number))) for name, number in given.items()}
