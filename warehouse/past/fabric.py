"""`port_scrapes`, `port_classes` and `port_fields` as `PortScrape` again, `links` as `Link`."""

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from typing import Any

import duckdb
import msgspec

from collectors.contract.fabric import CounterForm, Link, Port, PortScrape
from warehouse.past.reading import Row, rows, runs
from warehouse.rows.fabric import LINK, PORT, PORT_COLUMNS, class_columns, port_columns

KEY = ("ts_us", "cluster", "device")
Columns = dict[str, list[Any]]


def port_messages(connection: duckdb.DuckDBPyConnection, start_us: int, end_us: int) -> Iterator[PortScrape]:
    """In order of time; a port that stands twice in one scrape is taken once."""
    beside: dict[str, dict[tuple[Any, ...], list[Row]]] = {}
    for name in ("port_classes", "port_fields"):
        beside[name] = defaultdict(list)
        for row in rows(connection, name, start_us, end_us):
            beside[name][tuple(row[part] for part in KEY)].append(row)
    for key, found in runs(rows(connection, "port_scrapes", start_us, end_us), KEY):
        yield _scrape(key, found, beside["port_classes"].pop(key, []), beside["port_fields"].pop(key, []))


def link_messages(found: list[Row]) -> Iterator[Link]:
    """One a row."""
    for row in found:
        values = {name: row[name] for name in LINK if name != "ts"}
        values["gpu_uuids"], values["gpu_index"] = values["gpu_uuids"] or [], values["gpu_index"] or []
        yield Link(ts_us=row["ts_us"], **values)


def _scrape(key: tuple[Any, ...], found: list[Row], classes: list[Row], fields: list[Row]) -> PortScrape:
    ts_us, cluster, device = key
    first = found[0]
    ports = list({row["port"]: row for row in found if row["port"] is not None}.values())
    place = {row["port"]: at for at, row in enumerate(ports)}
    columns: Columns = {}
    named: Columns = {}
    saturated: Columns = {}
    for at, row in enumerate(ports):
        _wide(columns, row, port_columns(), "", at, len(ports))
    for row in classes:
        if row["port"] in place:
            _wide(columns, row, class_columns(), f".{row['index']}", place[row["port"]], len(ports))
    for row in fields:
        if row["port"] in place:
            _long(columns, named, saturated, row, place[row["port"]], len(ports))
    epochs = [row["epoch"] or "" for row in ports or found]
    alike = len(set(epochs)) == 1
    return PortScrape(
        cluster=cluster,
        ts_us=ts_us,
        device=device,
        kind=first["kind"],
        node=first["node"],
        epoch=epochs[0] if alike else "",
        port_epochs=[] if alike else epochs,
        baseline=bool(first["baseline"]),
        ports=[Port(**{part: row[column] for part, column in zip(PORT, PORT_COLUMNS, strict=True)}) for row in ports],
        columns=columns,
        forms=_forms(first["forms"]),
        named=named,
        saturated=saturated,
    )


@cache
def _forms(text: str | None) -> dict[str, CounterForm]:
    """Rows that were written before forms were kept count as plain: a fall there is a restart, never a wrap."""
    return {} if text is None else msgspec.json.decode(text, type=dict[str, CounterForm])


def _wide(columns: Columns, row: Row, counters: dict[str, str], suffix: str, at: int, count: int) -> None:
    unread = row["unread"] or ()
    for counter, column in counters.items():
        value = row[column]
        if value is not None or counter in unread:
            columns.setdefault(counter + suffix, [None] * count)[at] = value


def _long(columns: Columns, named: Columns, saturated: Columns, row: Row, at: int, count: int) -> None:
    value = next((row[part] for part in ("count", "value", "text") if row[part] is not None), None)
    counter = row["counter"] + (f".{row['index']}" if row["index"] is not None else "")
    if counter.startswith("saturated:"):
        saturated.setdefault(counter.removeprefix("saturated:"), [None] * count)[at] = value
    else:
        (named if row["named"] else columns).setdefault(counter, [None] * count)[at] = value
