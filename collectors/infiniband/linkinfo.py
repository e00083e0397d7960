"""The text of `iblinkinfo`, by node or one line a port (`-l`) -> states of ports, widths, speeds and cables."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from collectors.infiniband.names import Kind, Station, guid, station
from collectors.infiniband.reading import Cable, Reading
from collectors.infiniband.speeds import lane_gbps, lanes

_NODE = re.compile(r"(?P<kind>CA|Switch|Router|RTR): (?:(?P<guid>0x[0-9a-fA-F]{1,16}) )?(?P<name>.*):\s*")
_LINK = re.compile(
    r"\s*(?:(?P<guid>0x[0-9a-fA-F]{1,16})\s+)?(?:\"(?P<name>[^\"]*)\"\s+)?(?P<lid>\d+)\s+(?P<port>\d+)\[[^\]]*\]\s*"
    r"==\((?P<state>[^)]*)\)[^=]*==>\s*(?:(?P<far_guid>0x[0-9a-fA-F]{1,16})\s+)?"
    r"(?:(?P<far_lid>\d+)\s+(?P<far_port>\d+)\s*)?\[[^\]]*\]\s*\"(?P<far>[^\"]*)\"\s*\((?P<could>.*)\)\s*"
)
_STATE = re.compile(
    r"\s*(?:(?P<width>\d+X)\s+(?P<speed>[\d.]+ Gbps|\w+)\s+)?(?P<logical>[\w ]+)/\s*(?P<physical>[\w ]+?)\s*"
)
_WARNED = re.compile(r"(Could be .+?)(?=Could be|$)")


@dataclass(frozen=True, slots=True)
class _Node:
    kind: Kind
    guid: str | None
    description: str


def read_linkinfo(text: str, names: Mapping[str, str]) -> Reading:
    """Ports of every node, and what each is plugged into: far ends are found by LID, as descriptions repeat."""
    reading = Reading(cables=[])
    nodes: dict[str, _Node] = {}
    ends: list[tuple[re.Match[str], re.Match[str]]] = []
    heading: _Node | None = None
    for line in reading.lines(text):
        if found := _NODE.fullmatch(line):
            heading = _Node("hca" if found["kind"] == "CA" else "switch", _guid(found["guid"]), found["name"])
        elif found := _LINK.fullmatch(line):
            state = _STATE.fullmatch(found["state"])
            node = _listed(found, names) if found["name"] is not None else heading
            if state is None or node is None:
                reading.unread.append(("a port under no node, or without a state", line))
                continue
            nodes[found["lid"]] = node
            ends.append((found, state))
        elif line.strip():
            reading.unread.append(("neither node nor port", line))
    named = dict(names) | _told_apart(reading, nodes, names)
    by_lid = {lid: station(node.description, node.guid, named, node.kind) for lid, node in nodes.items()}
    for end, state in ends:
        _add(reading, by_lid, end, state, named)
    if not ends:
        reading.failed = "no port in it: is this the output of iblinkinfo?"
    return reading


def _listed(found: "re.Match[str]", names: Mapping[str, str]) -> _Node:
    """With `-l` no line tells the kind: an adapter is known by its description."""
    description, known = found["name"].strip(), _guid(found["guid"])
    is_host = station(description, known, names, "hca").hca is not None
    return _Node("hca" if is_host else "switch", known, description)


def _told_apart(reading: Reading, nodes: Mapping[str, _Node], names: Mapping[str, str]) -> dict[str, str]:
    """Switches with one name in common go by their GUIDs."""
    guids: dict[Station, set[str]] = {}
    for node in nodes.values():
        if node.kind == "switch" and node.guid is not None:
            reading.switches.add(node.guid)
            guids.setdefault(station(node.description, node.guid, names, "switch"), set()).add(node.guid)
    reading.names = {known: known for same in guids.values() if len(same) > 1 for known in same}
    return reading.names


def _add(
    reading: Reading,
    by_lid: Mapping[str, Station],
    end: "re.Match[str]",
    state: "re.Match[str]",
    names: Mapping[str, str],
) -> None:
    from msgspec import structs

    near = by_lid[end["lid"]]
    row = reading.row(near, end["port"])
    logical = state["logical"].strip()
    up = logical == "Active"
    width, lane = lanes(state["width"]), lane_gbps(state["speed"])
    speed = width * lane if width is not None and lane is not None else None
    row.port = structs.replace(row.port, oper_up=up, speed_gbps=speed)
    row.values += [("ib_sysfs", "state", logical.upper()), ("ib_sysfs", "phys_state", state["physical"])]
    if speed is not None:
        row.values.append(("ib_sysfs", "rate", speed))
        row.named |= {"link_width": state["width"], "link_speed": state["speed"]}
    could = "; ".join(part.strip() for part in _WARNED.findall(end["could"]))
    if could:
        row.named["link_degraded"] = could
    if not up or end["far_lid"] is None or reading.cables is None:
        return
    far = by_lid.get(end["far_lid"])
    if far is None:
        known = _guid(end["far_guid"])
        far = station(end["far"], known, names, "hca")
        far = far if far.hca is not None else station(end["far"], known, names, "switch")
    if near.kind == "switch" or far.kind != "switch":
        reading.cables.append(Cable(near, near.port(end["port"]), far, far.port(end["far_port"])))


def _guid(text: str | None) -> str | None:
    return None if text is None else guid(text)
