"""The limits of the judgement on PCIe, NVLink and C2C."""

from dataclasses import dataclass, field

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLimits:
    """Errors fill a bucket that leaks at the rate allowed; it is full after so long at twice that rate.

    One scrape fills at most half of it, so that a lone burst is no finding; where the rate is certainly too high a few
    scrapes in a row are enough. Numbers without a source are this
    project's choice.
    """

    active: float = 0.3
    """Share of time with work on the SMs from which a link is judged (rule sketch of gpu fault knowledge)."""
    pcie_error_rate: float = 1e-12
    """Bit errors a bit that the PCIe base specification allows: with generation and width, so many replays a minute."""
    pcie_per_minute: float = 8.0
    """Where generation or width is not known: the rate that DCGM health warns at (DCGM_LIMIT_MAX_PCIREPLAY_RATE)."""
    crc_per_second: float = 100.0
    """NVLink CRC errors (DCGM_LIMIT_MAX_NVLINK_CRC_ERROR): fewer are corrected without harm."""
    replays_per_minute: float = 60.0
    """NVLink replays. DCGM health fails at any; links of the newer generations replay now and then: own choice."""
    lost_per_minute: float = 6.0
    """NVLink packets with errors that correction did not mend: own choice."""
    recoveries_per_hour: float = 2.0
    """NVLink retrainings, a strong sign under load (gpu fault knowledge); a few are usual: own choice."""
    recoveries: float = 3.0
    """Retrainings beyond that rate that make a finding: own choice."""
    c2c_per_minute: float = 8.0
    """C2C CRC errors or replays: own choice, as for PCIe."""
    fill_us: int = 180 * SECOND_US
    """A bucket is full after so long at twice the rate allowed: own choice."""
    certain: float = 2.0
    """Times the rate allowed: `windows` scrapes in a row with as many, and certainly more than allowed, are enough."""
    severe: float = 10.0
    """Times the rate allowed: NVLink errors are critical from here on, for the job waits for them. Own choice."""
    windows: int = 3
    """Scrapes in a row that show a link narrow, slow (both under load) or down (as for clocks), or too many errors."""
    narrow: float = 0.25
    """Share of the PCIe bandwidth left at which its loss is critical: own choice."""
    nvlinks: dict[str, int] = field(default_factory=dict)
    """Part of a model's name -> links on this platform, where they differ from `gpu_links.csv`."""
    node_share: float = 0.75
    """So many of a node's GPUs with the same fault have it in common: own choice."""
    node_least: int = 3
    """But at least so many."""
    fine_windows: int = 5
    """An episode ends after so many good scrapes in a row, under load for errors: own choice ..."""
    fine_us: int = 10 * MINUTE_US
    """... over so long for errors, which come and go: own choice."""
    state_fine_us: int = 60 * SECOND_US
    """... over so long for a width, a generation or a link count: own choice."""
