"""The lines of `lockstep backtest`, what was told then, and its progress."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import IO

from infra.backtest import Match, Told
from warehouse.opening import Connection
from warehouse.past.reading import rows


def then(connection: Connection, start_us: int, end_us: int) -> list[Told]:
    """Incidents that began in the span, as the warehouse knows them."""
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
        if row["opened_us"] >= start_us
    ]


def lines(matches: Sequence[Match], was: Sequence[Told], now: Sequence[Told], everything: bool) -> Iterator[str]:
    """What differs, oldest first, and the totals; what stayed the same only when asked for."""
    shown = [match for match in matches if everything or match.word != "the same"]
    for match in shown:
        told = match.now or match.then
        assert told is not None
        cause = told.cause
        if match.then is not None and match.now is not None and match.then.cause != match.now.cause:
            cause = f"{match.then.cause} -> {match.now.cause}"
        when = datetime.fromtimestamp(told.opened_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S")
        yield f"{when}  {match.word:<24}  {told.severity:<8}  {cause}  {told.part}  {told.summary}"
    words = Counter(match.word for match in matches)
    counted = ", ".join(f"{n} {word}" for word, n in sorted(words.items(), key=lambda item: -item[1])) or "none"
    yield (
        f"incidents: {len(was)} then, {len(now)} with these limits ({counted}); "
        f"pages: {sum(t.page for t in was)} then, {sum(t.page for t in now)} with these limits"
    )


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
