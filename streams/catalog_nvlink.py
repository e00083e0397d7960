"""What an NVLink line of the driver says: the seven words of Xid 74, and the registers of Xid 144 to 150."""

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal, cast, get_args

from streams.catalog import DRIVER_R575, Bin, rows

Sign = Literal[
    "harmless",
    "corrected",
    "follow_on",
    "repeated",
    "repeated_diagnose",
    "signal",
    "seating",
    "unexpected",
    "fabric_reset",
    "parity_repeated",
    "parity",
]
"""What a bit of Xid 74 means, mildest first."""
SIGNS: tuple[Sign, ...] = get_args(Sign)

_BINS: dict[str, Bin] = {"IGNORE": "ignore", "RESET_GPU": "reset_gpu", "XID_154_EVAL": "retry"}
_LINK_DOWN = frozenset({"NETIR_LINK_EVT", "NETIR_LINK_DOWN"})
_WORDS = re.compile(r"[Ll]ink (?P<link>\d+) ?\((?P<words>0x[0-9a-fA-F]+(?:, ?0x[0-9a-fA-F]+)*)")
_REGISTERS = re.compile(
    r"(?P<unit>[A-Z][A-Z0-9_]*(?: [A-Za-z]+)??)\s+(?P<severity>Link Fatal|Fatal|Nonfatal|Non-fatal)"
    r"\s+XC\d\s+i(?P<injected>\d)"
    r"\s+Link\s+(?P<link>-?\d+)\s+\((?P<registers>0x[0-9a-fA-F]+(?:\s+0x[0-9a-fA-F]+)*)"
)


@dataclass(frozen=True, slots=True)
class Nvlink4:
    """What the words of one Xid 74 line say."""

    link: int
    signs: tuple[Sign, ...]
    """Gravest first; empty: no bit with a known meaning."""


@dataclass(frozen=True, slots=True)
class Nvlink5:
    """What the rules say of one Xid 144-150 line."""

    unit: str
    link: int
    """-1: the GPU in general."""
    bin: Bin
    investigate: str
    fatal: bool
    injected: bool
    link_down: bool
    by_product_of_link_down: bool
    """Only where a link of the partition went down within the last half minute."""


def nvlink4(text: str) -> Nvlink4 | None:
    """Judge the words of an Xid 74 line (Ampere, Hopper); None: not such a line."""
    found = _WORDS.search(text)
    if found is None:
        return None
    words = [int(w, 16) for w in found["words"].split(",")]
    signs = {sign for word, bit, sign in _signs() if word <= len(words) and words[word - 1] >> bit & 1}
    return Nvlink4(int(found["link"]), tuple(sorted(signs, key=SIGNS.index, reverse=True)))


def nvlink5(code: int, text: str, driver: int | None = None) -> Nvlink5 | None:
    """Judge the fields of an Xid 144-150 line; None: not such a line, or no rule fits.

    The driver's unit number sits in IntrInfo[9:5] before R575 and in IntrInfo[6:0] since. `driver`: its major
    version; None: not known, both layouts are tried.
    """
    found = _REGISTERS.search(text)
    if found is None:
        return None
    registers = [int(r, 16) for r in found["registers"].split()]
    intr, status = registers[0], registers[1] if len(registers) > 1 else None
    for rule in _rules():
        if rule.code == code and found["unit"] in rule.units and (rule.status is None or status in rule.status):
            chosen = rule.judge(intr, driver)
            if chosen is not None:
                return Nvlink5(
                    unit=found["unit"],
                    link=int(found["link"]),
                    bin=chosen,
                    investigate=rule.investigate,
                    fatal=found["severity"] in ("Fatal", "Link Fatal"),
                    injected=found["injected"] != "0",
                    link_down=found["unit"] in _LINK_DOWN,
                    by_product_of_link_down=rule.investigate == "CHECK_NVLINK_FAILURE_FLOW",
                )
    return None


@dataclass(frozen=True, slots=True)
class _Mask:
    """A pattern over 32 bits, highest first, `-` for any."""

    care: int
    want: int

    def fits(self, value: int) -> bool:
        return value & self.care == self.want


@dataclass(frozen=True, slots=True)
class _Layouts:
    """One pattern in both layouts of the driver; None: there is none."""

    before: _Mask | None
    since: _Mask | None

    def fits(self, value: int, driver: int | None) -> bool:
        if driver is not None:
            one = self.before if driver < DRIVER_R575 else self.since
            return one is not None and one.fits(value)
        return any(mask is not None and mask.fits(value) for mask in (self.before, self.since))


@dataclass(frozen=True, slots=True)
class _Rule:
    code: int
    units: frozenset[str]
    masks: _Layouts
    status: frozenset[int] | None
    bin: Bin
    promoted: _Layouts
    """The same with the bit that makes a mild event fatal."""
    promoted_bin: Bin
    investigate: str

    def judge(self, intr: int, driver: int | None) -> Bin | None:
        if self.promoted.fits(intr, driver):
            return self.promoted_bin
        return self.bin if self.masks.fits(intr, driver) else None


@cache
def _signs() -> tuple[tuple[int, int, Sign], ...]:
    return tuple(
        (int(r["word"]), int(bit), cast(Sign, r["means"])) for r in rows("nvlink4.csv") for bit in r["bits"].split("|")
    )


@cache
def _rules() -> tuple[_Rule, ...]:
    return tuple(
        _Rule(
            int(r["code"]),
            frozenset(r["unit"].split("/")),
            _Layouts(_mask(r["mask_before_r575"]), _mask(r["mask_r575"])),
            frozenset(int(s, 16) for s in r["status"].split("/")) if r["status"] else None,
            _BINS[r["action"]],
            _Layouts(_mask(r["mask2_before_r575"]), _mask(r["mask2_r575"])),
            _BINS[r["action2"] or r["action"]],
            r["investigate"],
        )
        for r in rows("nvlink5.csv")
    )


def _mask(pattern: str) -> _Mask | None:
    if not pattern:
        return None
    return _Mask(
        int("".join("0" if c == "-" else "1" for c in pattern), 2),
        int("".join("1" if c == "1" else "0" for c in pattern), 2),
    )
