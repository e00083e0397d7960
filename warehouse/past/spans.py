"""Which stretches of the past to read at a time: none where nothing was loaded, and never too many rows."""

from collections.abc import Iterator

import duckdb

from warehouse.past.reading import rows

MINUTE_US = 60_000_000
ROWS = 100_000
"""Read at a time, as Python objects a few hundred megabytes; a minute of more is read whole (thousands of GPUs)."""


def spans(
    connection: duckdb.DuckDBPyConnection, start_us: int, end_us: int, most: int = ROWS
) -> Iterator[tuple[int, int]]:
    """From and up to before, in order: together all rows of the span, minutes that belong together kept whole."""
    begin, end, held = start_us, start_us, 0
    for minute in rows(connection, "minutes", start_us, end_us):
        if held and held + minute["n"] > most:
            yield begin, end
            held = 0
        if not held:
            begin = max(start_us, minute["minute"] * MINUTE_US)
        held += minute["n"]
        end = min(end_us, (minute["minute"] + 1) * MINUTE_US)
    if held:
        yield begin, end
