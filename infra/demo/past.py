"""A virtual past week into the warehouse, and its rollups: `python -m infra.demo.past --days 7`."""

import argparse
import itertools
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from collectors.contract.errors import UserError
from collectors.contract.message import Message
from collectors.contract.topic import Topic

CHUNK = 5_000


def batches(pairs: Iterator[tuple[Topic[Any], Message]]) -> Iterator[tuple[Topic[Any], list[Message]]]:
    """Messages in time order as lists by topic, some thousand at a time."""
    while chunk := list(itertools.islice(pairs, CHUNK)):
        by_topic: dict[str, tuple[Topic[Any], list[Message]]] = {}
        for topic, message in chunk:
            by_topic.setdefault(topic.name, (topic, []))[1].append(message)
        yield from by_topic.values()


def fill(days: float, interval_s: float, end: datetime) -> int:
    """Write the past `days` before `end`; returns the number of messages."""
    from infra.fleet.history import messages
    from warehouse import connect
    from warehouse.loader import write

    connection = connect(read_only=False)
    try:
        past = messages(days, interval_s, end_us=round(end.timestamp() * 1e6))
        return write(connection, batches(past))
    finally:
        connection.close()


def main(argv: list[str] | None = None) -> int:
    """Exit status 2 with one line when something failed."""
    parser = argparse.ArgumentParser(prog="python -m infra.demo.past", description=__doc__)
    parser.add_argument("--days", type=float, default=7.0, help="days before the current hour (default %(default)g)")
    parser.add_argument("--interval", type=float, default=60.0, help="seconds between scrapes (default %(default)g)")
    args = parser.parse_args(argv)
    end = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    try:
        written = fill(args.days, args.interval, end)
        print(f"{written} messages of the past {args.days:g} days written", flush=True)
        from pipelines.materialize import materialize

        materialize(end - timedelta(days=args.days), end, lambda line: print(line, flush=True))
    except UserError as why:
        sys.stderr.write(f"{why}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
