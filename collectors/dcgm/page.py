"""Pages of one target into messages: at full speed while their shape stays, in full and right when it changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from operator import itemgetter

from collectors.contract.gpu import GpuScrape
from collectors.dcgm.build import BadLine, build
from collectors.dcgm.exposition import is_sample, read_line
from collectors.dcgm.layout import Layout, is_number

MOST_LINES = 100_000
"""A page of more is read as none: it would keep all other targets waiting for seconds."""
MOST_LINE = 16 << 10
MOST_SHOWN = 1000
"""What is told of such a page or line."""


@dataclass(slots=True)
class Parsed:
    """What a page held. `samples` counts its lines that were read, blank values included."""

    scrapes: list[GpuScrape]
    samples: int
    bad: list[BadLine] = field(default_factory=list)


class Shape:
    """All bytes of a page up to its values, and what the values mean.

    `removeprefix` takes the known bytes off every line. It leaves a line that begins otherwise whole: then
    something is left of a comment, or the lengths of heads and values add up to more than the page's.
    """

    def __init__(self, page: bytes, layout: Layout) -> None:
        samples = set(layout.lines)
        lines = BytesIO(page).readlines()
        self._heads = [line[: line.rindex(b" ") + 1] if n in samples else line for n, line in enumerate(lines)]
        others = [n for n in range(len(lines)) if n not in samples]
        # The heads, and the commas between the values.
        self._length = sum(map(len, self._heads)) - (len(layout.lines) - 1)
        self._count = len(lines)
        # One more, so that a page with more lines gives more rests.
        self._heads.append(b"")
        self._pick = _picker(layout.lines)
        self._pick_others = _picker(others)
        self.layout = layout

    def values(self, page: bytes) -> bytes | None:
        """The page's values parted by commas, with their line ends; None: its shape is another."""
        if not page.endswith(b"\n"):
            return None
        rest = list(map(bytes.removeprefix, BytesIO(page), self._heads))
        if len(rest) != self._count or any(self._pick_others(rest)):
            return None
        values = self._pick(rest)
        joined = b",".join(values)
        return joined if len(page) == self._length + len(joined) and self.layout.holds(values) else None


def _picker(places: list[int]) -> Callable[[list[bytes]], Sequence[bytes]]:
    """What takes these places out of a list."""
    if len(places) > 1:
        return itemgetter(*places)
    return lambda rest: [rest[place] for place in places]


class PageReader:
    """Keeps the shape of the last page of a target."""

    def __init__(self, default_node: str, cluster: str) -> None:
        self._default_node = default_node
        self._cluster = cluster
        self._shape: Shape | None = None

    def read(self, page: bytes, ts_us: int) -> Parsed:
        """Any bytes; what is no sample comes back as bad."""
        if self._shape is not None:
            layout, joined = self._shape.layout, self._shape.values(page)
            if joined is not None:
                scrapes = layout.fill(joined, ts_us, self._cluster)
                if scrapes is None:
                    texts = [text.strip() for text in joined.decode("utf-8", "backslashreplace").split(",")]
                    if len(texts) == len(layout.lines) and all(map(is_number, texts)):
                        scrapes = layout.fill_any(texts, ts_us, self._cluster)
                if scrapes is not None:
                    return Parsed(scrapes, len(layout.lines))
        return self._read_anew(page, ts_us)

    def _read_anew(self, page: bytes, ts_us: int) -> Parsed:
        if page.count(b"\n") > MOST_LINES:
            self._shape = None
            return Parsed([], 0, [BadLine(page[:MOST_SHOWN].decode("utf-8", "replace"), f"over {MOST_LINES} lines")])
        lines = page.decode("utf-8", "backslashreplace").split("\n")
        cut = _cut(lines.pop())
        long = [number for number, line in enumerate(lines) if len(line) > MOST_LINE and is_sample(line)]
        for number in long:
            cut.append(BadLine(lines[number][:MOST_SHOWN], f"a line of more than {MOST_LINE >> 10} KiB"))
            lines[number] = ""
        parts = {number: read_line(line) for number, line in enumerate(lines) if is_sample(line)}
        layout, bad = build(lines, parts, self._default_node)
        texts = [parts[number].text for number in layout.lines]
        bad += [
            BadLine(lines[number].strip(), "not a number")
            for number, text in zip(layout.lines, texts, strict=True)
            if not is_number(text)
        ]
        bad += cut
        # A page with bad lines, timestamps or exemplars is read in full each time.
        plain = all(f"{part.head} {part.text}" == lines[number] for number, part in parts.items())
        self._shape = Shape(page, layout) if plain and not bad and layout.lines else None
        return Parsed(layout.fill_any(texts, ts_us, self._cluster), len(texts), bad)


def _cut(rest: str) -> list[BadLine]:
    """What stands after the last line end: a sample there may have lost digits, so it is none."""
    return [BadLine(rest.strip()[:MOST_LINE], "cut off: no line end")] if is_sample(rest) else []
