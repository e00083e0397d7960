"""What an NVLink line asks for: the words of Xid 74 and the sub-codes of Xid 144 to 150, as a verdict."""

from dataclasses import dataclass

from streams.catalog import NVLINK_CODES, Bin
from streams.catalog_nvlink import Sign, nvlink4, nvlink5
from streams.contract import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSays:
    """`link`: None for the GPU in general. `counts`: the same again on this link means something."""

    link: int | None
    words: str
    severity: Severity
    bin: Bin
    then: str = ""
    counts: bool = True
    link_down: bool = False
    by_product: bool = False
    """Of a link that went down just before, if one did."""
    hardware_after: int = 0
    """More events than this on the link are its hardware; 0: no such rule."""


_SIGNS: dict[Sign, tuple[str, Severity, Bin, str]] = {
    "parity": (
        "parity or ECC error in the link's hardware",
        "critical",
        "drain_and_diagnose",
        "run the field diagnostic and ask for replacement of the GPU or board",
    ),
    "parity_repeated": (
        "parity or ECC error of the link",
        "warning",
        "drain_and_diagnose",
        "more than twice on this link it is the hardware",
    ),
    "fabric_reset": ("the fabric needs a reset", "critical", "reset_gpu", "reset all GPUs and switches together"),
    "unexpected": ("an error that should not occur", "warning", "drain_and_diagnose", "report it to the vendor"),
    "seating": (
        "bad contact or cable",
        "warning",
        "drain_and_diagnose",
        "check the seating of GPU and board and the cables of the link",
    ),
    "signal": ("marginal signal", "warning", "drain_and_diagnose", "check both ends of the link"),
    "repeated_diagnose": (
        "an error that matters when it repeats",
        "info",
        "ignore",
        "if it repeats, run the field diagnostic",
    ),
    "repeated": ("an error that matters when it repeats", "info", "ignore", "if it repeats, report it to the vendor"),
    "follow_on": ("follows from an error at the other end", "info", "ignore", "act on the error that came first"),
    "corrected": ("corrected errors passed a threshold", "info", "ignore", ""),
    "harmless": ("harmless", "info", "ignore", ""),
}
_UNCOUNTED = frozenset({"follow_on", "corrected", "harmless"})
PARITY_TWICE = 2
"""NVIDIA's workflow for Xid 74: some parity errors are hardware when more than twice on one link."""

_INVESTIGATE: dict[str, str] = {
    "INVESTIGATE_LINK_SI": "check the signal of the link at both ends",
    "INVESTIGATE_LINK_SI_AND_CABLES": "check the signal of the link and its cables",
    "INVESTIGATE_PEER_DEVICE": "the fault is at the other end of the link: look there first",
    "INVESTIGATE_SW_USER": "see whether software took the link down",
    "INVESTIGATE_SW/USER": "see whether software took the link down",
    "INVESTIGATE_SW_USER_LINK_SI": "see whether software took the link down, else check its signal",
    "INVESTIGATE_HOST": "look at the host",
    "SYMPATHETIC_REPORT_SOLO": "it follows from another error; if it stands alone, report it to the vendor",
    "REPORT_ISSUE (if seen >1 per day)": "more than once a day: report it to the vendor",
}


def link_says(code: int, text: str, driver: int | None = None) -> LinkSays | None:
    """None: not an NVLink line, or one whose numbers tell nothing: the catalogue's default holds."""
    if code == 74:
        return _nvlink4(text)
    return _nvlink5(code, text, driver) if code in NVLINK_CODES else None


def _nvlink4(text: str) -> LinkSays | None:
    found = nvlink4(text)
    if found is None or not found.signs:
        return None
    gravest = found.signs[0]
    words, severity, chosen, then = _SIGNS[gravest]
    return LinkSays(
        link=found.link,
        words=f"link {found.link}: {words}",
        severity=severity,
        bin=chosen,
        then=then,
        counts=gravest not in _UNCOUNTED,
        hardware_after=PARITY_TWICE if gravest == "parity_repeated" else 0,
    )


def _nvlink5(code: int, text: str, driver: int | None) -> LinkSays | None:
    rule = nvlink5(code, text, driver)
    if rule is None:
        return None
    where = f"{rule.unit}, link {rule.link}" if rule.link >= 0 else rule.unit
    if rule.injected:
        return LinkSays(
            link=None, words=f"{where}, injected by a test", severity="info", bin="ignore", then="", counts=False
        )
    severity: Severity = "critical" if rule.bin in ("reset_gpu", "reboot_node") else "info"
    return LinkSays(
        link=rule.link if rule.link >= 0 else None,
        words=where,
        severity=severity,
        bin=rule.bin,
        then=_INVESTIGATE.get(rule.investigate, ""),
        counts=rule.bin != "ignore",
        link_down=rule.link_down,
        by_product=rule.by_product_of_link_down,
    )
