"""Recorded SubscribeResponses as JSON -> the bytes that a device would have sent.

Forms: protobuf-JSON responses (a list, one an object, or one a line; also gnmic's `protojson`), gnmic's
`event` (tags and values) and gnmic's `json` (`updates` with `Path` and `values`).
"""

import base64
import binascii
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from collectors.gnmi import wire
from collectors.gnmi.path import Elem, GnmiPath, elem, parse_path, write_path
from collectors.source import SourceError

_BYTES = {"bytesVal", "jsonVal", "jsonIetfVal", "protoBytes"}
_INTEGERS = {"intVal", "uintVal"}


class RecordedError(SourceError):
    """A file that is no recording; the text names the place and what to do."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One response. `device` where the recording names it."""

    device: str | None
    raw: bytes


def read_recorded(text: str, name: str) -> Iterator[Recorded]:
    """Every response of a file, in order. Raises `RecordedError` naming the entry."""
    for where, entry in _entries(text, name):
        try:
            yield _response(entry)
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, binascii.Error) as why:
            raise RecordedError(f"{where}: neither a SubscribeResponse as JSON nor a gnmic event: {why!r}") from why


def _entries(text: str, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    try:
        documents = [(name, json.loads(text))]
    except json.JSONDecodeError as why:
        lines = [(n, line) for n, line in enumerate(text.splitlines(), start=1) if line.strip()]
        if len(lines) < 2:
            raise RecordedError(f"{name}:{why.lineno}: not JSON: {why.msg}") from why
        documents = []
        for number, line in lines:
            try:
                documents.append((f"{name}:{number}", json.loads(line)))
            except json.JSONDecodeError as bad:
                raise RecordedError(f"{name}:{number}: not JSON: {bad.msg}") from bad
    for where, document in documents:
        for number, entry in enumerate(document if isinstance(document, list) else [document], start=1):
            at = f"{where}: entry {number}"
            if not isinstance(entry, dict):
                raise RecordedError(f"{at}: expected an object, found {type(entry).__name__}")
            yield at, entry


def _response(entry: dict[str, Any]) -> Recorded:
    if "values" in entry or "deletes" in entry or "tags" in entry:
        return _event(entry)
    if "updates" in entry:
        return _gnmic(entry)
    response = wire.SubscribeResponse()
    if "syncResponse" in entry or "sync_response" in entry:
        response.sync_response = True
        return Recorded(None, response.SerializeToString())
    body = entry["update"] if isinstance(entry["update"], dict) else entry
    note = response.update
    note.timestamp = int(body.get("timestamp", 0))
    prefix = _path(body.get("prefix", {}))
    if "prefix" in body:
        note.prefix = write_path(prefix)
    for update in body.get("update", []):
        added = note.update.add(path=write_path(_path(update.get("path", {}))))
        if "val" in update:
            _set(added.val, update["val"])
        elif "value" in update:
            added.value.value = base64.b64decode(update["value"]["value"])
    for gone in body.get("delete", []):
        note.delete.append(write_path(_path(gone)))
    device = prefix.target if prefix.target and not prefix.target.endswith("_DB") else None
    return Recorded(device, response.SerializeToString())


def _path(body: dict[str, Any]) -> GnmiPath:
    if "elem" in body:
        elems = tuple(elem(e.get("name", ""), e.get("key")) for e in body["elem"])
    else:
        elems = tuple(e for text in body.get("element", []) for e in parse_path(text).elems)
    return GnmiPath(elems, body.get("origin", ""), body.get("target", ""))


def _set(value: Any, body: dict[str, Any]) -> None:
    """One arm of a TypedValue, in protobuf's camelCase or as the .proto spells it."""
    for given, held in body.items():
        name = "".join(p if i == 0 else p.capitalize() for i, p in enumerate(given.split("_")))
        field = "".join("_" + c.lower() if c.isupper() else c for c in name)
        if name in _INTEGERS:
            setattr(value, field, int(held))
        elif name in _BYTES:
            setattr(value, field, _bytes(held))
        elif name in ("stringVal", "asciiVal"):
            setattr(value, field, str(held).encode())
        elif name == "boolVal":
            value.bool_val = bool(held)
        elif name in ("floatVal", "doubleVal"):
            setattr(value, field, float(held))
        elif name == "decimalVal":
            value.decimal_val.SetInParent()
            value.decimal_val.digits = int(held.get("digits", 0))
            value.decimal_val.precision = int(held.get("precision", 0))
        elif name == "leaflistVal":
            value.leaflist_val.SetInParent()
            for element in held.get("element", []):
                _set(value.leaflist_val.element.add(), element)
        else:
            raise ValueError(f"unknown value {given!r}")


def _bytes(held: Any) -> bytes:
    """Base64, as protobuf-JSON has it; JSON written out plainly is taken as it is."""
    if not isinstance(held, str):
        return json.dumps(held).encode()
    try:
        return base64.b64decode(held, validate=True)
    except binascii.Error:
        return held.encode()


def _event(entry: dict[str, Any]) -> Recorded:
    """gnmic's event: path keys became tags `<elem>_<key>`, value names are paths without keys."""
    tags: dict[str, str] = entry.get("tags") or {}
    response = wire.SubscribeResponse()
    response.update.timestamp = int(entry.get("timestamp", 0))
    for name, value in (entry.get("values") or {}).items():
        path = _tagged(parse_path(name), tags)
        _set_plain(response.update.update.add(path=write_path(path)).val, value)
    for name in entry.get("deletes") or []:
        response.update.delete.append(write_path(_tagged(parse_path(name), tags)))
    return Recorded(_source(tags.get("source")), response.SerializeToString())


def _tagged(path: GnmiPath, tags: dict[str, str]) -> GnmiPath:
    def keyed(e: Elem) -> Elem:
        own = {k.removeprefix(e.name + "_"): v for k, v in tags.items() if k.startswith(e.name + "_")}
        return elem(e.name, {**dict(e.keys), **own})

    return GnmiPath(tuple(keyed(e) for e in path.elems), path.origin, path.target)


def _gnmic(entry: dict[str, Any]) -> Recorded:
    response = wire.SubscribeResponse()
    response.update.timestamp = int(entry.get("timestamp", 0))
    if entry.get("prefix"):
        response.update.prefix = write_path(parse_path(entry["prefix"]))
    for update in entry["updates"]:
        for value in update["values"].values():
            added = response.update.update.add(path=write_path(parse_path(update["Path"])))
            _set_plain(added.val, value)
    for gone in entry.get("deletes") or []:
        response.update.delete.append(write_path(parse_path(gone)))
    return Recorded(_source(entry.get("source")), response.SerializeToString())


def _set_plain(value: Any, held: Any) -> None:
    if isinstance(held, bool):
        value.bool_val = held
    elif isinstance(held, int):
        if held < 0:
            value.int_val = held
        else:
            value.uint_val = held
    elif isinstance(held, float):
        value.double_val = held
    elif isinstance(held, str):
        value.string_val = held.encode()
    else:
        value.json_val = json.dumps(held).encode()


def _source(source: str | None) -> str | None:
    """`leaf1:6030` -> `leaf1`."""
    if not source:
        return None
    host, sep, port = source.rpartition(":")
    return host if sep and port.isdigit() else source
