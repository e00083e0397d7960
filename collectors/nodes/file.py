"""A site's own file of nodes: rack, serial, planned work. TOML or CSV.

TOML: `[[node]]` with `name` (a hostlist), `rack`, `serial`; `[[maintenance]]` with `nodes`, `from`, `until`,
`reason`, `by`. CSV: a header with `node` and any of `rack,serial,from,until,reason,by`; a row a node.
"""

import csv
import io
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from collectors.contract.errors import UserError
from collectors.contract.message import END_US
from collectors.contract.node import NodeState
from collectors.discovery.hostlist import HostlistError, expand
from collectors.nodes.listing import MOST_NODES, NodeListing

NODE = frozenset({"name", "rack", "serial"})
WORK = frozenset({"nodes", "from", "until", "reason", "by"})
COLUMNS = frozenset({"node", "rack", "serial", "from", "until", "reason", "by"})


class NodeFileError(UserError):
    """Names file, place and what to write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """Planned work on one node."""

    from_us: int
    until_us: int
    reason: str | None
    by: str | None


@dataclass(frozen=True, slots=True)
class Sheet:
    """Nodes of the file, and the work on them."""

    places: Mapping[str, tuple[str | None, str | None]]
    """Node -> rack, serial."""
    work: Mapping[str, tuple[Work, ...]]

    def at(self, ts_us: int, cluster: str) -> NodeListing:
        """The words on all nodes at one moment. A node without any work listed: nothing is known of its service."""
        states: dict[str, NodeState] = {}
        for node in sorted({*self.places, *self.work}):
            rack, serial = self.places.get(node, (None, None))
            now = [w for w in self.work.get(node, ()) if w.from_us <= ts_us < w.until_us]
            last = max(now, key=lambda w: w.until_us) if now else None
            states[node] = NodeState(
                cluster=cluster,
                node=node,
                ts_us=ts_us,
                source="file",
                planned=last is not None if node in self.work else None,
                reason=last.reason if last else None,
                by=last.by if last else None,
                until_us=last.until_us if last else None,
                rack=rack,
                serial=serial,
            )
        return NodeListing(states)


def read_sheet(text: str, where: str) -> Sheet:
    """TOML where a table is in it, else CSV. Raises `NodeFileError`."""
    tables = any(line.lstrip().startswith("[") for line in text.splitlines())
    return _toml(text, where) if tables else _csv(text, where)


def _toml(text: str, where: str) -> Sheet:
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as why:
        raise NodeFileError(f"{where}: not TOML: {why}") from why
    if unknown := sorted(set(document) - {"node", "maintenance"}):
        raise NodeFileError(f"{where}: no such table {unknown[0]!r}; there are [[node]] and [[maintenance]]")
    places: dict[str, tuple[str | None, str | None]] = {}
    work: dict[str, list[Work]] = {}
    for place, row in _tables(document, "node", NODE, where):
        for node in _names(row.get("name"), f"{place}: name"):
            places[node] = (_text(row, "rack", place), _text(row, "serial", place))
    for place, row in _tables(document, "maintenance", WORK, where):
        one = _work(row, place)
        for node in _names(row.get("nodes"), f"{place}: nodes"):
            work.setdefault(node, []).append(one)
    return Sheet(places, {node: tuple(rows) for node, rows in work.items()})


def _csv(text: str, where: str) -> Sheet:
    try:
        rows = list(csv.reader(io.StringIO(text), strict=True))
    except csv.Error as why:
        raise NodeFileError(f"{where}: not CSV: {why}") from why
    header = [name.strip() for name in rows[0]] if rows else []
    if "node" not in header or (unknown := sorted(set(header) - COLUMNS)) or len(set(header)) < len(header):
        said = f"no such column {unknown[0]!r}" if "node" in header and unknown else "the first line names no columns"
        raise NodeFileError(f"{where}:1: {said}; write node,rack,serial,from,until,reason,by (node alone is enough)")
    places: dict[str, tuple[str | None, str | None]] = {}
    work: dict[str, list[Work]] = {}
    for line, cells in enumerate(rows[1:], start=2):
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            raise NodeFileError(f"{where}:{line}: {len(cells)} cells, {len(header)} columns")
        row = {name: cell.strip() for name, cell in zip(header, cells, strict=True) if cell.strip()}
        place = f"{where}:{line}"
        for node in _names(row.get("node"), f"{place}: node"):
            if "rack" in row or "serial" in row or node not in places:
                places[node] = (row.get("rack"), row.get("serial"))
            if "from" in row or "until" in row:
                work.setdefault(node, []).append(_work(row, place))
    return Sheet(places, {node: tuple(rows) for node, rows in work.items()})


def _tables(
    document: Mapping[str, Any], name: str, keys: frozenset[str], where: str
) -> list[tuple[str, dict[str, Any]]]:
    rows = document.get(name, [])
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise NodeFileError(f"{where}: {name}: not a list of tables; write [[{name}]]")
    for number, row in enumerate(rows, start=1):
        if unknown := sorted(set(row) - keys):
            raise NodeFileError(
                f"{where}: [[{name}]] {number}: no such key {unknown[0]!r}; there are {', '.join(sorted(keys))}"
            )
    return [(f"{where}: [[{name}]] {number}", row) for number, row in enumerate(rows, start=1)]


def _names(value: Any, place: str) -> list[str]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not texts or not all(isinstance(one, str) and one for one in texts):
        raise NodeFileError(f"{place}: write a node, a hostlist such as gpu[001-016], or a list of them")
    try:
        return [node for one in texts for node in expand(one, MOST_NODES)]
    except HostlistError as why:
        raise NodeFileError(f"{place}: {why}") from why


def _work(row: Mapping[str, Any], place: str) -> Work:
    from_us, until_us = (_moment(row.get(key), f"{place}: {key}") for key in ("from", "until"))
    if until_us <= from_us:
        raise NodeFileError(f"{place}: it ends before it begins")
    return Work(from_us=from_us, until_us=until_us, reason=_text(row, "reason", place), by=_text(row, "by", place))


def _text(row: Mapping[str, Any], key: str, place: str) -> str | None:
    value = row.get(key)
    if value is not None and (not isinstance(value, str) or not value):
        raise NodeFileError(f"{place}: {key}: {value!r} is not a text; write it in quotes")
    return value


def _moment(value: Any, place: str) -> int:
    """A time with its zone, of TOML or as text."""
    try:
        when = datetime.fromisoformat(value) if isinstance(value, str) else value
    except ValueError:
        when = None
    if not isinstance(when, datetime) or when.tzinfo is None or when.year < 1971:
        raise NodeFileError(f"{place}: {str(value)[:60]!r} is not a time with a zone; write 2026-01-31T06:00:00Z")
    us = int(when.timestamp() * 1_000_000)
    if us >= END_US:
        raise NodeFileError(f"{place}: {value!r} is too far ahead")
    return us
