"""`ibdiagnet2.db_csv` -> counters of every port, names of the nodes, and cables.

Sections lie between `START_X` and `END_X`, each with a header row and CSV. A section without its end was cut.
"""

import csv
from collections.abc import Iterator, Mapping

from collectors.fabric.reading import Raw
from collectors.infiniband.names import Kind, Station, guid, station
from collectors.infiniband.reading import Cable, Reading

READ = ("NODES", "LINKS", "PM_INFO")
_KINDS: dict[str, Kind] = {"1": "hca", "2": "switch", "3": "switch"}
"""NodeType of InfiniBand's NodeInfo: channel adapter, switch, router."""
_IDENTITY = frozenset({"NodeGUID", "PortGUID", "PortNumber"})

Table = list[dict[str, str]]


def read_db_csv(text: str, names: Mapping[str, str]) -> Reading:
    """Every value of PM_INFO. `N/A` is not readable, never zero; the 64-bit column wins over its short twin."""
    reading = Reading(cables=[])
    tables, cut = _tables(text, reading)
    if "PM_INFO" not in tables and "LINKS" not in tables:
        reading.failed = "neither START_PM_INFO nor START_LINKS in it: is this ibdiagnet2.db_csv?"
    elif cut is not None:
        reading.failed = f"START_{cut} has no END_{cut}: the file was cut, or is still being written"
    known: dict[str, Station] = {}
    for entry in tables.get("NODES", ()):
        found = _guid(entry)
        if found is not None:
            known[found] = station(
                entry.get("NodeDesc", ""), found, names, _KINDS.get(entry.get("NodeType", ""), "hca")
            )
    for entry in tables.get("PM_INFO", ()):
        _counters(reading, entry, known, names)
    for entry in tables.get("LINKS", ()):
        _link(reading, entry, known, names)
    return reading


def _tables(text: str, reading: Reading) -> tuple[dict[str, Table], str | None]:
    """The sections that are read, by name, and the one that was cut."""
    tables: dict[str, Table] = {}
    section: str | None = None
    lines: list[str] = []
    for line in reading.lines(text):
        if line.startswith("START_"):
            section, lines = line.removeprefix("START_").strip().rstrip(","), []
        elif section is not None and line.startswith("END_"):
            if section in READ:
                tables[section] = list(_entries(lines, reading))
            section = None
        elif section in READ:
            lines.append(line)
    if section in READ:
        tables[section] = list(_entries(lines, reading))
        return tables, section
    return tables, None


def _entries(lines: list[str], reading: Reading) -> Iterator[dict[str, str]]:
    """Rows as long as the header; csv alone knows quotes."""
    header: list[str] | None = None
    for line in lines:
        try:
            row = next(csv.reader([line]), []) if '"' in line else line.split(",")
        except csv.Error as why:
            reading.unread.append((str(why), line))
            continue
        if header is None:
            header = row
        elif len(row) == len(header):
            yield dict(zip(header, row, strict=True))
        elif row:
            reading.unread.append((f"{len(row)} cells under a header of {len(header)}", line))


def _guid(entry: Mapping[str, str], suffix: str = "") -> str | None:
    for name in (f"NodeGUID{suffix}", f"NodeGuid{suffix}"):
        if name in entry:
            try:
                return guid(entry[name])
            except ValueError:
                return None
    return None


def _counters(reading: Reading, entry: Mapping[str, str], known: dict[str, Station], names: Mapping[str, str]) -> None:
    node, number = _guid(entry), entry.get("PortNumber", "")
    if node is None or not number.isdecimal():
        reading.unread.append(("no node or port", ",".join(entry.values())))
        return
    row = reading.row(_known(known, node, names), number)
    row.values += [
        ("ibdiagnet", name, _hex(cell) if cell[:2] == "0x" else cell)
        for name, cell in entry.items()
        if name not in _IDENTITY
    ]


def _hex(cell: str) -> Raw:
    try:
        return int(cell, 16)
    except ValueError:
        return cell


def _link(reading: Reading, entry: Mapping[str, str], known: dict[str, Station], names: Mapping[str, str]) -> None:
    ends = [(_guid(entry, n), entry.get(f"PortNum{n}", "")) for n in ("1", "2")]
    if any(node is None or not port.isdecimal() for node, port in ends):
        reading.unread.append(("no ends of a link", ",".join(entry.values())))
        return
    one, two = ((_known(known, node or "", names), port) for node, port in ends)
    for (near, port), (far, far_port) in ((one, two), (two, one)):
        if reading.cables is not None and (near.kind == "switch" or far.kind != "switch"):
            reading.cables.append(Cable(near, near.port(port), far, far.port(far_port)))


def _known(known: dict[str, Station], node: str, names: Mapping[str, str]) -> Station:
    """A node that NODES does not list goes by its GUID."""
    if node not in known:
        known[node] = station("", node, names, "switch")
    return known[node]
