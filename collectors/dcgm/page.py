"""Pages of one target into messages: at full speed while their shape stays, in full and right when it changes."""

from dataclasses import dataclass, field
from io import BytesIO
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
    """All bytes of a page up to its values, and what the values mean.

    `removeprefix` takes the known bytes off every line. It leaves a line that begins otherwise whole, and the
    lengths then no longer add up to the page's: so two sums show that every line is as it was.
    """

    def __init__(self, page: bytes, layout: Layout) -> None:
        samples = set(layout.lines)
        lines = BytesIO(page).readlines()
        self._heads = [line[: line.rindex(b" ") + 1] if n in samples else line for n, line in enumerate(lines)]
        self._length = sum(map(len, self._heads))
        self._count = len(lines)
        # One more, so that a page with more lines gives more rests.
        self._heads.append(b"")
        # One more, so that a single sample comes as a tuple too.
        self._pick = itemgetter(*layout.lines, layout.lines[0]) if layout.lines else None
        self.layout = layout

    def values(self, page: bytes) -> list[bytes] | None:
        """The page's values, as they stand with their line ends; None: its shape is another."""
        rest = list(map(bytes.removeprefix, BytesIO(page), self._heads))
        left = len(b"".join(rest))
        if len(rest) != self._count or len(page) != self._length + left or self._pick is None:
            return None
        values = list(self._pick(rest))
        values.pop()
        # Nothing is left of comments and blank lines.
        return values if len(b"".join(values)) == left and self.layout.holds(values) else None


class PageReader:
    """Keeps the shape of the last page of a target."""

    def __init__(self, default_node: str, cluster: str) -> None:
        self._default_node = default_node
        self._cluster = cluster
        self._shape: Shape | None = None

    def read(self, page: bytes, ts_us: int) -> Parsed:
        """Any bytes; what is no sample comes back as bad."""
        if self._shape is not None:
            values = self._shape.values(page)
            if values is not None:
                scrapes = self._shape.layout.fill(values, ts_us, self._cluster)
                if scrapes is None:
                    texts = [value.decode("utf-8", "backslashreplace").strip() for value in values]
                    if all(map(is_number, texts)):
                        scrapes = self._shape.layout.fill_any(texts, ts_us, self._cluster)
                if scrapes is not None:
                    return Parsed(scrapes, len(values))
        return self._read_anew(page, ts_us)

    def _read_anew(self, page: bytes, ts_us: int) -> Parsed:
        lines = page.decode("utf-8", "backslashreplace").split("\n")
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
        self._shape = Shape(page, layout) if plain == lines and not bad else None
        return Parsed(layout.fill_any(values, ts_us, self._cluster), len(values), bad)
