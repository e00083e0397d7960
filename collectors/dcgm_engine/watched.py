"""Which fields are watched, and how often: what moves fast often, what stays put seldom."""

from dataclasses import dataclass

XID, BIND = 230, 6
PROF = tuple(range(1001, 1017))
EVENT_S = 1.0
"""As dcgm-exporter watches the bind event; DCGM keeps an XID when the driver tells it, whatever the interval."""
STATIC_S = 60.0


def _ids(*parts: "int | range") -> tuple[int, ...]:
    return tuple(number for part in parts for number in (part if isinstance(part, range) else (part,)))


FAST = _ids(100, 101, 112, 140, 150, 153, range(155, 158), 203, 204, range(250, 254))
SLOW = _ids(
    *(202, 190, 206, 207, 237, 238, range(240, 248), range(310, 314), range(318, 320), range(328, 330)),
    *(range(342, 347), range(385, 397), 409, 419, 429, 439, 170, 171, 174, 175),
    *(range(1200, 1215), 1219, 1220, range(1400, 1403), range(1420, 1425), 1501, 1507, 1523),
)
STATIC = _ids(66, 67, 110, 111, 113, 114, 151, 152, range(158, 165), 235, 236, 300, 301)
"""Settings and limits: the last value holds until the next, so that every message has them."""


@dataclass(frozen=True, slots=True)
class Watch:
    """Fields of one interval. `event`: each sample tells something that happened."""

    name: str
    fields: tuple[int, ...]
    every_s: float
    holds: bool = False
    event: bool = False


def watches(fast_s: float, slow_s: float) -> tuple[Watch, ...]:
    """Profiling fields stand apart: a GPU or a licence may lack them, which must cost nothing else."""
    return (
        Watch("static", STATIC, STATIC_S, holds=True),
        Watch("fast", FAST, fast_s),
        Watch("prof", PROF, fast_s),
        Watch("slow", SLOW, slow_s),
        Watch("bind", (BIND,), EVENT_S, event=True),
        Watch("xid", (XID,), EVENT_S, event=True),
    )
