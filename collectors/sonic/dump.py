"""A dump of COUNTERS_DB as JSON -> series and values.

Forms: what sonic-gnmi answers for one port (fields), a port's queues or watchdog (`Ethernet68:3` -> fields),
many ports (port -> fields), and the whole database (`COUNTERS:oid:0x...` -> fields, with the name maps; also
as `redis-dump` writes it, with `type` and `value`).
"""

from collections.abc import Iterator
from typing import Any

from collectors.fabric.reading import Raw
from collectors.fabric.series import Series
from collectors.sonic.names import MAPS, owners
from collectors.sonic.series import TABLES, VOQ, Place, series, step


class DumpForm(ValueError):
    """JSON that is no dump of the database."""


def read_dump(document: Any, port: str | None) -> Iterator[tuple[Series, Raw]]:
    """Every value with its series. `port` holds fields that stand under no port. Raises `DumpForm`."""
    if not isinstance(document, dict):
        raise DumpForm(f"expected an object of fields or of ports, found {type(document).__name__}")
    maps = {key: _hash(value) for key, value in document.items() if key in MAPS}
    named = {oid: owner.place for oid, owner in owners({k: v for k, v in maps.items() if isinstance(v, dict)}).items()}
    yield from _walk(document, Place(port=port), named)


def _walk(found: dict[str, Any], place: Place, named: dict[str, Place]) -> Iterator[tuple[Series, Raw]]:
    for key, value in found.items():
        if isinstance(value, dict):
            if not key.endswith("_MAP"):
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
            return Place(VOQ if owner.table == VOQ else table, owner.port, owner.index)
        return step(place, rest)
    if (owner := named.get(key)) is not None:
        return Place(place.table, owner.port, owner.index)
    return step(place, key)


def _hash(value: Any) -> Any:
    """redis-dump writes `{"type": "hash", "value": {...}}`."""
    if isinstance(value, dict) and value.get("type") == "hash" and isinstance(value.get("value"), dict):
        return value["value"]
    return value
