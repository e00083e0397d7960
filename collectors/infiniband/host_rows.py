"""What the files of sysfs said -> rows. A pure function of text."""

import re
from collections.abc import Sequence

from collectors.contract.fabric import Port
from collectors.fabric.pci import link_value
from collectors.fabric.reading import Raw, Value
from collectors.fabric.rows import Row
from collectors.infiniband.names import hca_port
from collectors.infiniband.sysfs import UNKNOWN, Told

ACTIVE = "ACTIVE"
LAYERS = {"infiniband": "infiniband", "ethernet": "ethernet"}

_RATE = re.compile(r"(?P<gbps>\d+(?:\.\d+)?) Gb/sec(?: \((?P<width>\d+X)(?: (?P<speed>\w+))?\))?")


def rows(told: Sequence[Told]) -> list[Row]:
    """One row a port; `component:mlx5_0` for the counters of a device that belong to no port."""
    return [_row(one) for one in told]


def _row(told: Told) -> Row:
    tree = told.tree
    texts = {f.native: raw.decode("utf-8", "replace") for f, raw in told.values if raw is not None}
    if tree.number is None:
        row = Row(Port(name=f"component:{tree.device}"), epoch=tree.born)
    else:
        row = Row(_port(hca_port(tree.device, tree.number), texts), epoch=tree.born)
    facts: dict[str, Value] = dict(tree.facts)
    rate = _RATE.fullmatch(texts.get("rate", ""))
    if rate is not None and rate["width"]:
        facts |= {"link_width": rate["width"]} | ({"link_speed": rate["speed"]} if rate["speed"] else {})
    row.named = facts
    for file, raw in told.values:
        if file.system == UNKNOWN:
            row.named[file.native] = _plain(raw)
        else:
            row.values.append((file.system, file.native, _raw(file.system, file.native, raw)))
    row.values += [("pci_sysfs", native, value) for native, value in tree.most]
    return row


def _port(name: str, texts: dict[str, str]) -> Port:
    rate = _RATE.fullmatch(texts.get("rate", ""))
    layer = LAYERS.get(texts.get("link_layer", "").lower())
    state = _word(texts["state"]) if "state" in texts else None
    return Port(
        name=name,
        speed_gbps=None if rate is None else float(rate["gbps"]),
        link_layer=layer,  # type: ignore[arg-type]
        oper_up=None if state is None else state == ACTIVE,
    )


def _raw(system: str, native: str, raw: bytes | None) -> Raw:
    """As the tables want it: `4: ACTIVE` is a word, `400 Gb/sec (4X NDR)` a number."""
    if raw is None:
        return None
    if system == "pci_sysfs":
        return link_value(native, raw)
    text = raw.decode("utf-8", "replace")
    if native in ("state", "phys_state"):
        return _word(text)
    if native == "rate":
        found = _RATE.fullmatch(text)
        return found["gbps"] if found else text
    return text


def _word(text: str) -> str:
    return text.partition(": ")[2] or text


def _plain(raw: bytes | None) -> Value:
    if raw is None:
        return None
    text = raw.decode("utf-8", "replace")
    return int(text) if text.isdecimal() and len(text) < 20 else text
