"""SONiC's name maps: which port, queue, group or pool an object id of the counters database stands for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from collectors.sonic.series import VOQ, Place, step

Kind = Literal["port", "lag", "rif", "queue", "voq", "pg", "pool"]

MAPS: dict[str, Kind] = {
    "COUNTERS_PORT_NAME_MAP": "port",
    "COUNTERS_LAG_NAME_MAP": "lag",
    "COUNTERS_RIF_NAME_MAP": "rif",
    "COUNTERS_QUEUE_NAME_MAP": "queue",
    "COUNTERS_VOQ_NAME_MAP": "voq",
    "COUNTERS_PG_NAME_MAP": "pg",
    "COUNTERS_BUFFER_POOL_NAME_MAP": "pool",
}
"""Map in COUNTERS_DB, name -> object id (sonic-net/sonic-swss orchagent/portsorch.cpp)."""


@dataclass(frozen=True, slots=True)
class Owner:
    """What one object of the database counts for."""

    kind: Kind
    place: Place


def owners(maps: Mapping[str, Mapping[str, object]]) -> dict[str, Owner]:
    """Object id -> owner, of the maps that are there."""
    return {
        str(oid): Owner(kind, _place(kind, name))
        for map_name, kind in MAPS.items()
        for name, oid in maps.get(map_name, {}).items()
    }


def _place(kind: Kind, name: str) -> Place:
    if kind == "pool":
        return Place(port=f"pool:{name}")
    return step(Place(table=VOQ) if kind == "voq" else Place(), name)
