"""A dump of COUNTERS_DB as JSON -> series and values.

Forms: what sonic-gnmi answers for one port (fields), a port's queues or watchdog (`Ethernet68:3` -> fields),
many ports (port -> fields), and the whole database (`COUNTERS:oid:0x...` -> fields, with the name maps; also
as `redis-dump` writes it, with `type` and `value`).
"""

from collections.abc import Iterator
from typing import Any

from collectors.fabric.reading import Raw
from collectors.fabric.series import Series
from collectors.sonic.series import TABLES, Place, series, step

_MAPS = (
    "COUNTERS_PORT_NAME_MAP",
    "COUNTERS_LAG_NAME_MAP",
    "COUNTERS_RIF_NAME_MAP",
    "COUNTERS_QUEUE_NAME_MAP",
    "COUNTERS_PG_NAME_MAP",
    "COUNTERS_BUFFER_POOL_NAME_MAP",
)


class DumpForm(ValueError):
    """JSON that is no dump of the database."""


def read_dump(document: Any, port: str | None) -> Iterator[tuple[Series, Raw]]:
    """Every value with its series. `port` holds fields that stand under no port. Raises `DumpForm`."""
    if not isinstance(document, dict):
        raise DumpForm(f"expected an object of fields or of ports, found {type(document).__name__}")
    named = _names({key: _hash(value) for key, value in document.items() if key in _MAPS})
    yield from _walk(document, Place(port=port), named)


def _walk(found: dict[str, Any], place: Place, named: dict[str, Place]) -> Iterator[tuple[Series, Raw]]:
    for key, value in found.items():
        if isinstance(value, dict):
            if key not in _MAPS and not key.endswith("_MAP"):
                yield from _walk(_hash(value), _place(place, key, named), named)
        else:
            yield series(place, key), value


def _place(place: Place, key: str, named: dict[str, Place]) -> Place:
    """`COUNTERS:oid:0x1` and `RATES:oid:0x1` by the name maps; anything else as in a virtual path."""
    table, sep, rest = key.partition(":")
    if sep and table in TABLES:
        place = step(place, table)
        owner = named.get(rest)
        if owner is not None:
            return Place(table, owner.port, owner.index)
        return step(place, rest)
    if (owner := named.get(key)) is not None:
        return Place(place.table, owner.port, owner.index)
    return step(place, key)


def _names(maps: dict[str, dict[str, Any]]) -> dict[str, Place]:
    """Object id -> port, and queue or priority group, by which counters of it are kept."""
    named: dict[str, Place] = {}
    for table, names in maps.items():
        for name, oid in names.items():
            if "POOL" in table:
                named[str(oid)] = Place(port=f"pool:{name}")
            else:
                named[str(oid)] = step(Place(), name)
    return named


def _hash(value: Any) -> Any:
    """redis-dump writes `{"type": "hash", "value": {...}}`."""
    if isinstance(value, dict) and value.get("type") == "hash" and isinstance(value.get("value"), dict):
        return value["value"]
    return value
