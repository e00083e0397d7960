"""`PortScrape` into `port_scrapes` (a column a counter) and `port_fields` (a row a counter); `Link` into `links`."""

import csv
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import repeat
from pathlib import Path
from types import NoneType
from typing import Any

import pyarrow as pa

from collectors.contract.fabric import Link, Port, PortScrape
from warehouse.rows.arrow import Tables, build, check_parallel, from_rows
from warehouse.rows.errors import error_rows

COLUMNS = Path(__file__).parent.parent / "port_columns.csv"
EXACT = 2**64
LONG = ("cluster", "device", "ts", "epoch", "baseline", "port", "counter", "index", "named", "count", "value", "text")
SCRAPE = ("cluster", "device", "kind", "node", "ts", "epoch", "baseline")
PORT = ("name", "speed_gbps", "link_layer", "lossless", "oper_up")
PORT_COLUMNS = ("port", *PORT[1:])
LINK = (
    "cluster",
    "device",
    "port",
    "ts",
    "far_device",
    "far_port",
    "far_kind",
    "node",
    "gpu_uuids",
    "rail",
    "source",
    "up",
)

Values = list[Any]


@cache
def port_columns() -> dict[str, str]:
    """Canonical counter -> column of `port_scrapes`."""
    with COLUMNS.open(newline="") as file:
        return {row["counter"]: row["column"] for row in csv.DictReader(file)}


class _Scrapes:
    """The rows under way; counters are padded up to the row when they come."""

    def __init__(self) -> None:
        self.count = 0
        self.per_row: list[tuple[Any, ...]] = []
        self.ports: list[Port] = []
        self.counters: dict[str, Values] = defaultdict(list)
        self.unread: dict[int, list[str]] = {}
        self.long: dict[str, Values] = {name: [] for name in LONG}

    def add(self, scrape: PortScrape) -> None:
        count, start, wide = len(scrape.ports), self.count, port_columns()
        of_scrape = (
            scrape.cluster,
            scrape.device,
            scrape.kind,
            scrape.node,
            scrape.ts_us,
            scrape.epoch,
            scrape.baseline,
        )
        self.per_row.extend(repeat(of_scrape, count))
        self.ports += scrape.ports
        names = [port.name for port in scrape.ports]
        for counter, values in scrape.columns.items():
            check_parallel(counter, values, count)
            if counter not in wide:
                base, _, index = counter.partition(".")
                self.aside(of_scrape, names, base, index or None, False, values)
                continue
            kept = self.counters[counter]
            if len(kept) < start:
                kept.extend(repeat(None, start - len(kept)))
            kept += values
            if None in values:
                for at, value in enumerate(values, start=start):
                    if value is None:
                        self.unread.setdefault(at, []).append(counter)
        for name, named in scrape.named.items():
            check_parallel(name, named, count)
            self.aside(of_scrape, names, name, None, True, named)
        self.count += count

    def aside(
        self,
        scrape: tuple[Any, ...],
        ports: Sequence[str],
        counter: str,
        index: str | None,
        named: bool,
        values: Sequence[Any],
    ) -> None:
        """What has no column goes to `port_fields`."""
        count, long = len(values), self.long
        cluster, device, _, _, ts_us, epoch, baseline = scrape
        long["cluster"] += [cluster] * count
        long["device"] += [device] * count
        long["ts"] += [ts_us] * count
        long["epoch"] += [epoch] * count
        long["baseline"] += [baseline] * count
        long["port"] += ports
        long["counter"] += [counter] * count
        long["index"] += [index] * count
        long["named"] += [named] * count
        if exact(values):
            long["count"] += values
            long["value"] += [None] * count
            long["text"] += [None] * count
        else:
            long["count"] += [value if exact((value,)) else None for value in values]
            long["value"] += [None if exact((value,)) or type(value) is str else float(value) for value in values]
            long["text"] += [value if type(value) is str else None for value in values]

    def column(self, counter: str) -> "pa.Array[Any]":
        """One counter's values. What is no whole number from 0 to 2^64 - 1 stays out: `port_fields` has it."""
        values = self.counters[counter]
        values.extend(repeat(None, self.count - len(values)))
        if not exact(values):
            for at, value in enumerate(values):
                if not exact((value,)):
                    self.aside(self.per_row[at], [self.ports[at].name], counter, None, False, [value])
                    values[at] = None
        return pa.array(values, pa.uint64())


def exact(values: Iterable[Any]) -> bool:
    """Whether all are whole numbers from 0 to 2^64 - 1, or None."""
    if not {*map(type, values)} <= {int, NoneType}:
        return False
    known = [value for value in values if value is not None]
    return not known or (min(known) >= 0 and max(known) < EXACT)


def port_tables(messages: Sequence[PortScrape]) -> Tables:
    """Raises ValueError for a message whose columns are not parallel to its ports."""
    scrapes = _Scrapes()
    for scrape in messages:
        scrapes.add(scrape)
    out = error_rows("fabric.scrapes.v1", [(m.cluster, m.device, m.ts_us, m.errors) for m in messages])
    if scrapes.count:
        out["port_scrapes"] = _wide(scrapes)
    if scrapes.long["ts"]:
        out["port_fields"] = build("port_fields", scrapes.long)
    return out


def _wide(scrapes: _Scrapes) -> pa.Table:
    columns: dict[str, Any] = dict(zip(SCRAPE, zip(*scrapes.per_row, strict=True), strict=True))
    for part, column in zip(PORT, PORT_COLUMNS, strict=True):
        columns[column] = [getattr(port, part) for port in scrapes.ports]
    if scrapes.unread:
        columns["unread"] = [scrapes.unread.get(at) for at in range(scrapes.count)]
    wide = port_columns()
    for counter in scrapes.counters:
        columns[wide[counter]] = scrapes.column(counter)
    return build("port_scrapes", columns)


def link_tables(messages: Sequence[Link]) -> Tables:
    """A row a link."""
    rows = [tuple(message.ts_us if name == "ts" else getattr(message, name) for name in LINK) for message in messages]
    return from_rows("links", LINK, rows)
