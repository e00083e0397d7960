"""LLDP-MIB: what each port hears -> the far device and its port."""

from collections.abc import Mapping

from collectors.fabric.cables import Heard
from collectors.snmp.mib import BRIDGE_PORT, IF_NAME, IF_TABLE, LOCAL_PORT, REMOTE
from collectors.snmp.tables import Tables, by_index, rows, words
from collectors.snmp.value import Value

INTERFACE_ALIAS, MAC, INTERFACE_NAME, LOCAL = 1, 3, 5, 7
"""LldpPortIdSubtype."""
COLUMNS = (*LOCAL_PORT.values(), *REMOTE.values(), BRIDGE_PORT)


def heard(tables: Tables, ports: Mapping[int, str]) -> dict[str, Heard]:
    """Port -> neighbour. One that does not tell its name is left out, as everywhere."""
    local = _LocalPorts(tables, ports)
    subtypes, ids, descrs, names = (
        rows(tables, REMOTE[name]) for name in ("port_subtype", "port_id", "port_descr", "sys_name")
    )
    out: dict[str, Heard] = {}
    for row, name in names.items():
        port = local.name(row[1]) if len(row) == 3 else None
        if port is not None and (device := words(name)):
            out[port] = (device, _far_port(subtypes.get(row), ids.get(row), words(descrs.get(row))))
    return out


def _far_port(subtype: Value, held: Value, descr: str) -> str | None:
    if subtype == MAC and isinstance(held, bytes) and len(held) == 6:
        # A NIC tells its MAC; the description names the interface where there is one.
        return descr or held.hex(":")
    if subtype == LOCAL and descr:
        # A number of the far agent's own: an ifIndex, a bridge port, who knows. Its description is the interface.
        return descr
    return words(held) or descr or None


class _LocalPorts:
    """lldpPortNum -> port, by the name it tells, else by number: a bridge port where there are bridge ports."""

    def __init__(self, tables: Tables, ports: Mapping[int, str]) -> None:
        self._ports = ports
        self._by_name = {name: name for name in ports.values()}
        for column in (IF_NAME, IF_TABLE["descr"]):
            for index, text in by_index(tables, column).items():
                if index in ports:
                    self._by_name.setdefault(words(text), ports[index])
        self._ids = by_index(tables, LOCAL_PORT["id"])
        self._descrs = by_index(tables, LOCAL_PORT["descr"])
        self._bridge = by_index(tables, BRIDGE_PORT)

    def name(self, number: int) -> str | None:
        """None: it is no port of ours."""
        for text in (words(self._ids.get(number)), words(self._descrs.get(number))):
            if text in self._by_name:
                return self._by_name[text]
        index = self._bridge.get(number, number)
        return self._ports.get(index) if isinstance(index, int) else None
