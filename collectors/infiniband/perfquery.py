"""The text of `perfquery` -> rows. Its header alone tells the 16- and 32-bit counters from the 64-bit ones."""

import re

from collectors.fabric.rows import Row
from collectors.infiniband.names import Station
from collectors.infiniband.reading import Reading

ALL = "255"
"""PortSelect of the sums over all ports."""

_HEADER = re.compile(r"# Port (?P<extended>extended )?counters: Lid (?P<lid>\d+)(?: \([^)]*\))? port (?P<port>\d+)\b")
_LINE = re.compile(r"\s*(?P<name>[A-Za-z][A-Za-z0-9_]*):\.*(?P<value>0x[0-9a-fA-F]+|\d+)\s*")


def read_perfquery(text: str, device: str | None) -> Reading:
    """Every port of every LID. `device` names the node of a text that is of one; else it is `lid:N`."""
    reading = Reading()
    row: Row | None = None
    system = "ib_pma"
    known = False
    for line in reading.lines(text):
        if found := _HEADER.match(line):
            known = True
            system = "ib_pma_ext" if found["extended"] else "ib_pma"
            node = Station(device or f"lid:{found['lid']}", "switch")
            row = reading.row(node, None if found["port"] == ALL else found["port"])
        elif line.startswith("#"):
            row = None  # another table, such as `# Port Extended Speeds Counters`: its names are not these
            known = True
        elif row is not None and (found := _LINE.fullmatch(line)):
            raw = found["value"]
            row.values.append((system, found["name"], int(raw, 16) if raw.startswith("0x") else raw))
        elif line.strip() and (row is not None or not known):
            reading.unread.append(("not `Name:...value` under a `# Port counters` header", line))
    if not reading.stations:
        reading.failed = "no `# Port counters` header in it: is this the output of perfquery?"
    return reading
