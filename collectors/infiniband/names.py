"""What a node of the fabric is called: by its description, by a map of names, or by its GUID."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["switch", "hca"]

_CHANNEL = re.compile(
    r"(?P<host>\S+)\s+(?P<hca>(?:mlx[45]_|bnxt_re|hfi1_|qib|mthca|irdma|ibp|rocep|HCA-?|Hca)\S*)", re.IGNORECASE
)
_MANAGED = re.compile(r"MF0;(?P<name>[^:/;]+):(?P<model>[^/]+)(?P<unit>(?:/\w+)*)")
_MODEL = re.compile(r".*(Mellanox Technologies|NVIDIA|Infiniscale|InfiniScale).*|Quantum.*|Switch-?IB.*|SwitchX.*|")
"""Descriptions that unmanaged switches leave the factory with: many share one, so none is a name."""
_ENTRY = re.compile(r"\s*(?P<guid>0x[0-9a-fA-F]+)\s+\"(?P<name>[^\"]+)\"\s*(?:#.*)?")


@dataclass(frozen=True, slots=True)
class Station:
    """A switch, or one adapter of a host. `node` None: its description does not name the host."""

    device: str
    kind: Kind
    node: str | None = None
    hca: str | None = None

    def port(self, number: str) -> str:
        """What the port is called: a switch's by its number, an adapter's as its host calls it."""
        return number if self.hca is None else hca_port(self.hca, number)


def hca_port(hca: str, number: str) -> str:
    """`mlx5_0` for port 1 of an adapter, `mlx5_0/2` for a further one: cable files name the adapter."""
    return hca if number == "1" else f"{hca}/{number}"


def station(description: str, guid: str | None, names: Mapping[str, str], kind: Kind) -> Station:
    """`node-01 mlx5_0` is adapter mlx5_0 of host node-01; any other description is a name as it stands.

    `MF0;sw01:MQM9700/U1` is sw01. A model in place of a name gives way to the GUID; a name holds no `/`, which
    stands between a device and its port.
    """
    given = names.get(guid or "")
    name = given or description.strip()
    if kind == "hca" and (found := _CHANNEL.fullmatch(name)):
        return Station(found["host"], "hca", found["host"], found["hca"])
    if given is None and (found := _MANAGED.fullmatch(name)):
        unit = found["unit"] if found["unit"] != "/U1" else ""
        name = found["name"] + unit
    elif given is None and guid is not None and _MODEL.fullmatch(name):
        name = guid
    return Station(name.replace("/", ":") or "unknown", kind)


def guid(text: str) -> str:
    """`0x` and 16 digits, however it was written. Raises ValueError."""
    value = int(text, 16)
    if not 0 <= value < 1 << 64:
        raise ValueError(f"{text[:40]} is no GUID")
    return f"0x{value:016x}"


def read_names(text: str) -> dict[str, str]:
    """A node name map as infiniband-diags reads it: `0xGUID "name"` a line. Raises ValueError naming the line."""
    out: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        found = _ENTRY.fullmatch(line)
        if found is None:
            raise ValueError(f'line {number}: write 0xGUID "name"')
        out[guid(found["guid"])] = found["name"]
    return out
