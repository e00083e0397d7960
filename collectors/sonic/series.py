"""SONiC names -> rows and columns, for gNMI's virtual paths and for dumps of the database.

A value lies in a table (`COUNTERS`, `RATES`, ...), under a port (`Ethernet68`) or one of its queues or
priority groups (`Ethernet68:3`), in a field (`SAI_PORT_STAT_IF_IN_OCTETS`).
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from collectors.fabric.series import DEVICE_ROW, Every, Series
from collectors.fabric.vocabulary import Counter, counter_table

TABLES = frozenset(
    {
        "COUNTERS",
        "RATES",
        "PERIODIC_WATERMARKS",
        "PERSISTENT_WATERMARKS",
        "USER_WATERMARKS",
        "PORT_PHY_ATTR",
        "INTERFACE_COUNTERS",
        "PORT_TABLE",
        "PORT_OPERR_TABLE",
    }
)
VOQ = "VOQ"
"""Place of virtual output queues: SONiC names their fields as those of a port's own queues."""
_PREFIXES = {
    VOQ: "VOQ:",
    "RATES": "RATES:",
    "PORT_PHY_ATTR": "PORT_PHY_ATTR:",
    "PORT_TABLE": "APPL_DB:PORT_TABLE:",
    "PORT_OPERR_TABLE": "STATE_DB:PORT_OPERR_TABLE:",
}
_PARTS = frozenset({"Queues", "Pfcwd", "PriorityGroups"})
_NO_PORTS = frozenset({"PortInitDone", "PortConfigDone"})
"""Keys of PORT_TABLE by which orchagent says how far it is."""
_QUEUE = re.compile(r"(?P<port>.+?):(?P<index>\d+)(?P<rest>:.*)?")
_SWITCH = re.compile(r"(SWITCH|ASIC_STATE|oid:)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the database a value was found, so far."""

    table: str = "COUNTERS"
    port: str | None = None
    index: str | None = None
    periodic: str | None = None
    """What follows the queue: `periodic` marks watermarks of the telemetry period."""


def step(place: Place, key: str) -> Place:
    """One key deeper: a table, a part such as `Queues`, a port, or a port's queue. Wildcards change nothing."""
    if key in TABLES:
        return replace(place, table=key)
    if key == "VoQs":
        return replace(place, table=VOQ)
    if key in _NO_PORTS:
        return replace(place, table="PORT_TABLE", port=None)
    if key in _PARTS or key.endswith("_DB") or key == "localhost" or "*" in key:
        return place
    if found := _QUEUE.fullmatch(key):
        rest = found["rest"]
        if not key.startswith("oid:"):
            port = f"voq:{found['port']}" if place.table == VOQ else found["port"]
            return replace(place, port=port, index=found["index"], periodic=rest[1:] if rest else None)
    if _SWITCH.match(key):
        return replace(place, port=None if key.upper().startswith("SWITCH") else key)
    return replace(place, port=key, index=None, periodic=None)


def series(place: Place, field: str, every: Every = Every()) -> Series:  # noqa: B008 (frozen)
    """The series of one field. A name without a row in the table keeps its own name."""
    native = _PREFIXES.get(place.table, "") + field
    counter = _find(native)
    index = place.index
    if place.periodic is not None:
        return Series(place.port or DEVICE_ROW, f"{native}.{index}:{place.periodic}", every=every)
    if counter is not None and counter.index is not None:
        index = counter.index
        if counter.ignored:
            index = place.index
    return Series(place.port or DEVICE_ROW, native, index, counter, every)


@lru_cache(maxsize=65536)
def _find(native: str) -> Counter | None:
    return counter_table("sonic").find(native)
