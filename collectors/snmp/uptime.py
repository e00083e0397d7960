"""sysUpTime: has the agent started anew since it was asked last?"""

from dataclasses import dataclass

TICKS = 100
WRAP = 1 << 32
"""Hundredths of a second in 32 bits: 497.1 days."""
SLACK_S = 5.0
"""An answer may be so late, and two clocks differ so much, besides one part in a hundred."""


@dataclass(slots=True)
class Uptime:
    """`epoch` names this life of the agent: the minute in which it began, the same after a restart of ours."""

    epoch: str = ""
    _ticks: int = 0
    _at_s: float = 0.0
    _known: bool = False

    def hear(self, ticks: int, clock_s: float, wall_us: int) -> bool:
        """Take one reading; True when the agent began anew. `clock_s` never jumps, `wall_us` is the time of day.

        It began anew when it is younger than before, or younger than the time that passed since; an agent whose
        uptime stands still for a while did not. The end of the 32 bits is no beginning.
        """
        known, last, passed = self._known, self._ticks, (clock_s - self._at_s) * TICKS
        self._ticks, self._at_s, self._known = ticks, clock_s, True
        if known:
            slack = SLACK_S * TICKS + passed / 100
            if ticks >= max(last, passed - slack) or abs(ticks + WRAP - last - passed) <= slack:
                return False
        self._name(wall_us // 1_000_000 - ticks // TICKS)
        return known

    def _name(self, began_s: int) -> None:
        epoch = f"boot:{60 * round(began_s / 60)}"
        self.epoch = epoch if epoch != self.epoch else f"{epoch}+{began_s}"
