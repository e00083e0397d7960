"""The lines of `lockstep backtest`, what was told then, and its progress."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO

from infra.backtest import Match, Tally, Told, tallies
from warehouse.opening import Connection
from warehouse.past.reading import rows

COLUMNS = ("pages then", "now", "tickets then", "now", "new", "gone")
WIDEST = 28
"""Of a verdict with its severity."""


def then(connection: Connection, start_us: int, end_us: int) -> list[Told]:
    """Incidents that were open in the span, as the warehouse knows them."""
    return [
        Told(
            cluster=row["cluster"],
            id=row["incident"],
            cause=row["cause"],
            part=f"{row['subject_kind']} {row['subject']}",
            severity=row["severity"],
            opened_us=row["opened_us"],
            cleared_us=row["cleared_us"],
            jobs=row["jobs"] or [],
            summary=row["summary"] or "",
            planned=row["planned"] is not None,
        )
        for row in rows(connection, "incidents", start_us, end_us)
    ]


def lines(matches: Sequence[Match], everything: bool) -> Iterator[str]:
    """What differs, oldest first; then all of it by cause and by day. What stayed the same only when asked for."""
    shown = [match for match in matches if everything or match.word != "the same"]
    yield from map(_line, shown)
    if not matches:
        yield "no incidents, neither then nor with these limits"
        return
    if shown:
        yield ""
    yield from _table("cause", tallies(matches, lambda told: told.cause))
    yield ""
    yield from _table("day (UTC)", tallies(matches, day))
    words = Counter(match.word for match in matches)
    was, now = [m.then for m in matches if m.then], [m.now for m in matches if m.now]
    yield ""
    yield (
        f"incidents: {len(was)} then, {len(now)} with these limits "
        f"({', '.join(f'{n} {word}' for word, n in words.most_common())}); "
        f"pages: {sum(t.page for t in was)} then, {sum(t.page for t in now)} with these limits"
    )


def day(told: Told) -> str:
    """On which it began, UTC."""
    return _moment(told, "%Y-%m-%d")


def _line(match: Match) -> str:
    """`--json` has the whole summary and the id of the part."""
    told, was = match.told, match.then
    cause = f"{was.cause} -> {told.cause}" if was is not None and was.cause != told.cause else told.cause
    what = f"{match.word} ({'page' if told.page else 'ticket'})"
    jobs = f"; jobs: {', '.join(told.jobs)}" if told.jobs else ""
    return f"{_moment(told, '%Y-%m-%d %H:%M:%S')}  {what:<{WIDEST}}  {cause}  {told.summary.split('; ')[0]}{jobs}"


def _moment(told: Told, form: str) -> str:
    return datetime.fromtimestamp(told.opened_us / 1e6, UTC).strftime(form)


def _table(head: str, found: Mapping[str, Tally]) -> Iterator[str]:
    width = max(len(head), *map(len, found))
    yield f"{head:<{width}}  " + "  ".join(COLUMNS)
    for name, tally in found.items():
        counts = (
            *(tally.pages_then, tally.pages_now, tally.tickets_then, tally.tickets_now),
            *(tally.new, tally.gone),
        )
        cells = (f"{count:>{len(column)}}" for count, column in zip(counts, COLUMNS, strict=True))
        yield f"{name:<{width}}  " + "  ".join(cells)


@contextmanager
def progress_to(out: IO[str], start_us: int, end_us: int) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, nothing else where there is none."""
    if not out.isatty():
        yield lambda now_us: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(file=out), transient=True) as bar:
        task = bar.add_task("judging the past anew", total=end_us - start_us)
        yield lambda now_us: bar.update(task, completed=max(0, now_us - start_us))
