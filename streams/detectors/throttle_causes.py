"""Why a clock is low: by the time that each reason held it, and what to do."""

import re
from dataclasses import dataclass

from collectors.contract.gpu import GpuScrape
from streams import counters
from streams.contract import Evidence, Severity
from streams.detectors.throttle_reading import (
    CLOCKS_SETTING,
    HW_SLOWDOWN,
    HW_THERMAL,
    POWER_BRAKE,
    SW_POWER_CAP,
    SW_THERMAL,
    SYNC_BOOST,
    Reading,
)
from streams.gpus import BLANK, cell, gauge

_BITS: tuple[tuple[int, str], ...] = (
    (HW_THERMAL, "hw_thermal"),
    (POWER_BRAKE, "power_brake"),
    (SW_THERMAL, "sw_thermal"),
    (SYNC_BOOST, "sync_boost"),
    (CLOCKS_SETTING, "clocks_setting"),
    (SW_POWER_CAP, "sw_power_cap"),
)
_HELD_NS = {
    "1420": "sw_power_cap",
    "1421": "sync_boost",
    "1422": "sw_thermal",
    "1423": "hw_thermal",
    "1424": "power_brake",
}
"""Time under each reason: they see what a sampled bit misses."""
_VIOLATION_NS = {"240": "sw_power_cap", "241": "sw_thermal"}
"""The coarse ones, asked only when nothing finer speaks."""
_ORDER = (
    "hw_thermal",
    "power_brake",
    "hw_slowdown",
    "sw_thermal",
    "sync_boost",
    "clocks_setting",
    "sw_power_cap",
)
"""Among equals the first is named. The power cap last: under full load it is everyone's companion."""
LONGEST_S = 60.0
AT_LIMIT = 0.97
"""Share of the power limit from which it is reached: own choice."""
_WINDOW = re.compile(r'DCGM_EXP_CLOCK_EVENTS_COUNT\{.*?clock_event="(?P<reason>\w+)"')
_WINDOWED = {
    "hw_thermal": "hw_thermal",
    "hw_power_brake": "power_brake",
    "hw_slowdown": "hw_slowdown",
    "sw_thermal": "sw_thermal",
    "sync_boost": "sync_boost",
    "clocks_setting": "clocks_setting",
    "power_cap": "sw_power_cap",
}
"""dcgm-exporter's words for the bits."""


@dataclass(frozen=True, slots=True)
class Why:
    """A cause, in words, with what to do."""

    cause: str
    words: str
    action: str
    severity: Severity | None = None
    """Where the cause says more than the size of the loss."""


_COOLING = "check inlet air or coolant, fans, pump and the thermal interface; drain the GPU if it stays hot"
WHY: dict[str, Why] = {
    "hw_thermal": Why("thermal_throttle", "slowed by the hardware for its heat", _COOLING),
    "sw_thermal": Why("thermal_throttle", "slowed by the driver for its heat", _COOLING),
    "power_brake": Why(
        "power_brake",
        "slowed by an external power brake",
        "look at the rack's power, not at the GPU: supply units, feed, rack controller",
    ),
    "hw_slowdown": Why(
        "hw_slowdown",
        "slowed by the hardware, neither for heat nor by a power brake",
        "check power cables and cooling of the GPU; reset it if it stays",
    ),
    "sync_boost": Why(
        "sync_boost", "held to the lowest clock of the group", "look for the slowest GPU of the group", "info"
    ),
    "clocks_setting": Why(
        "clock_lock",
        "held down by an administrator's clock setting",
        "lift the setting if it is not meant (nvidia-smi -rgc, -rac)",
    ),
    "sw_power_cap": Why(
        "power_cap",
        "held below the neighbours by the power limit",
        "compare its power limit with that of its neighbours, then its temperature",
    ),
    "no_reason": Why(
        "clock_lock",
        "no reason is given",
        "look for a clock lock left behind (nvidia-smi -rgc); reset the GPU if there is none",
    ),
    "unknown": Why(
        "unexplained_slow_clock",
        "the reasons cannot be read",
        "read the clock reasons on the node (nvidia-smi -q -d PERFORMANCE)",
    ),
}


def held_s(reading: Reading, scrape: GpuScrape, before: GpuScrape | None) -> dict[str, float]:
    """Seconds under each reason since the scrape before: of the counters once they grow, else of the sampled bits."""
    span_s = min(max((scrape.ts_us - before.ts_us) / 1e6, 0.0), LONGEST_S) if before is not None else 1.0
    held = {word: span_s for bit, word in _BITS if reading.bits & bit}
    if reading.bits & HW_SLOWDOWN and not reading.bits & (HW_THERMAL | POWER_BRAKE):
        held["hw_slowdown"] = span_s
    if before is None or not _same_gpu(scrape, before, reading.row):
        return held
    grown = {w: g for f, w in _HELD_NS.items() if (g := _grown_s(f, reading.row, scrape, before)) > 0.0}
    if grown.keys() - {"sw_power_cap"}:
        told = {w for f, w in _HELD_NS.items() if cell(scrape, f, reading.row) is not None}
        held = {w: s for w, s in held.items() if w not in told}
        if "hw_thermal" in grown or "power_brake" in grown:
            held.pop("hw_slowdown", None)
    held |= {w: min(s, span_s) for w, s in grown.items()}
    if not held:
        for field_id, word in _VIOLATION_NS.items():
            coarse = _grown_s(field_id, reading.row, scrape, before)
            if coarse > 0.0:
                held[word] = min(coarse, span_s)
    return held or _windowed_s(reading.row, scrape, span_s) or _at_limit_s(reading.row, scrape, span_s)


def _windowed_s(row: int, scrape: GpuScrape, span_s: float) -> dict[str, float]:
    """By the exporter's counts of the last minutes: the share of a reason among them."""
    counts: dict[str, float] = {}
    for name, column in scrape.named.items():
        found = _WINDOW.match(name)
        word = None if found is None else _WINDOWED.get(found["reason"])
        value = column[row] if word is not None and row < len(column) else None
        if word is not None and value is not None and value > 0.0:
            counts[word] = counts.get(word, 0.0) + value
    whole = sum(counts.values())
    return {word: span_s * count / whole for word, count in counts.items()}


def _at_limit_s(row: int, scrape: GpuScrape, span_s: float) -> dict[str, float]:
    """No reason is told, but the power in use is what the limit in force allows."""
    power, limit = gauge(scrape, "155", row), gauge(scrape, "164", row)
    at_limit = power is not None and limit is not None and limit > 0.0 and power >= AT_LIMIT * limit
    return {"sw_power_cap": span_s} if at_limit else {}


def why(held: dict[str, float], knows_bits: bool) -> Why:
    """The reason with the largest share; the power cap only when it is alone."""
    reasons = {w: s for w, s in held.items() if s > 0.0}
    if len(reasons) > 1:
        reasons.pop("sw_power_cap", None)
    if reasons:
        return WHY[max(reasons, key=lambda w: (reasons[w], -_ORDER.index(w)))]
    return WHY["no_reason" if knows_bits else "unknown"]


def evidence(reading: Reading, scrape: GpuScrape, before: GpuScrape | None, held: dict[str, float]) -> list[Evidence]:
    """The numbers that a person would look up next."""
    found = [
        Evidence(what=f"held down by {word}", value=round(s, 3), unit="s")
        for word, s in sorted(held.items(), key=lambda kv: -kv[1])
        if s > 0.0
    ]
    for what, field_id, unit in (
        ("GPU temperature", "150", "C"),
        ("memory temperature", "140", "C"),
        ("degrees left before slowdown", "153", "C"),
        ("power", "155", "W"),
        ("power limit in force", "164", "W"),
        ("default power limit", "163", "W"),
    ):
        value = gauge(scrape, field_id, reading.row)
        if value is not None:
            found.append(Evidence(what=what, value=value, unit=unit))
    mean_w = _mean_power_w(reading.row, scrape, before)
    if mean_w is not None:
        found.append(Evidence(what="mean power since the scrape before", value=round(mean_w, 1), unit="W"))
    if reading.active is not None:
        found.append(Evidence(what="share of time at work", value=round(reading.active, 3), unit="fraction"))
    return found


def _same_gpu(scrape: GpuScrape, before: GpuScrape, row: int) -> bool:
    return row < len(before.gpus) and before.gpus[row].uuid == scrape.gpus[row].uuid


def _mean_power_w(row: int, scrape: GpuScrape, before: GpuScrape | None) -> float | None:
    """By the energy counter, which sees what a sample of the power misses."""
    if before is None or not _same_gpu(scrape, before, row) or scrape.ts_us <= before.ts_us:
        return None
    grown_mj = _grown("156", row, scrape, before)
    return grown_mj * 1e3 / (scrape.ts_us - before.ts_us) if grown_mj > 0.0 else None


def _grown_s(field_id: str, row: int, scrape: GpuScrape, before: GpuScrape) -> float:
    return _grown(field_id, row, scrape, before) / 1e9


def _grown(field_id: str, row: int, scrape: GpuScrape, before: GpuScrape) -> float:
    value, past = cell(scrape, field_id, row), cell(before, field_id, row)
    if value is None or past is None or value >= BLANK or past >= BLANK:
        return 0.0
    _, change = counters.advance(counters.Past(past, before.ts_us, before.ts_us), value, scrape.ts_us)
    return 0.0 if change is None or change.delta is None else float(change.delta)
