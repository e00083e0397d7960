"""Paths -> rows and columns: OpenConfig with its augments, native models, and SONiC's databases."""

import re
from collections.abc import Mapping as Mapping_
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache

from collectors.fabric.series import DEVICE_ROW, Every, Series, Site
from collectors.fabric.vocabulary import IGNORED, Counter, counter_table
from collectors.gnmi.path import Elem, GnmiPath
from collectors.sonic import series as sonic
from collectors.sonic.names import Owner, owners
from collectors.sonic.series import VOQ

_QUEUE_DIGITS = re.compile(r"(?:UC|unicast-|c-out-[48]q-q)?(\d+)")
"""`7`, Arista's unicast `UC7`, Nokia's `unicast-7` and Cisco's `c-out-8q-q7` are numbers; `MC0`, `RDMA` stay names
unless the site maps them."""
_QUEUE_DEFAULT = re.compile(r"c-out-[48]q-q-default")
"""Cisco NX-OS calls queue 0 so."""
_QUEUES = frozenset({"queue", "out-queue", "QueuingStats-list"})
_ROW_KEYS = {
    "interface": ("name", "interface-id"),
    "port": ("name", "port-id"),
    "component": ("name",),
    "If-list": ("name", "id"),
    "statistic": ("interface-name",),
}
_SPLITS = frozenset({"queue-type", "statType"})
"""Keys that say of what kind a queue is, not which one."""
_NAMELESS = Counter(IGNORED, "none", "counter", 64, "ignore", "device", (0, 0))
"""Of an object that stands in no name map: routes, access lists and the like."""
_SYSTEMS = (
    "openconfig",
    "arista_eos",
    "cumulus_gnmi",
    "nokia_srl",
    "nokia_sros",
    "cisco_nxos",
    "cisco_iosxr",
    "juniper",
)


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A subscribed path and how often its values come."""

    path: GnmiPath
    every: Every


class Mapping:
    """Learns once per series; nothing here is on the path of a value."""

    def __init__(self, site: Site, subscribed: Sequence[Subscribed] = ()) -> None:
        self._site = site
        self._subscribed = sorted(subscribed, key=lambda s: -len(s.path.elems))
        self._keyed = any(value != "*" for s in subscribed for e in s.path.elems for _, value in e.keys)
        self._known: dict[str, Every] = {}
        self._maps: dict[str, dict[str, object]] = {}
        self._owners: dict[str, Owner] = {}

    def series(self, path: GnmiPath) -> Series:
        """The row and column of a leaf."""
        if not path.elems:
            return Series(DEVICE_ROW, "/")
        if is_sonic(path):
            return self._sonic(path)
        return self._openconfig(path)

    def name(self, map_name: str, names: Mapping_[str, object], *, whole: bool) -> bool:
        """A name map of SONiC's database, or what changed in it. True: objects are called otherwise now."""
        known = self._maps.get(map_name, {})
        self._maps[map_name] = dict(names) if whole else {**known, **names}
        if self._maps[map_name] == known:
            return False
        self._owners = owners(self._maps)
        return True

    def every(self, path: GnmiPath) -> Every:
        """How often a value of this path comes, as it was subscribed to.

        By the names alone where no subscription names a key: the same for every port."""
        if self._keyed:
            return self._find_every(path)
        names = path.names()
        if (every := self._known.get(names)) is None:
            every = self._known[names] = self._find_every(path)
        return every

    def _find_every(self, path: GnmiPath) -> Every:
        for wanted in self._subscribed:
            if covers(wanted.path.elems, path.elems):
                return wanted.every
        return Every()

    def _sonic(self, path: GnmiPath) -> Series:
        place = sonic.Place()
        for step in path.elems[:-1]:
            if step.name.startswith("oid:"):
                owner = self._owners.get(step.name)
                if owner is None:
                    return Series(step.name, path.elems[-1].name, counter=_NAMELESS)
                place = replace(owner.place, table=VOQ if owner.place.table == VOQ else place.table)
            else:
                place = sonic.step(place, step.name)
        return sonic.series(place, path.elems[-1].name, self.every(path))

    def _openconfig(self, path: GnmiPath) -> Series:
        native = path.names()
        counter = _find(native)
        row, inner = _row(path.elems)
        index = self._index(inner) if counter is not None and not counter.ignored else None
        if index is None and inner:
            native = str(GnmiPath(tuple(e if e in inner else Elem(e.name) for e in path.elems)))
        return Series(row, native, index, counter, self.every(path))

    def _index(self, inner: Sequence[Elem]) -> str | None:
        """The queue, priority or lane: its number; `3@Ethernet5` for a virtual output queue toward a port."""
        if not inner:
            return None
        own = [value for key, value in inner[-1].keys if key not in _SPLITS]
        kind = dict(inner[-1].keys).get("queue-type", "UNICAST").upper()
        index = ".".join(self._number(inner[-1].name, value) for value in own)
        if not kind.endswith("UNICAST"):
            index += f"-{kind.lower()}"
        outer = "@".join(value for e in reversed(inner[:-1]) for _, value in e.keys)
        return f"{index}@{outer}" if outer else index

    def _number(self, element: str, value: str) -> str:
        if element not in _QUEUES:
            return value
        if value in self._site.queues:
            return self._site.queues[value]
        if _QUEUE_DEFAULT.fullmatch(value):
            return "0"
        found = _QUEUE_DIGITS.fullmatch(value)
        return found[1] if found else value


def is_sonic(path: GnmiPath) -> bool:
    """SONiC's database paths, by target, origin or first table."""
    first = path.elems[0].name if path.elems else ""
    return path.target.endswith("_DB") or path.origin == "sonic-db" or first in sonic.TABLES or first.endswith("_DB")


def covers(wanted: Sequence[Elem], elems: Sequence[Elem]) -> bool:
    """Whether a path, with `*` in names and keys, is `elems` or stands above it."""
    if len(wanted) > len(elems):
        return False
    return all(_matches(want, have) for want, have in zip(wanted, elems, strict=False))


def _matches(want: Elem, have: Elem) -> bool:
    if want.name != have.name and not fnmatchcase(have.name, want.name):
        return False
    keys = dict(have.keys)
    return all(value == "*" or key not in keys or keys[key] == value for key, value in want.keys)


@lru_cache(maxsize=65536)
def _find(native: str) -> Counter | None:
    for system in _SYSTEMS:
        if (row := counter_table(system).find(native)) is not None:
            return row
    return None


def _row(elems: Sequence[Elem]) -> tuple[str, list[Elem]]:
    """The row, and the elements with keys that it does not hold."""
    keyed = [e for e in elems if e.keys]
    for e in keyed:
        keys = dict(e.keys)
        for key in _ROW_KEYS.get(e.name, ()):
            if key in keys:
                name = f"component:{keys[key]}" if e.name == "component" else keys[key]
                return name, [k for k in keyed if k is not e]
    return DEVICE_ROW, keyed
