"""What a scrape could not read, into `scrape_errors`."""

from collections.abc import Iterable, Mapping

from warehouse.rows.arrow import Tables, from_rows

NAMES = ("cluster", "topic", "subject", "ts", "part", "why")


def error_rows(topic: str, scrapes: Iterable[tuple[str, str, int, Mapping[str, str]]]) -> Tables:
    """`scrapes`: cluster, node or device, time, part -> why."""
    rows = [
        (cluster, topic, subject, ts_us, part, why)
        for cluster, subject, ts_us, errors in scrapes
        for part, why in errors.items()
    ]
    return from_rows("scrape_errors", NAMES, rows)
