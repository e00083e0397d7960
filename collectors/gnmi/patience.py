"""How long a switch may be silent, and how long to wait before it is tried again."""

from dataclasses import dataclass

from collectors.gnmi.presets import Preset

SILENT_ROUNDS = 3
"""A stream that is silent for so many intervals is dead."""
CONNECT_TIMEOUT_S = 10.0
QUIET_SHARE = 0.1
"""A round is in when nothing has come for this share of the interval, at most `QUIET_S`."""
QUIET_S = 1.0
CHANGELESS_S = 600.0
"""A subscription of changes only, without a heartbeat, is silent for as long as nothing changes: after so long it is
asked anew, because nothing else tells a dead switch from a calm one."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits between attempts: doubled each time, and cut at random so that a fleet does not return as one."""

    first_s: float = 1.0
    longest_s: float = 60.0

    def wait_s(self, attempt: int, chance: float) -> float:
        """`attempt` counts from 0, `chance` is in [0, 1)."""
        return min(self.longest_s, self.first_s * 2.0 ** min(attempt, 16)) * (0.5 + chance / 2)


class Patience:
    """By what was subscribed to."""

    def __init__(self, preset: Preset, interval_s: float) -> None:
        told = [wanted.every_s(interval_s) for wanted in preset.subscribe if not preset.call_of(wanted)[1]]
        periods = [period for period in told if period is not None]
        if preset.mode != "STREAM":
            periods.append(interval_s)
        self.only_changes = preset.mode == "STREAM" and not any(
            wanted.mode == "SAMPLE" and not wanted.suppress for wanted in preset.subscribe
        )
        """No round of samples ends: a scrape is what stands at the end of each interval."""
        fastest_s = min(periods, default=CHANGELESS_S / SILENT_ROUNDS)
        self._quiet_s = min(QUIET_S, QUIET_SHARE * interval_s)
        self._interval_s = interval_s
        self._silence_s = max(1.0, SILENT_ROUNDS * fastest_s)
        self._unheard_s = max(CONNECT_TIMEOUT_S, min(self._silence_s, SILENT_ROUNDS * interval_s))

    def quiet_s(self, synced: bool) -> float:
        """Nothing came for so long: the round is in."""
        return self._quiet_s if synced else self._interval_s

    def silence_s(self, heard: bool) -> float:
        """Nothing came for so long: the switch is dead. `heard`: something came on this connection."""
        return self._silence_s if heard else self._unheard_s
