"""`PortScrape` into `port_scrapes`, `port_classes` and `port_fields`; `Link` into `links`.

The first two have a column a counter, for the port and for each of its priorities, queues and groups; the third
has a row for every other value.
"""

import csv
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from collectors.contract.fabric import Link, Port, PortScrape
from collectors.contract.topic import encode
from warehouse.rows.arrow import Tables, build, check_parallel, from_rows
from warehouse.rows.errors import error_rows
from warehouse.rows.wide import Wide, exact

ROOM = Path(__file__).parent.parent
SCRAPE = ("cluster", "device", "kind", "node", "ts", "epoch", "baseline", "forms")
PORT = ("name", "speed_gbps", "link_layer", "lossless", "oper_up")
PORT_COLUMNS = ("port", *PORT[1:])
CLASS = ("cluster", "device", "ts", "epoch", "baseline", "port", "index", "lossless")
LONG = (*CLASS[:6], "counter", "index", "named", "count", "value", "text")
LINK = (
    *("cluster", "device", "port", "ts", "far_device", "far_port", "far_kind"),
    *("node", "gpu_uuids", "gpu_index", "rail", "source", "up"),
)

Row = tuple[Any, ...]


@cache
def port_columns() -> dict[str, str]:
    """Canonical counter of a port -> column of `port_scrapes`."""
    return _columns("port_columns.csv")


@cache
def class_columns() -> dict[str, str]:
    """Canonical counter of a priority, queue or group, without its index -> column of `port_classes`."""
    return _columns("class_columns.csv")


def _columns(name: str) -> dict[str, str]:
    with (ROOM / name).open(newline="") as file:
        return {row["counter"]: row["column"] for row in csv.DictReader(file)}


class _Scrapes:
    """The rows under way."""

    def __init__(self) -> None:
        self.wide, self.classes = Wide(port_columns()), Wide(class_columns())
        self.per_row: list[Row] = []
        self.of_class: dict[str, list[Any]] = {name: [] for name in CLASS}
        self.long: list[Row] = []

    def add(self, scrape: PortScrape) -> None:
        count = len(scrape.ports)
        cluster, device, ts_us, baseline = scrape.cluster, scrape.device, scrape.ts_us, scrape.baseline
        epochs = [scrape.epoch_of(row) for row in range(count)]
        of_rows = [(cluster, device, ts_us, epoch, baseline) for epoch in epochs]
        forms = encode(scrape.forms).decode()
        ports: list[Port | None] = [*scrape.ports] or [None]
        self.per_row += [
            (cluster, device, scrape.kind, scrape.node, ts_us, epoch, baseline, forms, *_port(port))
            for port, epoch in zip(ports, epochs or [scrape.epoch], strict=True)
        ]
        by_index: dict[str, dict[str, Sequence[Any]]] = {}
        for counter, values in scrape.columns.items():
            check_parallel(counter, values, count)
            base, _, index = counter.partition(".")
            if counter in self.wide.names:
                self.wide.put(counter, values)
            elif index and base in self.classes.names:
                by_index.setdefault(index, {})[base] = values
            else:
                for port, of, value in zip(scrape.ports, of_rows, values, strict=True):
                    self.aside((*of, port.name, base, index or None, False), value)
        for name, named in scrape.named.items():
            check_parallel(name, named, count)
            for port, of, word in zip(scrape.ports, of_rows, named, strict=True):
                self.aside((*of, port.name, name, None, True), word)
        for name, ends in scrape.saturated.items():
            check_parallel(name, ends, count)
            for port, of, end in zip(scrape.ports, of_rows, ends, strict=True):
                if end is not None:
                    self.aside((*of, port.name, f"saturated:{name}", None, True), end)
        self.wide.count += max(count, 1)
        names = [port.name for port in scrape.ports]
        for index, counters in by_index.items():
            for base, of_index in counters.items():
                self.classes.put(base, of_index)
            for part, values_of in zip(CLASS, zip(*of_rows, strict=True), strict=False):
                self.of_class[part] += values_of
            self.of_class["port"] += names
            self.of_class["index"] += [index] * count
            self.of_class["lossless"] += _lossless(scrape.ports, index)
            self.classes.count += count

    def aside(self, row: Row, value: Any) -> None:
        """What has no column, or does not fit it, is a row of `port_fields`."""
        if exact((value,)):
            self.long.append((*row, value, None, None))
        elif isinstance(value, str):
            self.long.append((*row, None, None, value))
        else:
            self.long.append((*row, None, float(value), None))

    def spill_port(self, at: int, counter: str, value: Any) -> None:
        cluster, device, _, _, ts_us, epoch, baseline, _, port, *_ = self.per_row[at]
        self.aside((cluster, device, ts_us, epoch, baseline, port, counter, None, False), value)

    def spill_class(self, at: int, counter: str, value: Any) -> None:
        *of_row, index, _ = (self.of_class[part][at] for part in CLASS)
        self.aside((*of_row, counter, index, False), value)


def _port(port: Port | None) -> Row:
    """None: the device answered and told of no port, which is not silence."""
    return (None,) * len(PORT) if port is None else tuple(getattr(port, part) for part in PORT)


def _lossless(ports: Sequence[Port], index: str) -> list[bool | None]:
    """Whether nothing may be dropped there; None: the device did not say, or the index is no number."""
    if not index.isdecimal():
        return [None] * len(ports)
    number = int(index)
    return [None if port.lossless is None else number in port.lossless for port in ports]


def port_tables(messages: Sequence[PortScrape]) -> Tables:
    """Raises ValueError for a message whose columns are not parallel to its ports."""
    scrapes = _Scrapes()
    for scrape in messages:
        scrapes.add(scrape)
    out = error_rows("fabric.scrapes.v1", [(m.cluster, m.device, m.ts_us, m.errors) for m in messages])
    if scrapes.per_row:
        names = (*SCRAPE, *PORT_COLUMNS)
        columns: dict[str, Any] = dict(zip(names, zip(*scrapes.per_row, strict=True), strict=True))
        out["port_scrapes"] = build("port_scrapes", columns | scrapes.wide.columns(scrapes.spill_port))
    if scrapes.classes.count:
        counters = scrapes.classes.columns(scrapes.spill_class)
        out["port_classes"] = build("port_classes", scrapes.of_class | counters)
    return out | from_rows("port_fields", LONG, scrapes.long)


def link_tables(messages: Sequence[Link]) -> Tables:
    """A row a link."""
    rows = [tuple(message.ts_us if name == "ts" else getattr(message, name) for name in LINK) for message in messages]
    return from_rows("links", LINK, rows)
