"""The text of `ibnetdiscover`, as a topology or as a list of ports (`-p`) -> ports and cables."""

import re
from collections.abc import Mapping

from collectors.infiniband.names import Kind, Station, guid, station
from collectors.infiniband.reading import Cable, Reading
from collectors.infiniband.speeds import lane_gbps, lanes

_NODE = re.compile(
    r'(?P<kind>Switch|Ca|Rt)\s+(?P<ports>\d+)\s+"[SHR]-(?P<guid>[0-9a-fA-F]{1,16})"\s*#\s*"(?P<name>[^"]*)".*'
)
_PORT = re.compile(
    r'\[(?P<port>\d+)\](?:\([0-9a-fA-F]+\))?\s+"(?P<kind>[SHR])-(?P<guid>[0-9a-fA-F]{1,16})"\[(?P<far_port>\d+)\]'
    r'(?:\([0-9a-fA-F]+\))?\s*#\s*(?:lid \d+ lmc \d+ )?"(?P<name>[^"]*)" lid \d+ (?P<width>\d+)x(?P<speed>\w+).*'
)
_LISTED = re.compile(
    r"(?P<kind>SW|CA|RT)\s+\d+\s+(?P<port>\d+)\s+(?P<guid>0x[0-9a-fA-F]{1,16})\s+(?P<width>\d+|\?+)x\s+(?P<speed>\S+)\s+"
    r"(?:-\s+(?P<far_kind>SW|CA|RT)\s+\d+\s+(?P<far_port>\d+)\s+(?P<far_guid>0x[0-9a-fA-F]{1,16})\s+"
    r"\(\s*'(?P<near>[^']*)' - '(?P<far>[^']*)'\s*\)|'(?P<alone>[^']*)')\s*"
)
_HEADER = re.compile(r"\s*|#.*|(?:vendid|devid|sysimgguid|switchguid|caguid|rtguid)=.*")


def read_netdiscover(text: str, names: Mapping[str, str]) -> Reading:
    """Ports that have a cable, by node, with width and speed. What is not cabled is told by `-p` alone."""
    reading = Reading(cables=[])
    node: Station | None = None
    for line in reading.lines(text):
        if found := _NODE.fullmatch(line):
            node = station(found["name"], guid(found["guid"]), names, _kind(found["kind"]))
        elif found := _PORT.fullmatch(line):
            if node is None:
                reading.unread.append(("a port under no node", line))
                continue
            far = station(found["name"], guid(found["guid"]), names, _kind(found["kind"]))
            _add(reading, node, found["port"], found["width"], found["speed"])
            _cable(reading, node, found["port"], far, found["far_port"])
        elif found := _LISTED.fullmatch(line):
            near = station(found["near"] or found["alone"] or "", guid(found["guid"]), names, _kind(found["kind"]))
            if found["far_guid"] is None:
                reading.row(near, found["port"])
                continue
            far = station(found["far"], guid(found["far_guid"]), names, _kind(found["far_kind"]))
            _add(reading, near, found["port"], found["width"], found["speed"])
            _cable(reading, near, found["port"], far, found["far_port"])
        elif not _HEADER.fullmatch(line):
            reading.unread.append(("neither node nor port", line))
    if not reading.stations:
        reading.failed = "no node in it: is this the output of ibnetdiscover?"
    return reading


def _add(reading: Reading, node: Station, number: str, width: str, speed: str) -> None:
    from msgspec import structs

    row = reading.row(node, number)
    row.named |= {"link_width": f"{width}X", "link_speed": speed}
    count, lane = lanes(width), lane_gbps(speed)
    if count is not None and lane is not None:
        row.port = structs.replace(row.port, speed_gbps=count * lane)
        row.values.append(("ib_sysfs", "rate", count * lane))


def _cable(reading: Reading, near: Station, port: str, far: Station, far_port: str) -> None:
    """A switch's side of each cable, and both of one without a switch."""
    if reading.cables is not None and (near.kind == "switch" or far.kind != "switch"):
        reading.cables.append(Cable(near, near.port(port), far, far.port(far_port)))


def _kind(word: str) -> Kind:
    return "hca" if word in ("Ca", "CA", "H") else "switch"
