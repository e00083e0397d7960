"""One line of the kernel log about a GPU or an NVSwitch: how grave it is, what it asks for, and whose fault it is."""

import re

from msgspec import Struct

from collectors.contract.kernel import KernelEvent
from streams import catalog
from streams.catalog import BINS, EFFECT_CODES, MEMORY_CODES, Bin
from streams.contract import Confidence, Severity
from streams.detectors.xid_nvlink import LinkSays, link_says
from streams.detectors.xid_words import THEN, WORDS

RECOVERY_CODE = 154
FALLEN_CODE = 79
GSP_CODES = frozenset({119, 120})
UNCORRECTED_CODES = frozenset({48, 63, 64, 94, 95, 140, 171, 172})
"""One uncorrected memory error prints several of them."""
PROGRAM_KINDS = frozenset({"sm", "mmu"})
"""As which XID 13 and 31 are remembered: a program's as a rule, the GPU's when they keep to one place."""
ENDS: dict[tuple[str, int], int] = {("xid", 162): 163, ("sxid", 10005): 10004}
"""(kind, code) -> the code whose end it tells: power smoothing is back on; a switch has cooled down."""


class Verdict(Struct, frozen=True, kw_only=True):
    """What one event says."""

    cause: str
    words: str
    severity: Severity
    bin: Bin
    rank: int
    """As a cause, against the other events of its episode: the first of the highest rank is the cause."""
    sets_action: bool = False
    """The driver's own word on what to do, over the catalogue's."""
    asks: str = ""
    """That word by name."""
    kind: str | None = None
    """What it is remembered as; None: it is not."""
    place: str | None = None
    """Where on the chip."""
    then: str = ""
    """What to do beyond what the bin says."""
    times: int = 1
    """Events of this kind within the memory."""
    confidence: Confidence | None = None
    facts: tuple[str, ...] = ()
    link_down: bool = False
    by_product: bool = False
    """Of an NVLink that went down just before, if one did."""
    hardware_after: int = 0
    """More events than this on one link are its hardware; 0: no such rule."""

    @property
    def remembered(self) -> bool:
        """Does it count beside what came before?"""
        return self.kind is not None or self.link_down or self.by_product


_PLACE = re.compile(r"\(GPC (\d+), TPC (\d+)")
_SXID_LINK = re.compile(r"\bLink (\d+)")


def judge(event: KernelEvent, driver: int | None = None, wanted: float | None = None) -> Verdict | None:
    """None: an event that this detector has no say in, or one that only tells the end of another.

    `driver`: its major version. `wanted`: the recovery that the GPU asks for by its own reading (DCGM 1523).
    """
    if event.kind == "gpu_lost":
        return Verdict(
            cause="gpu_lost",
            words=WORDS[FALLEN_CODE],
            severity="critical",
            bin="reboot_node",
            rank=_rank("critical", 5),
            kind="bus",
        )
    if event.code is None or (event.kind, event.code) in ENDS:
        return None
    if event.kind == "xid":
        return _xid(event.code, event.detail or event.raw, driver, wanted)
    if event.kind == "sxid":
        return _sxid(event.code, event.detail or event.raw)
    return None


def takes_back(event: KernelEvent) -> bool:
    """Does the driver say that it wants no recovery any more?"""
    return (
        event.kind == "xid" and event.code == RECOVERY_CODE and catalog.recovery(event.detail or event.raw) == "ignore"
    )


def _xid(code: int, text: str, driver: int | None, wanted: float | None) -> Verdict | None:
    entry = catalog.xid(code)
    words = f"XID {code}, {_words(entry)}"
    if code == RECOVERY_CODE:
        return _recovery(words, text, wanted)
    if code in EFFECT_CODES:
        return _effect(entry, words, text)
    if entry.bin == "app":
        place = _PLACE.search(text) if code == 13 else None
        return Verdict(
            cause=f"application_xid_{code}",
            words=words,
            severity="info",
            bin="app",
            rank=10,
            kind={13: "sm", 31: "mmu"}.get(code),
            place=None if place is None else f"GPC {int(place[1])}, TPC {int(place[2])}",
        )
    says = link_says(code, text, driver)
    chosen: Bin = entry.bin
    severity = _severity(entry)
    if says is not None:
        chosen, severity, words = says.bin, says.severity, f"{words} ({says.words})"
    rank = _rank(severity, BINS.index(chosen)) + (1 if code == FALLEN_CODE else 0)
    if severity == "info":
        rank = 35 if code in MEMORY_CODES else 20 + 5 * BINS.index(chosen)
    return Verdict(
        cause=f"xid_{code}",
        words=words,
        severity=severity,
        bin=chosen,
        rank=rank,
        kind=_kind(entry, chosen, says),
        then=says.then if says is not None and says.then else THEN.get(code, ""),
        facts=(f"the catalogue calls XID {code} unused on current GPUs",) if entry.retired else (),
        link_down=says is not None and says.link_down,
        by_product=says is not None and says.by_product,
        hardware_after=0 if says is None else says.hardware_after,
    )


def _words(entry: catalog.Xid) -> str:
    return WORDS.get(entry.code) or entry.name.removeprefix("ROBUST_CHANNEL_").replace("_", " ").lower()


def _kind(entry: catalog.Xid, chosen: Bin, says: LinkSays | None) -> str | None:
    if says is not None:
        return None if says.link is None or not says.counts else f"link {says.link}"
    if entry.code in UNCORRECTED_CODES:
        return "memory"
    if entry.code == FALLEN_CODE:
        return "bus"
    if entry.code in GSP_CODES:
        return "gsp"
    if chosen in ("reset_gpu", "reboot_node", "retry"):
        return f"xid {entry.code}"
    return None


def _recovery(words: str, text: str, wanted: float | None) -> Verdict | None:
    told = catalog.recovery(text)
    if told == "ignore":
        return None
    chosen: Bin = told or catalog.recovery_bin(wanted)
    severity = _by_bin(chosen, False)
    asks = catalog.recovery_words(text, wanted)
    return Verdict(
        cause="xid_154",
        words=f"{words}: {asks}" if asks else words,
        severity=severity,
        bin=chosen,
        rank=30 if severity != "info" else 5,
        sets_action=chosen != "ignore",
        asks=asks,
    )


def _effect(entry: catalog.Xid, words: str, text: str) -> Verdict:
    """What was cleaned up after something else. Where the line names a grave cause, it stands for that line."""
    earlier = catalog.caused_by(text)
    if earlier is not None and earlier not in EFFECT_CODES:
        cause = catalog.xid(earlier)
        severity = _severity(cause)
        if severity == "critical":
            return Verdict(
                cause=f"xid_{earlier}",
                words=f"XID {earlier}, {_words(cause)}",
                severity=severity,
                bin=cause.bin,
                rank=_rank(severity, BINS.index(cause.bin)) - 1,
                then=THEN.get(earlier, ""),
                facts=(f"XID {earlier} is named by an XID {entry.code} line as its cause",),
            )
        words = f"{words}, caused by XID {earlier}"
    return Verdict(
        cause=f"application_xid_{entry.code}",
        words=words,
        severity="info",
        bin="ignore",
        rank=0,
        then="look at what came before it; if it keeps coming alone, restart the fabric manager",
    )


def _severity(entry: catalog.Xid) -> Severity:
    if not entry.known:
        return "info"
    if entry.bin == "retry":
        return "warning" if entry.code in MEMORY_CODES else "info"
    # The catalogue resets for these too, but a program can bring them about: a ticket, no page.
    return _by_bin(entry.bin, "user_app" in entry.causes and entry.code != FALLEN_CODE)


def _by_bin(chosen: Bin, by_program: bool) -> Severity:
    if chosen in ("reset_gpu", "reboot_node"):
        return "warning" if by_program else "critical"
    return "warning" if chosen == "drain_and_diagnose" else "info"


def _rank(severity: Severity, bin_order: int) -> int:
    return {"info": 20, "warning": 60, "critical": 80}[severity] + 2 * bin_order


def _sxid(code: int, text: str) -> Verdict:
    """The log's own word counts where the guide says that it depends."""
    entry = catalog.sxid(code)
    fatal = text.lstrip().startswith("Fatal")
    if entry.fatality == "always_fatal" or (fatal and entry.fatality != "non_fatal"):
        severity: Severity = "critical"
    elif entry.known and entry.bin != "ignore":
        severity = "warning"
    else:
        severity = "info"
    link = _SXID_LINK.search(text)
    return Verdict(
        cause=f"sxid_{code}",
        words=f"SXid {code}, {entry.name.lower().replace('_', ' ')}",
        severity=severity,
        bin=entry.bin,
        rank=_rank(severity, BINS.index(entry.bin)),
        kind=None if link is None or severity == "info" else f"link {int(link[1])}",
    )
