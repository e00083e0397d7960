"""The forms of a cable map: CSV with a header, JSON lines (links or envelopes), TOML with [[link]] tables."""

import csv
import tomllib
from collections.abc import Iterator
from functools import partial
from pathlib import PurePath
from typing import Any

import msgspec

from collectors.contract import envelope
from collectors.contract.envelope import EnvelopeError
from collectors.contract.fabric import Link
from collectors.contract.topics import FABRIC_LINKS
from collectors.links.entry import FIELDS, LISTS, link_of
from collectors.source import SourceError

MOST_ERRORS = 5
"""Told at once; the rest is counted."""
Read = tuple[str, Link | str]
"""Where it stands, and the link or what is wrong."""


class MapError(SourceError):
    """A cable map that cannot be believed; the text names file and line of what is wrong."""


def read_map(text: str, name: str, cluster: str, ts_us: int) -> dict[str, Link]:
    """Key on the topic -> link. Raises `MapError`: a map with a mistake in it is not taken in part.

    Of several statements of one port the newest counts (a recorded topic has them); two of the same time must agree.
    """
    links: dict[str, Link] = {}
    at: dict[str, str] = {}
    wrong: list[str] = []
    for where, read in _form(text, name)(text, name, cluster, ts_us):
        if isinstance(read, str):
            wrong.append(f"{where}: {read}")
            continue
        key = FABRIC_LINKS.key(read)
        known = links.get(key)
        if known is not None and known.ts_us == read.ts_us and known != read:
            wrong.append(f"{where}: {read.device} {read.port} is told otherwise at {at[key]}")
        elif known is None or read.ts_us >= known.ts_us:
            links[key], at[key] = read, where
    if wrong:
        more = f"\n  and {len(wrong) - MOST_ERRORS} more" if len(wrong) > MOST_ERRORS else ""
        raise MapError("\n  ".join(wrong[:MOST_ERRORS]) + more)
    if not links:
        raise MapError(f"{name}: no link in it")
    return links


def _form(text: str, name: str) -> Any:
    suffix = PurePath(name).suffix.lower()
    if suffix == ".toml":
        return _tables
    if suffix in (".json", ".jsonl") or text.lstrip().startswith("{"):
        return _lines
    return _rows


def _rows(text: str, name: str, cluster: str, ts_us: int) -> Iterator[Read]:
    header: list[str] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        where = f"{name}:{number}"
        cells = [cell.strip() for cell in next(csv.reader([line]))]
        if header is None:
            header = [cell.lower() for cell in cells]
            unknown = [cell for cell in header if cell not in FIELDS]
            if unknown:
                yield where, f"no column {unknown[0]!r}; there are {', '.join(FIELDS)}"
                return
        elif len(cells) != len(header):
            yield where, f"{len(cells)} cells under a header of {len(header)}"
        else:
            entry = {column: _cell(column, cell) for column, cell in zip(header, cells, strict=True)}
            yield _entry(where, entry, cluster, ts_us)


def _cell(column: str, cell: str) -> Any:
    if column in LISTS and cell:
        return [part.strip() for part in cell.split(";") if part.strip()]
    return cell


def _lines(text: str, name: str, cluster: str, ts_us: int) -> Iterator[Read]:
    entry = partial(_entry, cluster=cluster, ts_us=ts_us)
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        where = f"{name}:{number}"
        try:
            found = msgspec.json.decode(line.encode(), type=dict[str, Any])
        except msgspec.MsgspecError as why:
            yield where, f"not a JSON object: {why}"
            continue
        yield _enveloped(where, line) if "topic" in found else entry(where, found)


def _enveloped(where: str, line: str) -> Read:
    try:
        message = envelope.read(line.encode(), {FABRIC_LINKS.name: FABRIC_LINKS}, where).message
    except EnvelopeError as why:
        return where, str(why).removeprefix(f"{where}: ")
    assert isinstance(message, Link)
    return where, message


def _tables(text: str, name: str, cluster: str, ts_us: int) -> Iterator[Read]:
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as why:
        yield name, f"not TOML: {why}"
        return
    tables = found.get("link")
    if set(found) - {"link"} or not isinstance(tables, list):
        yield name, "write one [[link]] table a cable and nothing else"
        return
    for number, table in enumerate(tables, start=1):
        where = f"{name}: [[link]] number {number}"
        if isinstance(table, dict):
            yield _entry(where, table, cluster, ts_us)
        else:
            yield where, "not a table"


def _entry(where: str, entry: dict[str, Any], cluster: str, ts_us: int) -> Read:
    try:
        return where, link_of(entry, cluster=cluster, ts_us=ts_us)
    except ValueError as why:
        return where, str(why)
