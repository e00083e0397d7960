"""Columns that tell what the others belong to: names of ports, parts and sensors, neighbours."""

from collectors.snmp import oid


def _columns(base: str, **columns: int) -> dict[str, bytes]:
    return {name: oid.encode(f"{base}.{number}") for name, number in columns.items()}


UPTIME = oid.encode("1.3.6.1.2.1.1.3.0")
SYS_NAME = oid.encode("1.3.6.1.2.1.1.5.0")
IF_NUMBER = oid.encode("1.3.6.1.2.1.2.1.0")
IF_TABLE_LAST_CHANGE = oid.encode("1.3.6.1.2.1.31.1.5.0")

IF_TABLE = _columns("1.3.6.1.2.1.2.2.1", descr=2, type=3)
IF_NAME = oid.encode("1.3.6.1.2.1.31.1.1.1.1")

PHYSICAL = _columns("1.3.6.1.2.1.47.1.1.1.1", descr=2, contained_in=4, name=7)
"""entPhysicalTable (RFC 6933)."""
ALIAS = oid.encode("1.3.6.1.2.1.47.1.3.2.1.2")
"""entAliasMappingIdentifier: the part -> `ifIndex.N`."""
IF_INDEX = (1, 3, 6, 1, 2, 1, 2, 2, 1, 1)
SENSOR = _columns("1.3.6.1.2.1.99.1.1.1", type=1, scale=2, precision=3, value=4, status=5, units=6)
"""entPhySensorTable (RFC 3433)."""

LOCAL_PORT = _columns("1.0.8802.1.1.2.1.3.7.1", subtype=2, id=3, descr=4)
"""lldpLocPortTable (IEEE 802.1AB-2005), by lldpPortNum: an ifIndex on most switches, a bridge port on some."""
REMOTE = _columns("1.0.8802.1.1.2.1.4.1.1", port_subtype=6, port_id=7, port_descr=8, sys_name=9)
"""lldpRemTable, by time mark, lldpPortNum and a number of the neighbour."""
BRIDGE_PORT = oid.encode("1.3.6.1.2.1.17.1.4.1.2")
"""dot1dBasePortIfIndex: bridge port -> ifIndex."""
