"""The numbers behind the verdicts on driver errors."""

from dataclasses import dataclass

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US


@dataclass(frozen=True, slots=True, kw_only=True)
class XidLimits:
    """How lines belong together, when a fault that comes again asks for more, and when an episode is over.

    A quiet log alone never ends an episode. It ends when the GPU itself still answers after the quiet time (for a
    switch: the node), or sooner when the GPU was reset since: its energy counter, which starts again at driver
    load, has fallen, or the driver took its wish for a recovery back. Where no GPU readings come at all, the
    node's log has to go on without the fault for the quiet time.
    """

    group_us: int = 5 * SECOND_US
    """Delta study (arXiv 2503.11901): repeats within 5 s on one GPU are one error."""
    info_us: int = 10 * MINUTE_US
    """Quiet time after what is only for the record (own choice)."""
    warning_us: int = HOUR_US
    """Quiet time after what is a ticket (own choice)."""
    critical_us: int = DAY_US
    """Quiet time after what asks for a reset or a reboot: it is not forgotten overnight (own choice)."""
    reset_us: int = 5 * MINUTE_US
    """Quiet time after a reset was seen: a fault that the reset did not cure comes back in minutes (own choice)."""
    critical_log_us: int = 7 * DAY_US
    """As `critical_us` where no GPU readings come and only the log goes on (own choice)."""
    late_us: int = MINUTE_US
    """An episode that is over is told to be so much later, for a line of the log may come after the readings that
    followed it (own choice)."""
    memory_us: int = 30 * DAY_US
    """How long a fault is remembered: a second 79, GSP failure or uncorrected memory error of one GPU within 30
    days asks for more than the first (baselines after the Delta study and the Titan life data)."""
    apart_us: int = 10 * MINUTE_US
    """Closer than this, without a reset between, it is the same fault, still there (own choice; the Delta study
    saw uncontained memory errors persist for 860 s)."""
    sm_runs: int = 2
    """So many runs with XID 13 on one and the same TPC, and on no other, speak of hardware (NVIDIA's workflow for
    XID 13: the same TPC and GPC again)."""
    mmu_runs: int = 4
    """So many runs with XID 31 on one GPU (NVIDIA's workflow asks for several; the number is our own choice) ..."""
    mmu_chance: float = 0.001
    """... that would all but never meet on one GPU of the node by chance (binomial; own choice): A100s saw 0.7 XID
    31 a GPU in 30 days (Delta study), so that three on one are common."""
    retries: int = 3
    """So many events of a code that only asks to restart the job, on one GPU within the memory, are a ticket (own
    choice)."""
    link_drop_us: int = 30 * SECOND_US
    """NVLink5 rules: what follows a link that went down by less than this is its by-product."""
    gauge_us: int = MINUTE_US
    """DCGM's gauge of the last XID (field 230) is believed where the log of the same GPU was silent for so long
    (own choice)."""

    def quiet_us(self, severity: str) -> int:
        """How long the GPU must answer without the fault."""
        return {"info": self.info_us, "warning": self.warning_us, "critical": self.critical_us}[severity]
