"""SubscribeResponses as a device would send them."""

import json
from typing import Any

from collectors.gnmi import wire
from collectors.gnmi.path import GnmiPath, parse_path, write_path

IN_OCTETS = "/interfaces/interface[name=Ethernet1]/state/counters/in-octets"


def response(
    ts_ns: int,
    updates: dict[str, Any],
    *,
    prefix: str = "",
    target: str = "",
    deletes: tuple[str, ...] = (),
    as_json: bool = False,
) -> bytes:
    """One notification; values by their Python type, or all as JSON_IETF."""
    out = wire.SubscribeResponse()
    out.update.timestamp = ts_ns
    if prefix or target:
        out.update.prefix = write_path(GnmiPath(parse_path(prefix).elems, target=target))
    for path, held in updates.items():
        value = out.update.update.add(path=write_path(parse_path(path))).val
        if as_json or isinstance(held, dict):
            value.json_ietf_val = json.dumps(held).encode()
        elif isinstance(held, int):
            value.uint_val = held
        elif isinstance(held, float):
            value.double_val = held
        else:
            value.string_val = held.encode()
    for path in deletes:
        out.update.delete.append(write_path(parse_path(path)))
    return bytes(out.SerializeToString())


def sync() -> bytes:
    """The end of the snapshot."""
    return bytes(wire.SubscribeResponse(sync_response=True).SerializeToString())
