"""UFM telemetry: the last sample of every port, as Prometheus text, JSON or CSV.

Key names differ by counter set (`port_num` and `node_guid`, or `Port_Number` and `Node_GUID`), GUIDs come with
and without `0x` and zeros, and a delta document holds only what changed since the full one before it.
"""

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from collectors.contract.message import END_US
from collectors.dcgm.exposition import is_sample, read_labels, read_line, read_name
from collectors.fabric.reading import Raw
from collectors.infiniband.names import Station, guid, station
from collectors.infiniband.reading import Reading, Unread

NODE = ("node_guid", "Node_GUID")
PORT = ("port_num", "Port_Number", "Port")
AGGREGATE = ("sys_image_guid", "aport")
"""XDR: a port of several planes has the GUID of the system and a number of its own."""
DESCRIPTION = ("node_description", "node_desc", "Node_Description", "hostname")
IDENTITY = frozenset(
    {*NODE, *PORT, *AGGREGATE, *DESCRIPTION, "timestamp", "source_id", "source", "tag", "port_guid", "sys_image_guid"}
)

Key = tuple[str, str]
"""Node GUID and port number."""


class UfmForm(ValueError):
    """A document that is no telemetry of UFM."""


@dataclass(slots=True)
class _Held:
    """One port as it stands."""

    values: dict[str, Raw] = field(default_factory=dict)
    ts_us: int | None = None
    description: str = ""


@dataclass(slots=True)
class Ufm:
    """Documents in, the ports as they stand out. Keeps what a delta document leaves out."""

    names: Mapping[str, str] = field(default_factory=dict)
    _ports: dict[Key, _Held] = field(default_factory=dict)

    def read(self, body: str) -> Iterator[Reading]:
        """A reading a document: several may stand behind one another. Never raises; `failed` says what is wrong."""
        text = body.lstrip("\ufeff \t\r\n")
        try:
            if text.startswith(("{", "[")):
                for document in _documents(text):
                    yield self._json(document)
            elif text.split("\n", 1)[0].count(",") > 2 and "{" not in text.split("\n", 1)[0]:
                yield self._csv(text)
            else:
                yield self._prometheus(text)
        except UfmForm as why:
            yield Reading(failed=str(why), unread=Unread([(str(why), text[:1000])]))

    def _json(self, document: Any) -> Reading:
        reading = Reading()
        if isinstance(document, list):
            entries, full = document, True
        elif isinstance(document, dict) and isinstance(document.get("values"), list):
            entries, full = document["values"], document.get("type") != "delta"
        else:
            raise UfmForm('JSON without a list of "values"')
        if full:
            self._ports.clear()
        touched = []
        for entry in entries:
            key = _key(entry) if isinstance(entry, dict) else None
            if key is None:
                reading.unread.append(("no node GUID or port number", json.dumps(entry)[:1000]))
                continue
            told = {name: value for name, value in entry.items() if name not in IDENTITY}
            self._put(key, told, _ts_us(entry.get("timestamp")), _description(entry))
            touched.append(key)
        return self._cut(reading, touched)

    def _csv(self, text: str) -> Reading:
        reading = Reading()
        lines = [line for line in reading.lines(text) if line.strip()]
        try:
            header = next(csv.reader(lines[:1]), [])
        except csv.Error as why:
            raise UfmForm(f"CSV with a bad header: {why}") from why
        if not any(name in header for name in NODE):
            raise UfmForm(f"CSV without a column {NODE[0]} or {NODE[1]}")
        self._ports.clear()
        touched = []
        for line in lines[1:]:
            try:
                cells = next(csv.reader([line]), [])
            except csv.Error as why:
                reading.unread.append((str(why), line))
                continue
            entry = dict(zip(header, cells, strict=False))
            key = _key(entry) if len(cells) == len(header) else None
            if key is None:
                reading.unread.append((f"{len(cells)} cells under a header of {len(header)}, or no port", line))
                continue
            # An empty cell is a counter that the port does not have.
            told: dict[str, Raw] = {n: c for n, c in entry.items() if n not in IDENTITY and c != ""}
            self._put(key, told, _ts_us(entry.get("timestamp")), _description(entry))
            touched.append(key)
        return self._cut(reading, touched)

    def _prometheus(self, text: str) -> Reading:
        reading = Reading()
        samples: list[tuple[Key, str, str, int | None, str]] = []
        for line in filter(is_sample, reading.lines(text)):
            head, value, time = read_line(line)
            named = read_name(head)
            labels = None if named is None else read_labels(named[1])
            key = None if labels is None else _key(labels)
            if named is None or labels is None or key is None:
                reading.unread.append(("no sample with a node GUID and a port number", line))
                continue
            samples.append((key, named[0], value, _ms(time), _description(labels)))
        if not samples:
            raise UfmForm("neither JSON, CSV nor Prometheus text with port counters")
        self._ports.clear()
        for key, name, value, ts_us, description in samples:
            self._put(key, {name: value}, ts_us, description)
        return self._cut(reading, list(dict.fromkeys(sample[0] for sample in samples)))

    def _put(self, key: Key, told: Mapping[str, Raw], ts_us: int | None, description: str) -> None:
        held = self._ports.setdefault(key, _Held())
        held.values.update(told)
        held.ts_us = max(held.ts_us or 0, ts_us) if ts_us is not None else held.ts_us
        held.description = description or held.description

    def _cut(self, reading: Reading, touched: list[Key]) -> Reading:
        """Every device of which something was told, with all of its ports."""
        devices = {key[0] for key in touched}
        many = {node for node, port in self._ports if port != "1"}
        for (node, port), held in self._ports.items():
            if node not in devices:
                continue
            who = self._station(node, held.description, many)
            reading.row(who, port).values += [("ufm_telemetry", name, value) for name, value in held.values.items()]
            if held.ts_us is not None:
                reading.times_us[who] = max(reading.times_us.get(who, 0), held.ts_us)
        if not reading.stations:
            reading.failed = "no port in it"
        return reading

    def _station(self, node: str, description: str, many: set[str]) -> Station:
        """UFM names no kind: an adapter is told by its description, or by having port 1 alone."""
        as_host = station(description, node, self.names, "hca")
        if as_host.hca is not None:
            return as_host
        return station(description, node, self.names, "switch" if node in many or description else "hca")


def _documents(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder()
    at = 0
    while at < len(text):
        try:
            document, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as why:
            raise UfmForm(f"not JSON, or cut: {why}") from why
        yield document
        while at < len(text) and text[at].isspace():
            at += 1


def _key(entry: Mapping[str, Any]) -> Key | None:
    node = next((entry[name] for name in NODE if entry.get(name)), None)
    port = next((entry[name] for name in PORT if entry.get(name) not in (None, "")), None)
    if node is None or port is None:
        node, port = entry.get(AGGREGATE[0]), entry.get(AGGREGATE[1])
    try:
        return guid(str(node)), str(int(str(port)))
    except ValueError:
        return None


def _description(entry: Mapping[str, Any]) -> str:
    return next((str(entry[name]) for name in DESCRIPTION if entry.get(name)), "")


def _ts_us(raw: Any) -> int | None:
    """Microseconds, as the sets write it."""
    try:
        value = int(str(raw))
    except ValueError:
        return None
    return value if 0 < value < END_US else None


def _ms(raw: str | None) -> int | None:
    """Milliseconds, as the text form writes it."""
    found = _ts_us(raw)
    return None if found is None or found * 1000 >= END_US else found * 1000
