"""What can go wrong in the simulated fleet, and what must be said of it."""

import math
from dataclasses import dataclass

from infra.fleet.fault_kind import kinds

KINDS = kinds()
XID_WORDS: dict[int, tuple[str, ...]] = {
    48: ("uncorrectable_ecc",),
    64: ("row_remap_failure",),
    94: ("uncorrectable_ecc",),
    95: ("uncontained_ecc",),
    140: ("uncorrectable_ecc",),
}
"""XID code -> what else it may rightly be called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault of a scenario, with its truth. Seconds count from the scenario's start."""

    kind: str
    target: str
    from_s: float = 0.0
    to_s: float = math.inf
    size: float
    code: int | None = None
    """XID code, for kind `xid`."""
    text: str | None = None
    """What the driver prints after the code, for kind `xid`; None: the usual text of the code."""
    recovery: str | None = None
    """What the driver asks for after it (XID 154), for kind `xid`: a key of `kernel_log.RECOVERIES`; its rank dies."""
    every_s: float = math.inf
    """It comes back after this, ..."""
    for_s: float = math.inf
    """... for this long each time."""
    expect: tuple[str, ...] = ()
    """Cause words, one of which must be named."""
    page: bool = True
    optional: bool = False
    """Too small to be held to: found or not, both are right."""
    within_s: float = 60.0
    """The page must come within this after `from_s`."""

    @property
    def name(self) -> str:
        """`kind target`, as the scoreboard shows it."""
        kind = f"xid {self.code}" if self.kind == "xid" else self.kind
        return f"{kind} {self.target}"

    def active(self, at_s: float) -> bool:
        """Whether it is at work at that second of the scenario."""
        if not self.from_s <= at_s < self.to_s:
            return False
        return self.every_s == math.inf or (at_s - self.from_s) % self.every_s < self.for_s
