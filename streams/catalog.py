"""What NVIDIA's error codes mean and what to do: Xid, SXid and the recovery line of Xid 154."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal, cast, get_args

VERSION = "2025-10"
"""Of NVIDIA's Xid catalogue (Xid-Catalog.xlsx) behind our tables; findings name it."""
DRIVER_R575 = 575
"""Major version of the driver from which the registers of Xid 144-150 have another layout."""

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

ASKS = "XID 154 asks: "
"""How evidence of a driver error begins that names the recovery which the driver itself asks for."""

MEMORY_CODES = frozenset({48, 63, 64, 92, 94, 95, 140, 156, 157, 160, 161, 168, 171, 172})
"""Xids of the memory error chain (NVIDIA GPU Memory Error Management)."""
NVLINK_CODES = frozenset({74, 136, 137, 155, *range(144, 151)})
EFFECT_CODES = frozenset({45})
"""Clean-up after another fault (or after a killed program): never a cause of its own."""

SxidClass = Literal["non_fatal", "potentially_fatal", "always_fatal", "unknown"]

_DATA = Path(__file__).parent / "detectors" / "data"
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
_RECOVERY_WORDS = (
    "none",
    "GPU reset",
    "node reboot",
    "drain P2P",
    "drain and reset",
    "recover the IMEX domain",
    "GPU bus reset",
    "system reboot",
)
"""By DCGM field 1523, as the line of Xid 154 numbers them."""

_RECOVERY = re.compile(r"recovery action changed from \S+ \([^)]*\) to 0x([0-9a-fA-F]+)")
_CAUSED_BY = re.compile(r"caused by previous Xid (\d+)")


@dataclass(frozen=True, slots=True)
class Xid:
    """One GPU error code. `causes`: hw, driver, user_app, bus, thermal, fb, system_memory; empty: not classed."""

    code: int
    name: str
    causes: tuple[str, ...]
    bin: Bin
    source: str
    known: bool = True
    retired: bool = False
    """The catalogue calls it unused: an old driver or GPU, or a surprise."""


@dataclass(frozen=True, slots=True)
class Sxid:
    """One NVSwitch error code."""

    code: int
    name: str
    fatality: SxidClass
    bin: Bin
    source: str
    known: bool = True


def xid(code: int) -> Xid:
    """Every code has an answer: one that the catalogue lacks is to be diagnosed, without hurry."""
    return _xids().get(code) or Xid(code, f"XID_{code}", (), "drain_and_diagnose", "not in the catalogue", False)


def sxid(code: int) -> Sxid:
    """As `xid`, for NVSwitches."""
    return _sxids().get(code) or Sxid(
        code, f"SXid {code}", "unknown", "drain_and_diagnose", "not in the catalogue", False
    )


def caused_by(text: str) -> int | None:
    """The earlier Xid that an Xid 45 line names (drivers since 2025); None: it names none."""
    found = _CAUSED_BY.search(text)
    return None if found is None or len(found[1]) > 4 else int(found[1])


def major(driver: str | None) -> int | None:
    """`570` of `570.124.06`; None: not known."""
    head = (driver or "").partition(".")[0]
    return int(head) if head.isdecimal() and len(head) <= 4 else None


def recovery(text: str) -> Bin | None:
    """What the line of Xid 154 asks for; None: the text does not say. Values beyond the known ones: diagnose."""
    found = _RECOVERY.search(text)
    return None if found is None else recovery_bin(int(found[1], 16))


def recovery_bin(action: float | None) -> Bin:
    """What a value of DCGM field 1523 asks for; nothing where it is not known."""
    if action is None or not action >= 0:
        return "ignore"
    return _RECOVERY_BINS[int(action)] if action < len(_RECOVERY_BINS) else "drain_and_diagnose"


def recovery_words(text: str, action: float | None) -> str:
    """What the line of Xid 154, else the value of DCGM field 1523, asks for, by name; empty where neither says."""
    found = _RECOVERY.search(text)
    asked = action if found is None else int(found[1], 16)
    if asked is None or not asked >= 0:
        return ""
    return _RECOVERY_WORDS[int(asked)] if asked < len(_RECOVERY_WORDS) else f"recovery action {int(asked)}"


@cache
def _xids() -> dict[int, Xid]:
    return {
        int(r["code"]): Xid(
            code=int(r["code"]),
            name=r["name"],
            causes=tuple(filter(None, r["causes"].split("|"))),
            bin=cast(Bin, r["bin"]),
            source=r["source"],
            retired=r["retired"] == "1",
        )
        for r in rows("xid.csv")
    }


@cache
def _sxids() -> dict[int, Sxid]:
    return {
        int(r["code"]): Sxid(int(r["code"]), r["name"], cast(SxidClass, r["class"]), cast(Bin, r["bin"]), r["source"])
        for r in rows("sxid.csv")
    }


def rows(name: str) -> Iterator[dict[str, str]]:
    """The rows of one of the catalogue's tables."""
    with (_DATA / name).open(newline="") as file:
        yield from csv.DictReader(file)
