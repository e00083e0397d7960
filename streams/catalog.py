"""What NVIDIA's error codes mean and what to do: Xid, SXid, the NVLink5 rules and the recovery line of Xid 154."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, cast, get_args

Bin = Literal["app", "ignore", "retry", "drain_and_diagnose", "reset_gpu", "reboot_node"]
"""What a code asks for, mildest first. Replacing a part is never asked for by a code alone."""
BINS: tuple[Bin, ...] = get_args(Bin)

ACTIONS: dict[Bin, str] = {
    "app": "none on the node: look at the program that ran there",
    "ignore": "none: for the record",
    "retry": "restart the job; the GPU stays in service",
    "drain_and_diagnose": "take no new jobs on the node, run diagnostics, then decide",
    "reset_gpu": "drain the GPU, reset it, return it",
    "reboot_node": "drain the node and reboot it",
}

MEMORY_CODES = frozenset({48, 63, 64, 92, 94, 95, 140, 156, 157, 160, 161, 168, 171, 172})
"""Xids of the memory error chain (NVIDIA GPU Memory Error Management)."""
NVLINK_CODES = frozenset({74, 136, 137, 155, *range(144, 151)})
EFFECT_CODES = frozenset({45})
"""Clean-up after another fault (or after a killed program): never a cause of its own."""

SxidClass = Literal["non_fatal", "potentially_fatal", "always_fatal", "unknown"]

_DATA = Path(__file__).parent / "detectors" / "data"
_NVLINK5_BINS: dict[str, Bin] = {"IGNORE": "ignore", "RESET_GPU": "reset_gpu", "XID_154_EVAL": "retry"}
_RECOVERY_BINS: tuple[Bin, ...] = (
    "ignore",
    "reset_gpu",
    "reboot_node",
    "drain_and_diagnose",
    "reset_gpu",
    "drain_and_diagnose",
    "reset_gpu",
    "reboot_node",
)
"""By DCGM field 1523: none, reset, reboot, drain P2P, drain and reset, IMEX domain, bus reset, system reboot."""

_RECOVERY = re.compile(r"recovery action changed from \S+ \([^)]*\) to 0x([0-9a-fA-F]+)")
_NVLINK5 = re.compile(
    r"(?P<unit>[A-Z][A-Z0-9_]*(?: [A-Za-z]+)??)\s+(?P<severity>Link Fatal|Fatal|Nonfatal|Non-fatal)"
    r"\s+XC\d\s+i(?P<injected>\d)"
    r"\s+Link\s+(?P<link>-?\d+)\s+\((?P<registers>0x[0-9a-fA-F]+(?:\s+0x[0-9a-fA-F]+)*)"
)


@dataclass(frozen=True, slots=True)
class Xid:
    """One GPU error code. `causes`: hw, driver, user_app, bus, thermal, fb, system_memory; empty: not classed."""

    code: int
    name: str
    causes: tuple[str, ...]
    bin: Bin
    source: str
    known: bool = True


@dataclass(frozen=True, slots=True)
class Sxid:
    """One NVSwitch error code."""

    code: int
    name: str
    fatality: SxidClass
    bin: Bin
    source: str
    known: bool = True


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


def xid(code: int) -> Xid:
    """Every code has an answer: one that the catalogue lacks is to be diagnosed, without hurry."""
    return _xids().get(code) or Xid(code, f"XID_{code}", (), "drain_and_diagnose", "not in the catalogue", False)


def sxid(code: int) -> Sxid:
    """As `xid`, for NVSwitches."""
    return _sxids().get(code) or Sxid(
        code, f"SXid {code}", "unknown", "drain_and_diagnose", "not in the catalogue", False
    )


def recovery(text: str) -> Bin | None:
    """What the line of Xid 154 asks for; None: the text does not say. Values beyond the known ones: diagnose."""
    found = _RECOVERY.search(text)
    if found is None:
        return None
    action = int(found[1], 16)
    return _RECOVERY_BINS[action] if action < len(_RECOVERY_BINS) else "drain_and_diagnose"


def nvlink5(code: int, text: str) -> Nvlink5 | None:
    """Judge the fields of an Xid 144-150 line; None: not such a line, or no rule fits.

    The driver's unit number sits in IntrInfo[9:5] before R575 and in IntrInfo[6:0] since; both layouts are tried.
    """
    found = _NVLINK5.search(text)
    if found is None:
        return None
    registers = [int(r, 16) for r in found["registers"].split()]
    intr, status = registers[0], registers[1] if len(registers) > 1 else None
    for rule in _nvlink5_rules():
        if rule.code == code and found["unit"] in rule.units and (rule.status is None or status in rule.status):
            chosen = rule.judge(intr)
            if chosen is not None:
                return Nvlink5(
                    found["unit"],
                    int(found["link"]),
                    chosen,
                    rule.investigate,
                    found["severity"] in ("Fatal", "Link Fatal"),
                    found["injected"] != "0",
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
class _Rule:
    code: int
    units: frozenset[str]
    masks: tuple[_Mask, ...]
    status: frozenset[int] | None
    bin: Bin
    promoted: tuple[_Mask, ...]
    """The same with the bit that makes a mild event fatal."""
    promoted_bin: Bin
    investigate: str

    def judge(self, intr: int) -> Bin | None:
        if any(m.fits(intr) for m in self.promoted):
            return self.promoted_bin
        return self.bin if any(m.fits(intr) for m in self.masks) else None


@cache
def _xids() -> dict[int, Xid]:
    return {
        int(r["code"]): Xid(
            int(r["code"]), r["name"], tuple(filter(None, r["causes"].split("|"))), cast(Bin, r["bin"]), r["source"]
        )
        for r in _rows("xid.csv")
    }


@cache
def _sxids() -> dict[int, Sxid]:
    return {
        int(r["code"]): Sxid(int(r["code"]), r["name"], cast(SxidClass, r["class"]), cast(Bin, r["bin"]), r["source"])
        for r in _rows("sxid.csv")
    }


@cache
def _nvlink5_rules() -> tuple[_Rule, ...]:
    return tuple(
        _Rule(
            int(r["code"]),
            frozenset(r["unit"].split("/")),
            _masks(r["mask_before_r575"], r["mask_r575"]),
            frozenset(int(s, 16) for s in r["status"].split("/")) if r["status"] else None,
            _NVLINK5_BINS[r["action"]],
            _masks(r["mask2_before_r575"], r["mask2_r575"]),
            _NVLINK5_BINS[r["action2"] or r["action"]],
            r["investigate"],
        )
        for r in _rows("nvlink5.csv")
    )


def _masks(*patterns: str) -> tuple[_Mask, ...]:
    return tuple(
        _Mask(
            int("".join("0" if c == "-" else "1" for c in p), 2),
            int("".join("1" if c == "1" else "0" for c in p), 2),
        )
        for p in patterns
        if p
    )


def _rows(name: str) -> Iterator[dict[str, str]]:
    with (_DATA / name).open(newline="") as file:
        yield from csv.DictReader(file)
