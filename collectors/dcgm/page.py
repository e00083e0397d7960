"""Pages of one target into messages: at full speed while their shape stays, in full and right when it changes."""

from dataclasses import dataclass, field
from operator import itemgetter

from collectors.contract.gpu import GpuScrape
from collectors.dcgm.build import BadLine, build
from collectors.dcgm.exposition import is_sample, untimed
from collectors.dcgm.layout import Layout, is_number


@dataclass(slots=True)
class Parsed:
    """What a page held. `samples` counts its lines that were read, blank values included."""

    scrapes: list[GpuScrape]
    samples: int
    bad: list[BadLine] = field(default_factory=list)


class Shape:
    """All text of a page up to its values, and what the values mean.

    `removeprefix` takes the known text off every line. It leaves a line that begins otherwise whole, and the
    lengths then no longer add up to the page's: so one comparison shows that every line is as it was.
    """

    def __init__(self, lines: list[str], layout: Layout) -> None:
        samples = set(layout.lines)
        self._heads = [line[: line.rindex(" ") + 1] if number in samples else line for number, line in enumerate(lines)]
        self._length = sum(map(len, self._heads)) + len(lines) - 1
        self._pick = itemgetter(*layout.lines, *layout.lines[:1]) if layout.lines else None
        self.layout = layout

    def values(self, page: str) -> list[str] | None:
        """The texts of the page's values; None: its shape is another."""
        lines = page.split("\n")
        if len(lines) != len(self._heads) or self._pick is None:
            return None
        rest = list(map(str.removeprefix, lines, self._heads))
        left = len("".join(rest))
        if len(page) != self._length + left:
            return None
        # One more than there are samples, so that a single one comes as a tuple too.
        values = list(self._pick(rest))
        values.pop()
        # Nothing is left of comments and blank lines.
        return values if len("".join(values)) == left and self.layout.holds(values) else None


class PageReader:
    """Keeps the shape of the last page of a target."""

    def __init__(self, default_node: str, cluster: str) -> None:
        self._default_node = default_node
        self._cluster = cluster
        self._shape: Shape | None = None

    def read(self, page: str, ts_us: int) -> Parsed:
        """Any text; what is no sample comes back as bad."""
        if self._shape is not None:
            values = self._shape.values(page)
            if values is not None:
                scrapes = self._shape.layout.fill(values, ts_us, self._cluster)
                if scrapes is None and all(map(is_number, values)):
                    scrapes = self._shape.layout.fill_any(values, ts_us, self._cluster)
                if scrapes is not None:
                    return Parsed(scrapes, len(values))
        return self._read_anew(page, ts_us)

    def _read_anew(self, page: str, ts_us: int) -> Parsed:
        lines = page.split("\n")
        plain = [untimed(line) if is_sample(line) else line for line in lines]
        parts = [line.rpartition(" ") for line in plain]
        texts = [part[2] for part in parts]
        layout, bad = build([part[0] for part in parts], texts, self._default_node)
        values = [texts[number] for number in layout.lines]
        bad += [
            BadLine(plain[number], "not a number")
            for number, text in zip(layout.lines, values, strict=True)
            if not is_number(text)
        ]
        # A page with bad lines or timestamps is read in full each time.
        self._shape = Shape(lines, layout) if plain == lines and not bad else None
        return Parsed(layout.fill_any(values, ts_us, self._cluster), len(values), bad)
