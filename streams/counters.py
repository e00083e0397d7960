"""Counters fall for known reasons: wrap, restart, clear, saturation. This module alone subtracts them.

Never a negative, never a huge positive: what cannot be explained is a reset with nothing claimed.
"""

from itertools import pairwise

from msgspec import Struct, field

from collectors.contract.fabric import CounterForm

PLAIN = CounterForm()
WRAPS_AT = 32
"""The only width whose wrap is believed; a 64-bit counter does not live long enough (RFC 2863, 3.1.6)."""
LEAST_FRAME_BYTES = 84
"""64-byte frame, preamble and gap (IEEE 802.3): the most packets a line can carry."""
PLAUSIBLE_WINDOW_US = 60_000_000
"""A device may renew a value late and hand over up to this much time's growth at once."""
GAP = 3.0
"""A window longer than so many nominal intervals is a gap."""

LEARNED_FROM = 6
"""Stamps behind the usual window of a counter."""


class Past(Struct, frozen=True, array_like=True):
    """What is remembered of one counter."""

    value: int | float
    ts_us: int
    """Source time of the last sample: what is not later is a duplicate or late."""
    since_us: int
    """Source time from which the next delta counts."""
    epoch: str = ""
    blind: bool = False


class Change(Struct, frozen=True):
    """What one sample said. `delta` is None where nothing may be subtracted (first sample, saturated)."""

    delta: int | float | None
    window_us: int = 0
    first: bool = False
    """A baseline: the first sample, or the first after a lost stream."""
    reset: bool = False
    """The counter began again; `delta` is at most what it grew since (0 where the reason is not known)."""
    wrapped: bool = False
    gap: bool = False
    """The window is stretched over missing samples; the delta is whole."""
    blind: bool = False
    """The counter stands at its end and cannot say more: a fault of the telemetry, not a loss."""

    @property
    def grown(self) -> int | float:
        """What may be told as growth: nothing after a reset, of which nobody knows how much was before it."""
        return 0 if self.reset or self.delta is None or self.delta < 0 else self.delta


def advance(
    past: Past | None,
    value: int | float | None,
    ts_us: int,
    *,
    form: CounterForm = PLAIN,
    epoch: str = "",
    ceiling_per_s: float | None = None,
    nominal_us: int | None = None,
    baseline: bool = False,
    cleared: bool = False,
) -> tuple[Past | None, Change | None]:
    """Take one sample of one counter. A None change means that it holds no information.

    `ceiling_per_s`: the most that it can grow (see `line_rate_per_s`); without it no wrap is believed.
    `nominal_us`: the sampling interval, to tell a gap. `cleared`: other counters of its port or device fell too.
    """
    if value is None or not 0 <= value < float("inf"):
        return past, None
    if past is not None and ts_us <= past.ts_us:
        return past, None
    if form.kind == "saturating_counter" and form.bits > 0 and value >= (1 << form.bits) - 1:
        since_us = ts_us if past is None else past.since_us
        return Past(value, ts_us, since_us, epoch, True), Change(None, blind=True)
    if past is None or baseline:
        return Past(value, ts_us, ts_us, epoch), Change(None, first=True)
    window_us = ts_us - past.since_us
    if value == past.value and epoch == past.epoch and form.refresh_us is not None and window_us < form.refresh_us:
        return Past(value, ts_us, past.since_us, epoch, past.blind), None
    change = _compare(past, value, window_us, form, epoch, ceiling_per_s, cleared)
    if nominal_us is not None and window_us > GAP * nominal_us:
        change = Change(change.delta, window_us, reset=change.reset, wrapped=change.wrapped, gap=True)
    return Past(value, ts_us, ts_us, epoch), change


class Rhythm(Struct):
    """The usual window of a counter, learned from its own stamps: half of them are at least so long."""

    stamps: list[int] = field(default_factory=list)

    def learn(self, ts_us: int) -> None:
        """Take the time of a sample; one that is not later is late and says nothing."""
        if self.stamps and ts_us <= self.stamps[-1]:
            return
        self.stamps.append(ts_us)
        if len(self.stamps) > LEARNED_FROM:
            del self.stamps[0]

    def nominal_us(self) -> int | None:
        """The lower median of the last windows; None: too few yet."""
        if len(self.stamps) < LEARNED_FROM:
            return None
        return sorted(b - a for a, b in pairwise(self.stamps))[(len(self.stamps) - 2) // 2]


def line_rate_per_s(unit: str, speed_gbps: float | None) -> float | None:
    """The most packets, frames or bytes that a line of that speed carries in a second; None: not known."""
    if speed_gbps is None or speed_gbps <= 0:
        return None
    bytes_per_s = speed_gbps * 1e9 / 8
    if unit in ("bytes", "octets"):
        return bytes_per_s
    if unit in ("packets", "frames"):
        return bytes_per_s / LEAST_FRAME_BYTES
    return None


def _compare(
    past: Past,
    value: int | float,
    window_us: int,
    form: CounterForm,
    epoch: str,
    ceiling_per_s: float | None,
    cleared: bool,
) -> Change:
    room = None if ceiling_per_s is None else ceiling_per_s * window_us / 1e6
    most = None if ceiling_per_s is None else ceiling_per_s * max(window_us, PLAUSIBLE_WINDOW_US) / 1e6
    if epoch != past.epoch:
        return Change(value if most is None else min(value, most), window_us, reset=True)
    if value >= past.value:
        grown = value - past.value
        if most is not None and grown > most:
            return Change(0, window_us, reset=True)
        return Change(grown, window_us)
    if form.kind == "counter" and form.bits == WRAPS_AT and room is not None and not cleared:
        grown = value + (1 << WRAPS_AT) - past.value
        # Half the circle, as in serial number arithmetic (RFC 1982): beyond it a clear is the likelier story.
        if grown <= room and grown < 1 << (WRAPS_AT - 1):
            return Change(grown, window_us, wrapped=True)
    return Change(0, window_us, reset=True)
