"""`GpuScrape` into `gpu_scrapes` (a column a field) and `gpu_fields` (a row a field)."""

import csv
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import Any

import pyarrow as pa

from collectors.contract.gpu import Entities, Gpu, GpuScrape
from collectors.contract.topic import encode
from warehouse.rows.arrow import Tables, array, arrow_schema, build, check_parallel
from warehouse.rows.errors import error_rows

COLUMNS = Path(__file__).parent.parent / "gpu_columns.csv"

Values = list[Any]


@cache
def gpu_columns() -> dict[str, str]:
    """DCGM field id as text -> column of `gpu_scrapes`."""
    with COLUMNS.open(newline="") as file:
        return {row["field_id"]: row["column"] for row in csv.DictReader(file)}


class _Scrapes:
    """The rows under way: lists that grow together, fields padded up to the row when they come."""

    def __init__(self) -> None:
        self.count = 0
        self.node: Values = []
        self.gpus: list[Gpu] = []
        self.per_row: list[tuple[Any, ...]] = []
        self.fields: dict[str, Values] = defaultdict(list)
        self.unread: dict[int, list[int]] = {}
        self.long: dict[str, Values] = {name: [] for name in LONG}

    def add(self, scrape: GpuScrape) -> None:
        count, start, wide, beside = len(scrape.gpus), self.count, gpu_columns(), len(self.long["ts"])
        labels = encode(scrape.labels).decode() if scrape.labels else None
        driver = scrape.labels.get("driver_version")
        self.per_row.extend(repeat((scrape.cluster, scrape.node, scrape.ts_us, scrape.source, driver, labels), count))
        self.gpus += scrape.gpus
        for field, values in scrape.columns.items():
            check_parallel(field, values, count)
            if field not in wide:
                number = int(field) if field.isdecimal() else None
                self.aside(scrape, number, None if number is not None else field, scrape.gpus, values)
                continue
            kept = self.fields[field]
            if len(kept) < start:
                kept.extend(repeat(None, start - len(kept)))
            kept += values
            if None in values:
                for at, value in enumerate(values, start=start):
                    if value is None:
                        self.unread.setdefault(at, []).append(int(field))
        for name, values in scrape.named.items():
            check_parallel(name, values, count)
            self.aside(scrape, None, name, scrape.gpus, values)
        for entities in scrape.entities:
            self.beside(scrape, entities)
        if count == 0 and len(self.long["ts"]) == beside:
            of_node = (scrape.cluster, scrape.node, scrape.ts_us, scrape.source)
            self.put((*of_node, None, None, None, None, None, "node", scrape.node))
        self.count += count

    def aside(
        self, scrape: GpuScrape, field: int | None, name: str | None, gpus: Sequence[Gpu], values: Sequence[Any]
    ) -> None:
        """What has no column goes to `gpu_fields`."""
        count, long = len(values), self.long
        long["cluster"] += [scrape.cluster] * count
        long["node"] += [scrape.node] * count
        long["ts"] += [scrape.ts_us] * count
        long["source"] += [scrape.source] * count
        long["gpu_uuid"] += [gpu.uuid for gpu in gpus]
        long["mig"] += [gpu.mig for gpu in gpus]
        long["field"] += [field] * count
        long["name"] += [name] * count
        long["value"] += values
        long["entity"] += [None] * count
        long["part"] += [None] * count

    def beside(self, scrape: GpuScrape, entities: Entities) -> None:
        """Switches, links and CPUs: only their fields that were sent, and each under its place in the node."""
        parents = entities.parents or [None] * len(entities.ids)
        check_parallel(f"{entities.kind} parents", parents, len(entities.ids))
        of_gpu = {gpu.uuid for gpu in scrape.gpus}
        for key, values in (*entities.columns.items(), *entities.named.items()):
            check_parallel(f"{entities.kind} {key}", values, len(entities.ids))
            field = int(key) if key in entities.columns and key.isdecimal() else None
            for parent, part, value in zip(parents, entities.ids, values, strict=True):
                gpu = parent if parent in of_gpu else None
                place = part if parent is None or gpu is not None else f"{parent}/{part}"
                row: tuple[Any, ...] = (scrape.cluster, scrape.node, scrape.ts_us, scrape.source, gpu, None, field)
                row += (key if field is None else None, value, entities.kind, place)
                self.put(row)

    def put(self, row: tuple[Any, ...]) -> None:
        """One row of `gpu_fields`."""
        for name, part in zip(LONG, row, strict=True):
            self.long[name].append(part)

    def column(self, field: str, column: str) -> "pa.Array[Any]":
        """One field's values. A number that is not whole stays out of a whole-number column: `gpu_fields` has it."""
        values, kind = self.fields[field], arrow_schema("gpu_scrapes").field(column).type
        values.extend(repeat(None, self.count - len(values)))
        made: pa.Array[Any]
        if not pa.types.is_integer(kind):
            return array(values, kind)
        try:
            made = pa.array(values, pa.float64()).cast(kind)
        except pa.ArrowInvalid:
            made = pa.array([self.whole(field, at, value) for at, value in enumerate(values)], kind)
        return made

    def whole(self, field: str, at: int, value: float | None) -> int | None:
        if value is None or (value.is_integer() and -(2.0**63) <= value < 2.0**63):
            return None if value is None else int(value)
        cluster, node, ts_us, source, _, _ = self.per_row[at]
        gpu = self.gpus[at]
        self.put((cluster, node, ts_us, source, gpu.uuid, gpu.mig, int(field), None, value, None, None))
        return None


LONG = ("cluster", "node", "ts", "source", "gpu_uuid", "mig", "field", "name", "value", "entity", "part")
GPU = ("uuid", "index", "model", "pci", "mig", "namespace", "pod", "container", "hpc_job", "pod_uid", "mig_uuid")
GPU_COLUMNS = ("gpu_uuid", "gpu_index", *GPU[2:])


def gpu_tables(messages: Sequence[GpuScrape]) -> Tables:
    """Raises ValueError for a message whose columns are not parallel to its GPUs.

    Pieces of a scrape make no rows: the whole one follows.
    """
    messages = [scrape for scrape in messages if not scrape.part]
    scrapes = _Scrapes()
    for scrape in messages:
        scrapes.add(scrape)
    out = error_rows("gpu.scrapes.v1", [(m.cluster, m.node, m.ts_us, m.errors) for m in messages])
    if scrapes.count:
        out["gpu_scrapes"] = _wide(scrapes)
    if scrapes.long["ts"]:
        out["gpu_fields"] = build("gpu_fields", scrapes.long)
    return out


def _wide(scrapes: _Scrapes) -> pa.Table:
    names = ("cluster", "node", "ts", "source", "driver_version", "labels")
    columns: dict[str, Any] = dict(zip(names, zip(*scrapes.per_row, strict=True), strict=True))
    for part, column in zip(GPU, GPU_COLUMNS, strict=True):
        columns[column] = [getattr(gpu, part) for gpu in scrapes.gpus]
    if scrapes.unread:
        columns["unread"] = [scrapes.unread.get(at) for at in range(scrapes.count)]
    wide = gpu_columns()
    for field in scrapes.fields:
        columns[wide[field]] = scrapes.column(field, wide[field])
    return build("gpu_scrapes", columns)
