"""What is remembered of a node's driver errors, and for how long."""

from dataclasses import dataclass
from hashlib import blake2b

from msgspec import Struct, field

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.kernel import KernelEvent
from streams.catalog import Bin
from streams.contract import Severity
from streams.detectors.xid_rules import Verdict
from streams.episodes import Episodes
from streams.gpus import is_old, uuids

SECOND_US = 1_000_000
HOUR_US = 3600 * SECOND_US
MOST = 256
"""Open episodes, remembered lines and remembered GPUs of a node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class XidLimits:
    """How lines belong together, and when an episode is over. A quiet log alone never ends one.

    It ends when the GPU itself still answers after the quiet time (for a switch: the node), or sooner when the
    GPU was reset since: its energy counter, which starts again at driver load, has fallen. Where no GPU
    readings come at all, the node's log has to go on without the fault for the quiet time.
    """

    group_us: int = 5 * SECOND_US
    """Delta study (arXiv 2503.11901): repeats within 5 s on one GPU are one error."""
    info_us: int = 600 * SECOND_US
    warning_us: int = HOUR_US
    critical_us: int = 24 * HOUR_US
    """Quiet times by severity: own choice. What asks for a reset is not forgotten overnight."""
    reset_us: int = 300 * SECOND_US
    """Quiet time after a reset was seen: a fault that the reset did not cure comes back in minutes."""
    critical_log_us: int = 7 * 24 * HOUR_US

    def quiet_us(self, severity: Severity) -> int:
        """How long the GPU must answer without the fault."""
        return {"info": self.info_us, "warning": self.warning_us, "critical": self.critical_us}[severity]


class Group(Struct):
    """An open episode beside its edges."""

    verdict: Verdict
    """Of the cause."""
    severity: Severity
    asked: Bin
    """What to do: the driver's own word, else the cause's bin."""
    told: bool
    last_us: int
    count: int = 0
    codes: dict[str, int] = field(default_factory=dict)
    energy_mj: float | None = None
    """Of the GPU before the last event; a lower reading after it means a reset."""


class Kept(Struct):
    """What outlives the process."""

    groups: dict[str, Group] = field(default_factory=dict)
    episodes: Episodes = field(default_factory=Episodes)
    lines: list[int] = field(default_factory=list)
    """Digests of the last events, to know one that is delivered again."""


class XidState:
    """One node."""

    __slots__ = ("kept", "known", "parts", "rows", "scrape")

    def __init__(self, kept: Kept | None = None) -> None:
        self.kept = kept or Kept()
        self.known = dict.fromkeys(self.kept.lines)
        self.rows: list[str] = []
        self.parts: dict[str, Gpu] = {}
        """PCI address -> GPU, also those that are gone: the log names the address only."""
        self.scrape: GpuScrape | None = None

    def see(self, scrape: GpuScrape) -> bool:
        """Take a scrape; False: it is not later than the last one."""
        if self.scrape is not None and is_old(scrape.ts_us, self.scrape.ts_us):
            return False
        self.scrape = scrape
        rows = uuids(scrape)
        if rows != self.rows:
            self.rows = rows
            if len(self.parts) > MOST:
                self.parts = {}
            self.parts |= {g.pci: g for g in scrape.gpus if g.pci is not None}
        return True

    def knows(self, event: KernelEvent) -> bool:
        """Was that very line judged before? It is remembered."""
        digest = _digest(event)
        if digest in self.known:
            return True
        self.known[digest] = None
        if len(self.known) > MOST:
            del self.known[next(iter(self.known))]
        return False


def _digest(event: KernelEvent) -> int:
    said = (event.ts_us, event.kind, event.code, event.pci, event.gpu_uuid, event.device, event.pid, event.raw)
    text = "|".join(map(str, said))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
