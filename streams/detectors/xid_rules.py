"""One line of the kernel log about a GPU or an NVSwitch: how grave it is, what it asks for, and whose fault it is."""

from msgspec import Struct

from collectors.contract.kernel import KernelEvent
from streams import catalog
from streams.catalog import BINS, EFFECT_CODES, MEMORY_CODES, NVLINK_CODES, Bin
from streams.contract import Severity

RECOVERY_CODE = 154
FALLEN_CODE = 79

WORDS: dict[int, str] = {
    13: "a program made an illegal access or instruction",
    31: "a program touched memory that is not mapped",
    43: "a program's work was stopped by the driver",
    45: "a program's work was removed, after another fault or when it was killed",
    48: "uncorrected memory error",
    62: "the power controller of the GPU halted",
    63: "a bad memory row or page was recorded for repair",
    64: "a bad memory row or page could not be recorded for repair",
    74: "NVLink error",
    79: "the GPU fell off the PCIe bus",
    92: "many corrected memory errors, by the driver's own measure",
    94: "memory error, contained to the programs that touched it",
    95: "memory error that could not be contained",
    109: "switching between programs timed out",
    119: "the GPU's system processor does not answer",
    120: "the GPU's system processor failed",
    122: "the power controller cannot read its flash",
    136: "NVLink training failed",
    140: "uncorrected memory error that nothing handled",
    149: "NVLink went down or its error rate is high",
    154: "the driver asks for a recovery",
}
"""In this project's words; other codes go by their name in the catalogue."""


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


def judge(event: KernelEvent) -> Verdict | None:
    """None: an event that this detector has no say in."""
    if event.kind == "gpu_lost":
        return Verdict(
            cause="gpu_lost",
            words=WORDS[FALLEN_CODE],
            severity="critical",
            bin="reboot_node",
            rank=_rank("critical", 5),
        )
    if event.code is None:
        return None
    if event.kind == "xid":
        return _xid(event.code, event.detail or event.raw)
    if event.kind == "sxid":
        return _sxid(event.code, event.detail or event.raw)
    return None


def _xid(code: int, text: str) -> Verdict:
    entry = catalog.xid(code)
    words = WORDS.get(code) or entry.name.removeprefix("ROBUST_CHANNEL_").replace("_", " ").lower()
    words = f"XID {code}, {words}"
    if code == RECOVERY_CODE:
        told = catalog.recovery(text)
        chosen = entry.bin if told is None else told
        severity: Severity = _by_bin(chosen, False)
        return Verdict(
            cause="xid_154",
            words=words,
            severity=severity,
            bin=chosen,
            rank=30 if severity != "info" else 5,
            sets_action=told is not None and told != "ignore",
        )
    if code in EFFECT_CODES:
        return Verdict(cause=f"application_xid_{code}", words=words, severity="info", bin="ignore", rank=0)
    if entry.bin == "app":
        return Verdict(cause=f"application_xid_{code}", words=words, severity="info", bin="app", rank=10)
    chosen, severity = entry.bin, _severity(entry)
    rule = catalog.nvlink5(code, text) if code in NVLINK_CODES else None
    if rule is not None:
        chosen = "ignore" if rule.injected else rule.bin
        severity = _by_bin(chosen, False)
        words = f"{words} ({rule.unit}, link {rule.link}{', injected' if rule.injected else ''})"
    rank = _rank(severity, BINS.index(chosen)) + (1 if code == FALLEN_CODE else 0)
    if severity == "info":
        rank = 35 if code in MEMORY_CODES else 20 + 5 * BINS.index(chosen)
    return Verdict(cause=f"xid_{code}", words=words, severity=severity, bin=chosen, rank=rank)


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
    return Verdict(
        cause=f"sxid_{code}",
        words=f"SXid {code}, {entry.name.lower().replace('_', ' ')}",
        severity=severity,
        bin=entry.bin,
        rank=_rank(severity, BINS.index(entry.bin)),
    )
