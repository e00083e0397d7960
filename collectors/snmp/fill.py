"""The hot loop: counters of an answer straight into their cells.

Nearly every varbind of a switch is a short name and a counter of up to eight bytes; those are read here, in place.
Whatever looks different in any byte is left to `read_varbind`, which believes nothing.
"""

from collections.abc import Callable, Mapping

from collectors.fabric.cell import Cell
from collectors.snmp.ber import BerError
from collectors.snmp.value import BITS, Varbind, read_varbind

_PLAIN = bytes(BITS[tag] // 8 if tag in BITS else 0 for tag in range(256))
"""Tag -> the most bytes of a number that is read in place; 0: none of that type is."""


def fill(
    raw: bytes,
    at: int,
    end: int,
    cells: Mapping[bytes, Cell],
    stamp: tuple[int, int],
    other: Callable[[Varbind], None],
) -> int:
    """Put every counter into its cell and hand the rest to `other`. Returns how many there were. Raises `BerError`."""
    find = cells.get
    from_bytes = int.from_bytes
    count = 0
    try:
        while at < end:
            after = at + 2 + raw[at + 1]
            value_at = at + 4 + raw[at + 3]
            size = raw[value_at + 1]
            if (
                0 < size <= _PLAIN[raw[value_at]]
                and value_at + 2 + size == after <= end
                and raw[at] == 0x30
                and raw[at + 1] < 0x80
                and raw[at + 2] == 0x06
                and (cell := find(raw[at + 4 : value_at])) is not None
            ):
                cell.value = from_bytes(raw[value_at + 2 : after])
                cell.stamp = stamp
                at = after
            else:
                varbind, at = read_varbind(raw, at, end)
                other(varbind)
            count += 1
    except IndexError:
        raise BerError("cut off in a header") from None
    return count
