"""What is remembered of a node's driver errors."""

from hashlib import blake2b

from msgspec import Struct, field

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.kernel import KernelEvent
from streams.catalog import Bin
from streams.contract import Severity, Subject
from streams.detectors.xid_past import Past, past_of
from streams.detectors.xid_rules import Verdict
from streams.episodes import Episodes
from streams.gpus import is_old, row_of, uuids
from streams.successors import Slots

MOST = 256
"""Open episodes, remembered lines and remembered GPUs of a node."""


class Group(Struct):
    """An open episode beside its edges."""

    verdict: Verdict
    """Of the cause."""
    severity: Severity
    asked: Bin
    """What to do: the driver's own word, else the cause's bin."""
    told: bool
    """The driver's own word came: XID 154."""
    last_us: int
    """The last line that was no mere effect."""
    seen_us: int
    """The last line."""
    count: int = 1
    """Events: lines within `group_us` of each other are one."""
    codes: dict[str, int] = field(default_factory=dict)
    """Lines by code."""
    energy_mj: float | None = None
    """Of the GPU before the last event; a lower reading after it means a reset."""
    by_gauge: bool = False
    """Told by DCGM's gauges alone, not by the log."""
    recovered_us: int = 0
    """When a reset was seen last, or the driver took its wish for a recovery back."""
    asks: str = ""
    """What XID 154 asks for, by name; empty: it did not come."""
    over_us: int = 0
    """The first message that shows it over: a line from before it that comes late is still of this episode."""


class Kept(Struct):
    """What outlives the process."""

    groups: dict[str, Group] = field(default_factory=dict)
    episodes: Episodes = field(default_factory=Episodes)
    lines: list[int] = field(default_factory=list)
    """Digests of the last events, to know one that is delivered again."""
    pasts: dict[str, Past] = field(default_factory=dict)
    """By PCI address (or what else names the part)."""
    owners: dict[str, str] = field(default_factory=dict)
    """Whose past it is: the UUID. Of a GPU that was swapped only the slot's troubles go on."""
    driver: str | None = None
    gauges: dict[str, float] = field(default_factory=dict)
    """DCGM field, UUID and MIG instance -> the last value that was read."""


class XidState:
    """One node."""

    __slots__ = ("by_gauge", "columns", "kept", "known", "lines_us", "parts", "rows", "scrape", "slots")

    def __init__(self, kept: Kept | None = None) -> None:
        self.kept = kept or Kept()
        self.known = dict.fromkeys(self.kept.lines)
        self.rows: list[str] = []
        self.parts: dict[str, Gpu] = {}
        """PCI address -> GPU, also those that are gone: the log names the address only."""
        self.slots = Slots()
        self.scrape: GpuScrape | None = None
        self.columns: dict[str, list[float | None]] = {}
        """Gauges as last read."""
        self.by_gauge = False
        """What is judged just now was told by a gauge."""
        self.lines_us: dict[str, int] = {}
        """Part -> the last line of the log about it."""

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
            self._meet_owners()
        driver = scrape.labels.get("driver_version")
        if driver is not None:
            self.kept.driver = driver
        return True

    def job_of(self, subject: Subject) -> str | None:
        """Who holds a GPU, by the labels of its row."""
        row = None if self.scrape is None else row_of(self.scrape, subject)
        if self.scrape is None or row is None:
            return None
        gpu = self.scrape.gpus[row]
        return gpu.hpc_job or (None if gpu.pod is None else f"{gpu.namespace}/{gpu.pod}")

    def heard(self, part: str, since_us: int) -> bool:
        """Did the log say anything of a part since then?"""
        return self.lines_us.get(part, -1) >= since_us

    def hear(self, part: str, ts_us: int) -> None:
        """The log said something of a part."""
        self.lines_us[part] = max(ts_us, self.lines_us.pop(part, 0))
        if len(self.lines_us) > MOST:
            del self.lines_us[next(iter(self.lines_us))]

    def pci_of(self, uuid: str | None) -> str | None:
        """The address of a GPU that is named by its UUID alone."""
        return next((pci for pci, gpu in self.parts.items() if gpu.uuid == uuid), None) if uuid else None

    def past(self, part: str) -> Past:
        """The past of a part."""
        past = self.kept.pasts.get(part)
        if past is None:
            past = past_of(self.kept.pasts, part)
            self._meet_owners()
        return past

    def _meet_owners(self) -> None:
        """A GPU in the place of another begins with the troubles of the place alone."""
        kept = self.kept
        for part, past in kept.pasts.items():
            gpu = self.parts.get(part)
            if gpu is None:
                continue
            if kept.owners.get(part, gpu.uuid) != gpu.uuid:
                past.marks = {kind: marks for kind, marks in past.marks.items() if kind == "bus"}
            kept.owners[part] = gpu.uuid
        for part in [p for p in kept.owners if p not in kept.pasts]:
            del kept.owners[part]

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
