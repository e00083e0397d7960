"""The text of `ibqueryerrors`, with `--data` or `--counters` -> rows of every node.

The `## Summary:` line proves the scan: without a subnet manager the tool prints nothing and exits with 0.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from collectors.fabric.rows import place
from collectors.infiniband.names import Station, guid, station
from collectors.infiniband.reading import Reading

NO_SUMMARY = (
    "no `## Summary:` line, so the scan failed, whatever its exit status: "
    "is a subnet manager running, and may this user open /dev/infiniband/umad*?"
)

_NODE = re.compile(r'(?:Errors|Data Counters) for (?:(?P<guid>0x[0-9a-fA-F]{1,16}) )?"(?P<name>[^"]*)"')
_PORT = re.compile(r"\s+GUID (?P<guid>0x[0-9a-fA-F]+) port (?P<port>\d+|ALL):(?P<values>(?: \[[^\]]*\])*)\s*")
_VALUE = re.compile(r"\[(?P<name>\w+) == (?P<value>\d+)(?P<human> \([^)]*\))?\]")
_SUMMARY = re.compile(r"## Summary: (?P<nodes>\d+) nodes? checked, (?P<bad>\d+) bad nodes? found")
_FILTER = re.compile(r"## (?:Thresholds|Suppressed):(?P<told>.*)")


@dataclass(slots=True)
class Scan(Reading):
    """`nodes`: checked. `filtered`: thresholds or suppressed counters were in force, so absent is not zero."""

    nodes: int = 0
    bad_nodes: int = 0
    filtered: bool = False


def read_ibqueryerrors(text: str, names: Mapping[str, str], switches: Collection[str] | None = None) -> Scan:
    """Every value of every port. `switches`: GUIDs of all there are, where known.

    Without them a header tells: adapters have no GUID in `Errors for`; in `Data Counters for` they do, and only a
    description such as `node-01 mlx5_0` shows one.
    """
    scan, here, proved = Scan(), None, False
    for line in scan.lines(text):
        if found := _NODE.match(line):
            here = _station(found["guid"], found["name"], names, switches)
        elif found := _PORT.match(line):
            if here is None:
                scan.unread.append(("a port under no node", line))
            else:
                _add(scan, here, found)
        elif found := _SUMMARY.match(line):
            scan.nodes, scan.bad_nodes, proved = int(found["nodes"]), int(found["bad"]), True
        elif found := _FILTER.match(line):
            scan.filtered = scan.filtered or bool(found["told"].strip())
        elif line.strip() and not line.startswith("##") and not line.lstrip().startswith("Link info:"):
            scan.unread.append(("neither node, port nor summary", line))
    if not proved:
        scan.failed = NO_SUMMARY
    return scan


def _station(written: str | None, name: str, names: Mapping[str, str], switches: Collection[str] | None) -> Station:
    known = guid(written) if written else None
    if switches is not None:
        return station(name, known, names, "switch" if known in switches else "hca")
    as_host = station(name, known, names, "hca")
    return as_host if known is None or as_host.hca is not None else station(name, known, names, "switch")


def _add(scan: Scan, here: Station, found: "re.Match[str]") -> None:
    row = scan.row(here, None if found["port"] == "ALL" else found["port"])
    told = list(_VALUE.finditer(found["values"]))
    if len(told) != found["values"].count("["):
        scan.unread.append(("not `[Name == value]`", found[0]))
    for value in told:
        row.values.append((_system(value["name"], int(value["value"]), value["human"]), value["name"], value["value"]))


def _system(name: str, value: int, human: str | None) -> str:
    """64-bit values have their size in brackets behind them; an old agent's do not, and stop at their width."""
    if human is not None:
        return "ib_pma_ext"
    end = place("ib_pma", name).end
    return "ib_pma_ext" if end is not None and value > end else "ib_pma"
