"""The numbers behind the bad-link verdicts."""

from dataclasses import dataclass, field

from streams.episodes import Damping


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkQualityLimits:
    """Limits of `LinkQualityDetector`."""

    window_us: int = 10_000_000
    """A window is one scrape, or so long where scrapes come faster (our choice: SONiC's slowest port counters are
    renewed every 10 s)."""
    windows: int = 5
    """Windows that are looked at (our choice)."""
    bad_windows: int = 3
    """Of these so many must have errors: one burst is no bad link (our choice)."""
    post_ber: float = 1e-12
    """Bit error ratio after FEC: the default of ibdiagnet's test (its manual, "Bit Error Rate")."""
    symbol_short_us: int = 720_000_000
    """Symbol errors are summed over 12 minutes (NVIDIA UFM pdr_deterministic_plugin, BER_THRESHOLDS_INTERVALS), ..."""
    symbol_short_ber: float = 1e-14
    """... in which more than this ratio of the line's bits are too many: 2.88 at 400 Gb/s (same source)."""
    symbol_long_us: int = 7_500_000_000
    """They are summed over 125 minutes too (same source), ..."""
    symbol_long_ber: float = 1e-15
    """... in which more than this ratio are too many: 3.0 at 400 Gb/s (same source)."""
    symbol_gbps: float = 200.0
    """From this speed on lines have FEC by design, and the two ratios above hold (HDR and NDR; our choice)."""
    slower_ber: float = 1e-12
    """In place of both below that speed (ibdiagnet's default). Ethernet below it may run without FEC and is judged
    by its frames."""
    symbols_at_unknown_speed: float = 10.0
    """In 125 minutes, where nobody tells the speed (infiniband-diags, `error_thresholds`)."""
    clean_us: int = 1_800_000_000
    """A link is good again after so long without an error, every counter read (our choice)."""
    hot_celsius: float = 70.0
    """A module above it is said to be hot (UFM pdr_deterministic_plugin, TMAX)."""
    most: int = 4096
    """Ports of one device that are followed (our choice)."""
    damping: Damping = field(default_factory=lambda: Damping(growth=10.0, least_us=600_000_000))
    """An open episode speaks again at ten times as many errors, at most every ten minutes (our choice)."""
