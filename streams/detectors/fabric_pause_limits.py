"""The numbers behind the pause verdicts."""

from dataclasses import dataclass, field

from streams.episodes import Damping


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseLimits:
    """Limits of `PauseDetector`."""

    storm_ratio: float = 0.8
    """Share of a window on hold that, with nothing moved, is a storm: what SONiC's watchdog takes for an empty queue
    (`pfc_detect_mellanox.lua`)."""
    storm_windows: int = 3
    """Windows in a row; one may be a burst (our choice)."""
    hold_us: int = 600_000_000
    """A storm is over so long after it was last seen: watchdogs restore and find it again (our choice)."""
    pressure_ratio: float = 0.2
    """Share on hold that is worth a record (our choice: a link of 400 Gb/s held for 0.217 of its time carried 308 Gb/s,
    NVIDIA/daqiri issue 250)."""
    pressure_off_ratio: float = 0.1
    """A record ends below it (our choice)."""
    pressure_us: int = 300_000_000
    """On hold, or below the end, for so long (our choice; Guo et al., SIGCOMM 2016, keep pause in five-minute bins)."""
    most: int = 1024
    """Ports and priorities of one device that are followed (our choice)."""
    damping: Damping = field(default_factory=lambda: Damping(growth=10.0, least_us=300_000_000))
    """An open episode speaks again when ten times as bad, at most every five minutes (our choice)."""
