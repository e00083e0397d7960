"""Which interfaces are ports, and what they are called."""

from collections import Counter
from collections.abc import Collection

from collectors.snmp.mib import IF_NAME, IF_TABLE
from collectors.snmp.tables import Tables, by_index, words


def ports(tables: Tables, types: Collection[int]) -> dict[int, str]:
    """ifIndex -> name: the key of all that is kept, for an ifIndex may move at a reboot.

    Where two ports have one name, the ifIndex tells them apart.
    """
    kinds, names, descrs = (by_index(tables, column) for column in (IF_TABLE["type"], IF_NAME, IF_TABLE["descr"]))
    found: dict[int, str] = {}
    for index in dict.fromkeys((*names, *descrs)):
        if index not in kinds or kinds[index] in types:
            name = words(names.get(index)) or words(descrs.get(index))
            if name:
                found[index] = name
    taken = Counter(found.values())
    return {index: name if taken[name] == 1 else f"{name}#{index}" for index, name in found.items()}
