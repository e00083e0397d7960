"""A simulated switch: its ports, what it counts, and the gNMI leaves that show it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Literal

from collectors.fabric.vocabulary import counter_table
from collectors.gnmi.path import Elem, GnmiPath, elem, parse_path

Dialect = Literal["openconfig", "arista", "sonic"]
Bundle = Literal["switch", "port", "leaf"]
Readings = Mapping[str, Sequence[int | None]]
"""Canonical counter, such as `pfc_rx_frames.3` -> one value per port; None: the leaf is absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Switch:
    """One switch. `read(now_us)` is the model behind it: called once for each sample that is sent."""

    name: str
    ports: Sequence[str]
    read: Callable[[int], Readings]
    lossless: Sequence[int] = ()
    speed_gbps: int = 400
    dialect: Dialect = "arista"
    bundle: Bundle = "switch"
    """One notification for the whole switch, for each port, or for each leaf as Arista EOS sends them."""
    neighbours: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Port -> system name and port of the LLDP neighbour."""
    boot_ns: int = 0
    """Boot time; 0: not told."""


@lru_cache(maxsize=65536)
def leaf_path(canonical: str, port: str, dialect: Dialect) -> GnmiPath | None:
    """Where an OpenConfig switch shows a counter of a port; None where it has no leaf."""
    name, _, index = canonical.partition(".")
    native = _natives(dialect).get(name)
    if native is None:
        return None
    return GnmiPath(tuple(_keyed(e, native.elems[0].name, port, index) for e in native.elems))


def sonic_field(canonical: str) -> str | None:
    """SONiC's field of a counter, with its priority in the name where SONiC puts it there."""
    name, _, index = canonical.partition(".")
    native = _sonic_natives().get(name)
    if native is None:
        return None
    head, brace, tail = native.partition("{")
    return native if not brace else head + index + tail.partition("}")[2]


def _keyed(e: Elem, root: str, port: str, index: str) -> Elem:
    if e.name == "interface":
        return elem(e.name, {"interface-id" if root == "qos" else "name": port})
    if e.name == "queue":
        return elem(e.name, {"name": index})
    if e.name == "priority":
        return elem(e.name, {"index": index})
    if e.name == "tx-queue":
        return elem(e.name, {"index": index, "queue-type": "UNICAST"})
    return e


@cache
def _natives(dialect: Dialect) -> dict[str, GnmiPath]:
    """Canonical name -> the first native path of it, without keys."""
    systems = ("openconfig", "arista_eos") if dialect == "arista" else ("openconfig",)
    natives: dict[str, GnmiPath] = {}
    for system in systems:
        for native, counter in counter_table(system).exact.items():
            if not counter.ignored and native.startswith(("/interfaces", "/qos")):
                natives.setdefault(counter.canonical, parse_path(native))
    return natives


@cache
def _sonic_natives() -> dict[str, str]:
    natives: dict[str, str] = {}
    for native, counter in counter_table("sonic").named():
        if not counter.ignored and ":" not in native:
            natives.setdefault(counter.canonical, native)
    return natives
