"""Presets: what to read of a kind of switch."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from collectors.fabric.vocabulary import Counter, canonicals
from collectors.snmp import oid
from collectors.snmp.objects import IndexSyntax, Object, objects, read_index
from collectors.source import SourceError
from collectors.toml_file import only, positive_seconds, read_toml

BUILT_IN = Path(__file__).with_name("presets.toml")
ETHERNET = (6, 62, 117)
"""ifType: ethernetCsmacd, and the two old ones for 100 Mb/s and 1 Gb/s (IANAifType-MIB)."""
EVERY_S = 60.0
_KEYS = {"read", "sensors", "neighbours", "every", "refresh", "types"}
_OBJECT_KEYS = {"oid", "index", "counter", "bits", "kind"}
_KINDS = ("counter", "saturating_counter", "gauge", "state")


@dataclass(frozen=True, slots=True)
class Preset:
    """A kind of switch."""

    name: str
    read: tuple[Object, ...]
    sensors: bool = True
    neighbours: bool = True
    every_s: float = EVERY_S
    refresh_s: float | None = None
    types: frozenset[int] = frozenset(ETHERNET)


def presets(path: Path | None) -> dict[str, Preset]:
    """The built-in presets, under those of a site's own file. Raises `SourceError` naming the file and key."""
    found = _read(BUILT_IN)
    return found if path is None else {**found, **_read(path)}


def chosen(known: Mapping[str, Preset], name: str, where: str) -> Preset:
    """The preset of that name. Raises `SourceError`."""
    if name not in known:
        raise SourceError(f"{where} {name}: no such preset; there are {', '.join(known)}")
    return known[name]


def _read(path: Path) -> dict[str, Preset]:
    document = read_toml(path)
    own = document.pop("objects", {})
    if not isinstance(own, dict):
        raise SourceError(f"{path}: [objects] is a table of objects by their names")
    known = {**objects(), **{name: _object(name, table, f"{path}: [objects] {name}") for name, table in own.items()}}
    return {name: _preset(name, table, known, f"{path}: [{name}]") for name, table in document.items()}


def _preset(name: str, table: Any, known: Mapping[str, Object], where: str) -> Preset:
    if not isinstance(table, dict) or not isinstance(table.get("read"), list) or not table["read"]:
        raise SourceError(f'{where}: write a table with read = ["IF-MIB", ...]')
    only(table, _KEYS, where)
    read: dict[str, Object] = {}
    for word in table["read"]:
        found = {n: o for n, o in known.items() if n == word or n.partition("::")[0] == word}
        if not found:
            mibs = sorted({n.partition("::")[0] for n in known})
            raise SourceError(f"{where}: read {word!r}: no such object or MIB; there are {', '.join(mibs)}")
        read |= found
    types = table.get("types", list(ETHERNET))
    if not isinstance(types, list) or not all(isinstance(number, int) for number in types):
        raise SourceError(f"{where}: types is a list of ifType numbers, such as [6, 117]")
    return Preset(
        name=name,
        read=tuple(read.values()),
        sensors=_flag(table, "sensors", where),
        neighbours=_flag(table, "neighbours", where),
        every_s=positive_seconds(table, "every", where) or EVERY_S,
        refresh_s=positive_seconds(table, "refresh", where),
        types=frozenset(types),
    )


def _object(name: str, table: Any, where: str) -> Object:
    if not isinstance(table, dict) or not isinstance(table.get("oid"), str):
        raise SourceError(f'{where}: write {{ oid = "1.3.6...", index = "if" }}')
    only(table, _OBJECT_KEYS, where)
    try:
        return Object(name, oid.encode(table["oid"]), read_index(str(table.get("index", "if"))), _counter(table, where))
    except IndexSyntax as why:
        raise SourceError(f"{where}: {why}") from why
    except ValueError as why:
        raise SourceError(f"{where}: oid {table['oid']!r}: not of the form 1.3.6.1.4.1.99999.1.2") from why


def _counter(table: Mapping[str, Any], where: str) -> Counter | None:
    if (name := table.get("counter")) is None:
        return None
    if name not in canonicals():
        raise SourceError(f"{where}: counter {name!r}: no such canonical name; collectors/fabric/canonical.csv has all")
    kind, bits = table.get("kind", "counter"), table.get("bits", 64)
    if kind not in _KINDS or bits not in (0, 32, 64):
        raise SourceError(f"{where}: kind is one of {', '.join(_KINDS)}, bits 32 or 64")
    return replace(gauge(name), kind=kind, bits=bits, rank=(-bits, 0))


def gauge(canonical: str) -> Counter:
    """A canonical name as a gauge without a width."""
    meant = canonicals()[canonical]
    return Counter(canonical, meant.unit, "gauge", 0, meant.class_, meant.scope, (0, 0))


def _flag(table: Mapping[str, Any], key: str, where: str) -> bool:
    value = table.get(key, True)
    if not isinstance(value, bool):
        raise SourceError(f"{where}: {key} is true or false, not {value!r}")
    return value
