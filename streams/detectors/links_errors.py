"""Error counters of links: what grew, how much is allowed, and when it is too much."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from math import sqrt

from collectors.contract.gpu import Entities, GpuScrape
from streams import counters
from streams.detectors.links_limits import LinkLimits
from streams.detectors.links_state import MOST_PASTS, Owner, Part, Voice, allowance
from streams.detectors.links_tables import STATES, WATCHED, Counter, counter, pcie_bits_per_s
from streams.gpus import BLANK, cell

GEN, WIDTH = "237", "238"
WORDS = {
    "pcie_replay": "pcie_replays",
    "pcie_corrected": "pcie_replays",
    "aer_corrected": "pcie_replays",
    "aer_uncorrected": "pcie_uncorrected",
    "nvlink_crc": "nvlink_errors",
    "nvlink_replay": "nvlink_errors",
    "nvlink_recovery": "nvlink_errors",
    "nvlink_lost": "nvlink_errors",
    "nvlink_failed": "nvlink_failed",
    "c2c": "c2c_errors",
}
AT_ONCE = frozenset(("nvlink_failed", "aer_uncorrected"))
"""One is enough."""
CERTAINTY = 5.0
"""Standard deviations of a Poisson count, and so many errors at the least, above what is allowed."""
MOST_OF_A_BUCKET = 0.51
"""That one scrape fills: two full ones are needed."""


@dataclass(slots=True)
class Growth:
    """Errors since the last scrape of one sort on one owner."""

    ways: dict[str, float] = field(default_factory=dict)
    links: dict[str, float] = field(default_factory=dict)

    @property
    def count(self) -> float:
        """Different ways count the same errors."""
        return max(self.ways.values(), default=0.0)


@dataclass(slots=True)
class Grown:
    """One scrape against what stood before. `read`: (owner, word) of every counter that could be read."""

    of: dict[tuple[Owner, str], Growth] = field(default_factory=dict)
    read: set[tuple[Owner, str]] = field(default_factory=set)


def has_moved(scrape: GpuScrape, before: GpuScrape) -> bool:
    """Can any counter have grown? Whole columns only: the common case must cost next to nothing."""
    past = before.columns
    for name, column in scrape.columns.items():
        if name in WATCHED and column != past.get(name):
            return True
    if scrape.named and any(counter(n) is not None and c != before.named.get(n) for n, c in scrape.named.items()):
        return True
    if not scrape.entities:
        return False
    return len(scrape.entities) != len(before.entities) or any(
        now.ids != then.ids
        or any(counter(n) is not None and c != then.columns.get(n) for n, c in now.columns.items())
        or any(n in STATES and c != then.columns.get(n) for n, c in now.columns.items())
        for now, then in zip(scrape.entities, before.entities, strict=True)
    )


def grown(scrape: GpuScrape, before: GpuScrape | None, voice: Voice) -> Grown:
    """Take every counter of the scrape. What stands where it stood is known to have been read, no more."""
    found = Grown()
    owners = [gpu.uuid for gpu in scrape.gpus]
    same = before is not None and [gpu.uuid for gpu in before.gpus] == owners
    for columns, past in (
        (scrape.columns, before.columns if same and before is not None else {}),
        (scrape.named, before.named if same and before is not None else {}),
    ):
        for name, column in columns.items():
            its = counter(name)
            if its is not None:
                _take(found, voice, name, its, _once(owners, column), scrape.ts_us, moved=column != past.get(name))
    then = {group.kind: group for group in before.entities} if before is not None else {}
    for group in scrape.entities:
        former = then.get(group.kind)
        alike = former is not None and former.ids == group.ids and former.parents == group.parents
        for name, column in group.columns.items():
            its = counter(name)
            if its is not None:
                moved = former is None or not alike or column != former.columns.get(name)
                if moved or voice.parts:
                    _take(found, voice, name, its, _linked(scrape.node, group, column), scrape.ts_us, moved=moved)
    return found


def pour(
    part: Part, sort: str, growth: Growth, per_minute: float, over_us: int, ts_us: int, limits: LinkLimits
) -> None:
    """Put the errors of a scrape into the bucket, after what leaked since the one before."""
    per_s, full = allowance(sort, per_minute, limits)
    excess = (growth.count - per_s * over_us / 1e6) / full
    is_sure = sort in AT_ONCE and growth.count > 0.0
    if over_us > 0:
        allowed = per_s * over_us / 1e6
        certain = growth.count >= max(limits.certain * allowed, allowed + CERTAINTY * sqrt(allowed) + CERTAINTY)
        part.streaks[sort] = part.streaks.get(sort, 0) + 1 if certain else 0
        is_sure = is_sure or part.streaks[sort] >= limits.windows
    part.fill(sort, 1.0 if is_sure else min(excess, MOST_OF_A_BUCKET))
    if growth.count > 0.0:
        part.recent.append((ts_us, sort, growth.count, over_us))
        for link, count in growth.links.items():
            part.links[link] = part.links.get(link, 0.0) + count


def allowed_per_minute(sort: str, scrape: GpuScrape, row: int | None, limits: LinkLimits) -> float:
    """Errors of a sort that a link of this generation and width may have."""
    if sort in AT_ONCE:
        return 0.0
    if sort.startswith(("pcie", "aer")):
        generation = None if row is None else cell(scrape, GEN, row)
        width = None if row is None else cell(scrape, WIDTH, row)
        if generation is None or width is None:
            return limits.pcie_per_minute
        bits = pcie_bits_per_s(generation, width)
        return limits.pcie_per_minute if bits is None else max(1.0, limits.pcie_error_rate * bits * 60.0)
    return {
        "nvlink_crc": limits.crc_per_second * 60.0,
        "nvlink_replay": limits.replays_per_minute,
        "nvlink_recovery": limits.recoveries_per_hour / 60.0,
        "nvlink_lost": limits.lost_per_minute,
    }.get(sort, limits.c2c_per_minute)


def _take(
    found: Grown,
    voice: Voice,
    name: str,
    its: Counter,
    values: Iterable[tuple[Owner, str | None, float | None]],
    ts_us: int,
    *,
    moved: bool,
) -> None:
    word = WORDS[its.sort]
    for owner, link, value in values:
        if value is None or value >= BLANK:
            continue
        found.read.add((owner, word))
        if not moved:
            continue
        key = (owner if link is None else f"{owner}/{link}", name)
        if len(voice.known) >= MOST_PASTS and key not in voice.known:
            voice.known.clear()
        past, change = counters.advance(voice.known.get(key), value, ts_us)
        if past is not None:
            voice.known[key] = past
        if change is not None and change.delta is not None and change.delta > 0:
            growth = found.of.setdefault((owner, its.sort), Growth())
            growth.ways[its.way] = growth.ways.get(its.way, 0.0) + change.delta
            told = link or its.link
            if told is not None:
                growth.links[told] = growth.links.get(told, 0.0) + change.delta


def _once(owners: list[Owner], column: list[float | None]) -> list[tuple[Owner, str | None, float | None]]:
    """One value a GPU: rows of MIG instances repeat those of the whole."""
    if len(set(owners)) == len(owners):
        return [(owner, None, value) for owner, value in zip(owners, column, strict=False)]
    values: dict[Owner, float] = {}
    for owner, value in zip(owners, column, strict=False):
        if value is not None:
            values.setdefault(owner, value)
    return [(owner, None, value) for owner, value in values.items()]


def _linked(node: str, group: Entities, column: list[float | None]) -> Iterator[tuple[Owner, str | None, float | None]]:
    for row, value in enumerate(column[: len(group.ids)]):
        yield owner_of(node, group, row), group.ids[row], value


def owner_of(node: str, group: Entities, row: int) -> Owner:
    """The GPU of its link by UUID; a switch, or what hangs on it, as `node/switch`."""
    parent = group.parents[row] if row < len(group.parents) else None
    if group.kind == "nvlink":
        return parent or node
    return f"{node}/{parent if parent is not None else group.ids[row]}"
