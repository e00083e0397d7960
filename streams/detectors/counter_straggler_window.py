"""A few samples of a node as one point: how far each GPU stands from the others of its job."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import median

from collectors.contract.gpu import Gpu, GpuScrape
from streams.detectors.counter_straggler_limits import CounterStragglerLimits
from streams.gpus import BLANK_GAUGE, GPU_UTIL, GR_ACTIVE, SM_ACTIVE, user_of

CLOCK, POWER, HEAT, TENSOR, DRAM, REASONS = "100", "155", "150", "1004", "1005", "112"
FIELDS = (CLOCK, POWER, HEAT, TENSOR, DRAM, REASONS, SM_ACTIVE, GR_ACTIVE, GPU_UTIL)
COMPARED = (CLOCK, POWER, HEAT, TENSOR, DRAM)
SW_POWER_CAP = 0x4
MAD_TO_SIGMA = 1.4826
"""Of a normal distribution."""

Column = Sequence[float | None] | None


@dataclass(slots=True)
class Window:
    """Samples of one source, as they came."""

    gpus: list[Gpu] = field(default_factory=list)
    samples: list[tuple[Column, ...]] = field(default_factory=list)
    first_us: int = 0
    last_us: int = 0
    known: dict[str, list[float | None]] = field(default_factory=dict)
    """Field -> means, of the samples so far."""

    def add(self, scrape: GpuScrape, limits: CounterStragglerLimits) -> bool:
        """Take a sample; is the window full? A change of GPUs or jobs, or a gap, begins a new one."""
        ts_us = scrape.ts_us
        if self.samples and (
            not self.last_us < ts_us <= self.first_us + limits.longest_us
            or len(scrape.gpus) != len(self.gpus)
            or scrape.gpus != self.gpus
        ):
            self.samples = []
        if not self.samples:
            self.gpus, self.first_us = scrape.gpus, ts_us
        self.known.clear()
        columns = scrape.columns
        self.samples.append(tuple(columns.get(f) for f in FIELDS))
        self.last_us = ts_us
        return len(self.samples) >= limits.window

    def means(self, field_id: str) -> list[float | None]:
        """One per GPU, over the samples that could be read; None: fewer than half."""
        found = self.known.get(field_id)
        if found is None:
            found = self.known[field_id] = self._means(field_id)
        return found

    def _means(self, field_id: str) -> list[float | None]:
        at = FIELDS.index(field_id)
        columns = [sample[at] for sample in self.samples]
        if all(c is not None and None not in c and len(c) == len(self.gpus) for c in columns):
            return [sum(cells) / len(cells) for cells in zip(*columns, strict=True)]
        found: list[float | None] = []
        for row in range(len(self.gpus)):
            cells = [v for c in columns if c is not None and row < len(c) and (v := c[row]) is not None]
            known = [v for v in cells if v < BLANK_GAUGE]
            found.append(sum(known) / len(known) if 2 * len(known) > len(columns) else None)
        return found

    def capped(self, row: int) -> bool:
        """Did the power cap hold it in most samples?"""
        at = FIELDS.index(REASONS)
        bits = [c[row] for s in self.samples if (c := s[at]) is not None and row < len(c)]
        known = [int(b) for b in bits if b is not None and 0.0 <= b < BLANK_GAUGE]
        return 2 * sum(bool(b & SW_POWER_CAP) for b in known) > len(self.samples)


@dataclass(frozen=True, slots=True)
class Stand:
    """One GPU against the median of the others of its job."""

    row: int
    own: dict[str, float]
    others: dict[str, float]
    distance: float
    is_slow: bool
    """It stands apart, its clock is lower and it is busier: the others wait for it."""
    is_starved: bool
    """It stands apart, at their clock and with far less to do."""
    is_fine: bool


def may_differ(window: Window, limits: CounterStragglerLimits) -> bool:
    """Is any clock or activity low against the highest? The common case must cost next to nothing."""
    for field_id, share in ((CLOCK, 1.0 - limits.clock_loss), (_busy_field(window), limits.starved)):
        known = [v for v in window.means(field_id) if v is not None]
        if known and min(known) < share * max(known):
            return True
    return False


def stands(window: Window, limits: CounterStragglerLimits) -> list[Stand]:
    """Of every GPU at work that has enough others to be compared with."""
    means = {f: window.means(f) for f in COMPARED}
    busy = window.means(_busy_field(window))
    groups: dict[tuple[str | None, str | None], list[int]] = {}
    for row in _whole_gpus(window):
        share = busy[row] if _busy_field(window) != TENSOR else _activity(window, row)
        if share is not None and share > limits.active and means[CLOCK][row] is not None:
            groups.setdefault((user_of(window.gpus[row]), window.gpus[row].model), []).append(row)
    found: list[Stand] = []
    for rows in groups.values():
        if len(rows) >= limits.least:
            distances = {row: _distance(row, rows, means, limits) for row in rows}
            found += [_stand(window, row, rows, means, busy, distances, limits) for row in rows]
    return found


def _stand(
    window: Window,
    row: int,
    rows: list[int],
    means: dict[str, list[float | None]],
    busy: list[float | None],
    distances: dict[int, float],
    limits: CounterStragglerLimits,
) -> Stand:
    others = [r for r in rows if r != row]
    own = {f: v for f in COMPARED if (v := means[f][row]) is not None}
    theirs = {f: median(known) for f in own if (known := [v for r in others if (v := means[f][r]) is not None])}
    clock = own[CLOCK] / theirs[CLOCK] if theirs[CLOCK] > 0.0 else 1.0
    their_busy = [v for r in others if (v := busy[r]) is not None]
    mine = busy[row]
    share = mine / median(their_busy) if mine is not None and their_busy and median(their_busy) > 0.0 else None
    typical = median(distances[r] for r in others)
    is_apart = distances[row] >= max(limits.distance, limits.apart * typical)
    its_clock = _deviation(CLOCK, row, rows, means[CLOCK], limits)
    is_low = its_clock is not None and its_clock <= -limits.clock_distance
    loss = limits.capped_loss if window.capped(row) else limits.clock_loss
    return Stand(
        row,
        own,
        theirs,
        distances[row],
        is_slow=is_apart and is_low and clock <= 1.0 - loss and share is not None and share >= limits.busy,
        is_starved=is_apart and clock > 1.0 - limits.clock_loss and share is not None and share <= limits.starved,
        is_fine=clock > 1.0 - limits.clock_loss / 2 and (share is None or share > limits.starved),
    )


def _distance(row: int, rows: list[int], means: dict[str, list[float | None]], limits: CounterStragglerLimits) -> float:
    """Root mean square of the deviations over all fields."""
    all_of = [_deviation(f, row, rows, column, limits) for f, column in means.items()]
    known = [z for z in all_of if z is not None]
    return sqrt(sum(z * z for z in known) / len(known)) if known else 0.0


def _deviation(
    field_id: str, row: int, rows: list[int], column: list[float | None], limits: CounterStragglerLimits
) -> float | None:
    """(own - median of the others) / their spread."""
    own = column[row]
    others = [v for r in rows if r != row and (v := column[r]) is not None]
    if own is None or len(others) < 2:
        return None
    middle = median(others)
    least = {CLOCK: limits.clock_spread, POWER: limits.power_spread, HEAT: limits.heat_spread}
    floor = least.get(field_id, limits.activity_spread) * abs(middle)
    spread = max(MAD_TO_SIGMA * median(abs(v - middle) for v in others), floor)
    return (own - middle) / spread if spread > 0.0 else None


def _whole_gpus(window: Window) -> list[int]:
    """Instances of a shared GPU are no peers of anything."""
    return [row for row, gpu in enumerate(window.gpus) if gpu.mig is None]


def _busy_field(window: Window) -> str:
    """The finest that is told for any GPU."""
    for field_id in (TENSOR, SM_ACTIVE, GR_ACTIVE):
        if any(v is not None and v > 0.0 for v in window.means(field_id)):
            return field_id
    return GPU_UTIL


def _activity(window: Window, row: int) -> float | None:
    for field_id, whole in ((SM_ACTIVE, 1.0), (GR_ACTIVE, 1.0), (GPU_UTIL, 100.0)):
        value = window.means(field_id)[row]
        if value is not None and value > 0.0:
            return value / whole
    return None
