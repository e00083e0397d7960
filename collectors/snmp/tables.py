"""Walked columns, by the numbers of their rows."""

from collections.abc import Iterable, Mapping, Sequence

from collectors.snmp import oid
from collectors.snmp.value import Absent, Value, Varbind

Tables = Mapping[bytes, Sequence[Varbind]]


def rows(tables: Tables, column: bytes) -> dict[oid.Numbers, Value]:
    """Row numbers -> value, in the order in which they came. Absent ones are left out."""
    return {
        oid.unpack_tail(varbind.name[len(column) :]): varbind.value
        for varbind in tables.get(column, ())
        if not isinstance(varbind.value, Absent)
    }


def by_index(tables: Tables, column: bytes) -> dict[int, Value]:
    """As `rows`, for tables whose rows have one number."""
    return {numbers[0]: value for numbers, value in rows(tables, column).items() if len(numbers) == 1}


def words(value: Value) -> str:
    """The text of an OCTET STRING, as far as it is text; nothing for any other value."""
    if not isinstance(value, bytes):
        return ""
    return "".join(c for c in value.decode("utf-8", "replace") if c.isprintable()).strip()


def gathered(varbinds: Iterable[Varbind], columns: Iterable[bytes]) -> dict[bytes, list[Varbind]]:
    """Varbinds in any order, put under those of the columns that they are in."""
    out: dict[bytes, list[Varbind]] = {column: [] for column in columns}
    sizes = sorted({len(column) for column in out}, reverse=True)
    for varbind in varbinds:
        for size in sizes:
            if (found := out.get(varbind.name[:size])) is not None:
                found.append(varbind)
                break
    return out
