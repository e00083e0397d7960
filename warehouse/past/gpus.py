"""`gpu_scrapes` and `gpu_fields` as `GpuScrape` again."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import duckdb

from collectors.contract.gpu import Entities, Gpu, GpuScrape
from warehouse.past.reading import Row, rows, runs
from warehouse.rows.gpu import GPU, GPU_COLUMNS, gpu_columns

KEY = ("ts_us", "cluster", "node", "source")
Key = tuple[Any, ...]


def gpu_messages(connection: duckdb.DuckDBPyConnection, start_us: int, end_us: int) -> Iterator[GpuScrape]:
    """In order of time. A GPU that stands twice in one scrape (loaded from a file again) is taken once."""
    beside: dict[Key, list[Row]] = defaultdict(list)
    for row in rows(connection, "gpu_fields", start_us, end_us):
        beside[tuple(row[part] for part in KEY)].append(row)
    for key, found in runs(rows(connection, "gpu_scrapes", start_us, end_us), KEY):
        yield _scrape(key, list({(row["gpu_uuid"], row["mig"]): row for row in found}.values()), beside.pop(key, []))
    for key, found in sorted(beside.items()):  # nodes whose page showed no GPU
        yield _scrape(key, [], found)


def _scrape(key: Key, wide: list[Row], long: list[Row]) -> GpuScrape:
    ts_us, cluster, node, source = key
    columns: dict[str, list[float | None]] = {}
    for field, column in gpu_columns().items():
        values = [row[column] for row in wide]
        number = int(field)
        if any(v is not None for v in values) or any(number in (row["unread"] or ()) for row in wide):
            columns[field] = [None if value is None else float(value) for value in values]
    place = {(row["gpu_uuid"], row["mig"]): at for at, row in enumerate(wide)}
    named: dict[str, list[float | None]] = {}
    parts: dict[str, list[Row]] = defaultdict(list)
    for row in long:
        if row["field"] is None and row["name"] is None:
            continue  # stands for a scrape that had nothing
        if row["entity"] is not None:
            parts[row["entity"]].append(row)
            continue
        at = place.get((row["gpu_uuid"], row["mig"]))
        if at is None:
            continue
        table, name = (named, row["name"]) if row["field"] is None else (columns, str(row["field"]))
        table.setdefault(name, [None] * len(wide))[at] = row["value"]
    labels = json.loads(wide[0]["labels"]) if wide and wide[0]["labels"] else {}
    return GpuScrape(
        cluster=cluster,
        ts_us=ts_us,
        node=node,
        source=source,
        gpus=[Gpu(**{part: row[column] for part, column in zip(GPU, GPU_COLUMNS, strict=True)}) for row in wide],
        columns=columns,
        named=named,
        labels=labels,
        entities=[_entities(kind, found) for kind, found in parts.items()],
    )


def _entities(kind: str, found: list[Row]) -> Entities:
    """The parts in the order of their first field."""
    ids = list(dict.fromkeys((row["gpu_uuid"], row["part"]) for row in found))
    place = {name: at for at, name in enumerate(ids)}
    columns: dict[str, list[float | None]] = {}
    named: dict[str, list[float | None]] = {}
    for row in found:
        table, name = (named, row["name"]) if row["field"] is None else (columns, str(row["field"]))
        table.setdefault(name, [None] * len(ids))[place[row["gpu_uuid"], row["part"]]] = row["value"]
    split = [(gpu, None, part) if gpu is not None else (None, *_parent(part)) for gpu, part in ids]
    parents = [gpu if gpu is not None else parent for gpu, parent, _ in split]
    return Entities(
        kind=kind,
        ids=[part for _, _, part in split],
        parents=parents if any(parent is not None for parent in parents) else [],
        columns=columns,
        named=named,
    )


def _parent(part: str) -> tuple[str | None, str]:
    """`nvswitch0/3` is link 3 of that switch."""
    parent, slash, name = part.rpartition("/")
    return (parent, name) if slash else (None, part)
