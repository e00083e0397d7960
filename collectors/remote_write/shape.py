"""Samples of one scrape into its messages: the layout of a page, filled from values instead of text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from collectors.contract.gpu import GpuScrape
from collectors.dcgm.build import build
from collectors.dcgm.exposition import Line, show_series
from collectors.dcgm.layout import Layout
from collectors.remote_write.series import Series

_ODD = re.compile(r"[^a-zA-Z0-9_]")

Cells = Mapping[Series, float | None]
Columns = dict[str, list[float | None]]


@dataclass(frozen=True, slots=True)
class Shape:
    """Which series make which cell of which message. `series` is in the order of the layout's places."""

    keys: frozenset[Series]
    series: tuple[Series, ...]
    layout: Layout

    def numbers(self, cells: Cells) -> list[float | None]:
        """The values in the layout's order; None where one is not there."""
        return list(map(cells.get, self.series))

    def whole(self, cells: Cells, ts_us: int, cluster: str) -> list[GpuScrape] | None:
        """All messages of the scrape; None: it has another shape."""
        if len(cells) != len(self.keys) or cells.keys() != self.keys:
            return None
        numbers = self.numbers(cells)
        return self.layout.fill_numbers(numbers, ts_us, cluster) if self.layout.holds(numbers) else None

    def part(self, cells: Cells, ts_us: int, cluster: str) -> list[GpuScrape]:
        """A piece of it: no column that has not begun to come, and no message without any."""
        pieces = map(_piece, self.layout.fill_numbers(self.numbers(cells), ts_us, cluster))
        return [piece for piece in pieces if piece.columns or piece.named or piece.entities]


def shape_of(cells: Cells, node: str) -> Shape:
    """The shape of a scrape not seen before. `node`: where its labels name none."""
    series = list(cells)
    heads = [show_series(one.name, {_plain(k): v for k, v in one.labels.items()}) for one in series]
    lines = {place: Line(head, repr(cells[series[place]])) for place, head in enumerate(heads)}
    layout, _ = build(heads, lines, node)
    return Shape(frozenset(series), tuple(series[place] for place in layout.lines), layout)


def _plain(label: str) -> str:
    """Labels of OpenTelemetry have dots, which a page does not know."""
    return _ODD.sub("_", label)


def _piece(scrape: GpuScrape) -> GpuScrape:
    entities = [
        msgspec.structs.replace(one, columns=_begun(one.columns), named=_begun(one.named)) for one in scrape.entities
    ]
    replaced: dict[str, Any] = {
        "columns": _begun(scrape.columns),
        "named": _begun(scrape.named),
        "entities": [one for one in entities if one.columns or one.named],
        "part": True,
    }
    return msgspec.structs.replace(scrape, **replaced)


def _begun(columns: Columns) -> Columns:
    return {name: values for name, values in columns.items() if any(value is not None for value in values)}
