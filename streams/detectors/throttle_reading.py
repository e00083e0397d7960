"""What one scrape says of each GPU's clock: is it at work, how fast should it run, is it slow?"""

import csv
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import median

from collectors.contract.gpu import GpuScrape
from streams.gpus import GPU_UTIL, SM_ACTIVE, gauge, share_at_work, user_of

SM_CLOCK, MAX_SM_CLOCK, REASONS, MARGIN = "100", "113", "112", "153"
TEMPERATURE, SLOWDOWN_AT = "150", "158"
LEAST_SLOWDOWN_C = 50.0
"""On Hopper and later field 158 counts from the limit down and is no temperature."""

CLOCKS_SETTING, SW_POWER_CAP, HW_SLOWDOWN, SYNC_BOOST = 0x2, 0x4, 0x8, 0x10
SW_THERMAL, HW_THERMAL, POWER_BRAKE = 0x20, 0x40, 0x80
HELD_DOWN = HW_SLOWDOWN | SYNC_BOOST | SW_THERMAL | HW_THERMAL | POWER_BRAKE
"""Bits of field 112 (NVML clocks event reasons) that always mean slower than the work allows."""
HARD = HW_SLOWDOWN | HW_THERMAL | POWER_BRAKE
CALM: frozenset[float | None] = frozenset((None, *map(float, range(8))))
"""Idle, a clock setting, the power cap, or none: no reason to look further when all clocks are alike."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleLimits:
    """Numbers without a source are this project's choice."""

    active: float = 0.3
    """Share of time with work on the SMs from which a clock is judged (rule sketch of gpu fault knowledge)."""
    slow: float = 0.9
    """Of the median clock of the job's other GPUs of that model on the node, else of the node's (the same)."""
    windows: int = 3
    """Scrapes in a row (the same)."""
    fine: float = 0.95
    """Of the same clock, from which a scrape is good: own choice, above `slow` so that nothing flaps."""
    fine_windows: int = 5
    """An episode ends after so many good scrapes under load in a row: own choice ..."""
    fine_us: int = 30_000_000
    """... over so long: own choice."""
    severe: float = 0.6
    """Of the clock, below which the job pages. A hardware slowdown halves the clock or worse (NVML)."""
    locked: float = 0.6
    """Of the model's maximum: so low without a power cap is no boost behaviour, whatever the neighbours do."""
    peers: int = 2
    """Others that a median needs: own choice."""
    own_us: int = 600_000_000
    """Work without any reason to slow down after which a GPU's own usual clock counts: own choice."""
    margin_c: float = 5.0
    """Degrees before slowdown that are a warning (field 153, T.Limit, of Hopper and later); 0 is the slowdown."""
    node_share: float = 0.75
    """So many of a node's busy GPUs slow for one reason are one fault of the node: own choice."""
    node_least: int = 3
    """But at least so many: own choice."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One GPU in one scrape. None: could not be read."""

    uuid: str
    row: int
    model: str | None
    user: str | None
    """Its job."""
    clock: float | None
    active: float | None
    busy: bool
    """By any sign: it may serve as a peer."""
    bits: int
    knows_bits: bool
    margin: float | None
    ceiling: float | None
    """The model's maximum SM clock."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How a busy GPU runs against what it should."""

    slow: bool
    fine: bool
    share: float
    reference: float
    own: bool = False
    """Against its own past: a new setting looks the same."""


def is_calm(scrape: GpuScrape, limits: ThrottleLimits, least_mhz: float = 0.0) -> bool:
    """Can nothing be slow or hot here? Whole columns only: the common case must cost next to nothing.

    `least_mhz`: below it some GPU here is slow by its own past.
    """
    columns = scrape.columns
    clocks = _numbers(columns.get(SM_CLOCK))
    if not clocks:
        return True
    reasons = columns.get(REASONS)
    if reasons is not None and not CALM.issuperset(reasons):
        return False
    if MARGIN in columns:
        margins = _numbers(columns.get(MARGIN))
        if margins and min(margins) < limits.margin_c:
            return False
    elif SLOWDOWN_AT in columns:
        ends, heats = _numbers(columns.get(SLOWDOWN_AT)), _numbers(columns.get(TEMPERATURE))
        if ends and heats and LEAST_SLOWDOWN_C < min(ends) < max(heats) + limits.margin_c:
            return False
    low, high = min(clocks), max(clocks)
    if low < limits.slow * high or low < least_mhz:
        # Idle GPUs clock down; those at work must not.
        active = columns.get(SM_ACTIVE)
        if active is None or len(active) != len(clocks):
            return False
        at_work = [c for c, a in zip(clocks, active, strict=True) if a is None or a > limits.active]
        low = min(at_work, default=high)
    ceiling = _ceiling(scrape, 0)
    return low >= max(limits.slow * high, least_mhz) and (ceiling is None or low >= limits.locked * ceiling)


def readings(scrape: GpuScrape, limits: ThrottleLimits) -> dict[str, Reading]:
    """By UUID. Rows of MIG instances are one GPU: the busiest instance counts."""
    found: dict[str, Reading] = {}
    for row, gpu in enumerate(scrape.gpus):
        active = share_at_work(scrape, row)
        util = gauge(scrape, GPU_UTIL, row)
        bits = gauge(scrape, REASONS, row)
        knows = bits is not None and bits >= 0.0
        reading = Reading(
            uuid=gpu.uuid,
            row=row,
            model=gpu.model,
            user=user_of(gpu),
            clock=gauge(scrape, SM_CLOCK, row),
            active=active,
            busy=max(active or 0.0, (util or 0.0) / 100.0) > limits.active,
            bits=int(bits) if knows and bits is not None else 0,
            knows_bits=knows,
            margin=_margin(scrape, row),
            ceiling=_ceiling(scrape, row),
        )
        first = found.get(gpu.uuid)
        if first is None or (reading.clock is not None and (first.active or 0.0) < (active or 0.0)):
            found[gpu.uuid] = reading
    return found


def pace(
    reading: Reading, all_here: dict[str, Reading], limits: ThrottleLimits, usual_mhz: float | None = None
) -> Pace | None:
    """None: idle, or not to be read, or nothing to compare with: no evidence of anything.

    Against its job's other GPUs on the node, else the node's, healthy ones where there are enough. Where the
    neighbours are held down too (a power brake takes a whole rack), against the model's maximum; where nothing
    tells a reason, also against its own past (`usual_mhz`).
    """
    clock = reading.clock
    if clock is None or clock <= 0.0 or reading.active is None or reading.active <= limits.active:
        return None
    peers, akin = _peers(reading, all_here, limits)
    held = bool(reading.bits & HELD_DOWN)
    capped = bool(reading.bits & SW_POWER_CAP)
    if not held and _is_locked(reading, clock, limits):
        return _compare(clock, reading.ceiling or clock, held, limits)
    free = [r.clock for r in peers if not r.bits & HELD_DOWN and r.clock is not None]
    its = Pace(False, reading.knows_bits and not held, 1.0, clock)
    if len(free) >= limits.peers:
        its = _compare(clock, median(free), held, limits)
        if its.slow and capped and not held and not akin:
            return Pace(False, False, its.share, its.reference)  # Other work draws other power: no evidence.
    elif held and reading.ceiling is not None:
        return _compare(clock, reading.ceiling, held, limits)
    elif held and reading.bits & HARD:
        return Pace(True, False, 0.5, clock)  # Nothing to compare with: the bit itself says "half or less".
    else:
        everyone = [r.clock for r in peers if r.clock is not None]
        if len(everyone) >= limits.peers:
            its = _compare(clock, median(everyone), held, limits)
    if usual_mhz is not None and not its.slow and is_free(reading) and clock < limits.fine * usual_mhz:
        return replace(_compare(clock, usual_mhz, held, limits), own=True)
    return its


def is_free(reading: Reading) -> bool:
    """Nothing holds it down, as it says itself: its clock is what it has."""
    return reading.knows_bits and reading.bits == 0


def _peers(reading: Reading, all_here: dict[str, Reading], limits: ThrottleLimits) -> tuple[list[Reading], bool]:
    """Those to compare with, and whether they do the same work as far as is known."""
    alike = [
        r
        for r in all_here.values()
        if r.busy and r.clock is not None and r.model == reading.model and r.uuid != reading.uuid
    ]
    own = [r for r in alike if r.user == reading.user]
    if len(own) >= limits.peers:
        return own, True
    return alike, len(own) == len(alike)


def _margin(scrape: GpuScrape, row: int) -> float | None:
    """Degrees left before slowdown: as told, or by the temperature at which the model slows down."""
    told = gauge(scrape, MARGIN, row)
    if told is not None:
        return told
    ends, now = gauge(scrape, SLOWDOWN_AT, row), gauge(scrape, TEMPERATURE, row)
    return None if ends is None or now is None or ends <= LEAST_SLOWDOWN_C else ends - now


def _is_locked(reading: Reading, clock: float, limits: ThrottleLimits) -> bool:
    capped = bool(reading.bits & SW_POWER_CAP)
    return reading.ceiling is not None and not capped and clock < limits.locked * reading.ceiling


def _compare(clock: float, reference: float, held: bool, limits: ThrottleLimits) -> Pace:
    share = clock / reference if reference > 0.0 else 1.0
    return Pace(share < limits.slow, share >= limits.fine and not held, share, reference)


def _numbers(column: list[float | None] | None) -> list[float]:
    if column is None or None in column:
        return [v for v in column or () if v is not None]
    return column  # type: ignore[return-value]


def _ceiling(scrape: GpuScrape, row: int) -> float | None:
    told = gauge(scrape, MAX_SM_CLOCK, row)
    if told is not None and told > 0.0:
        return told
    return max_sm_mhz(scrape.gpus[row].model) if row < len(scrape.gpus) else None


@cache
def max_sm_mhz(model: str | None) -> float | None:
    """By the name that the driver gives; None: not in the table."""
    return next((mhz for part, mhz in _clocks() if model is not None and part in model), None)


@cache
def _clocks() -> tuple[tuple[str, float], ...]:
    with (Path(__file__).parent / "data" / "gpu_clocks.csv").open(newline="") as file:
        return tuple((r["part_of_name"], float(r["max_sm_mhz"])) for r in csv.DictReader(file))
