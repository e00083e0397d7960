"""/dev/kmsg: the kernel's ring buffer, one record a read.

Form: Linux Documentation/ABI/testing/dev-kmsg: `level,sequence,microseconds since boot,flags;text`, then lines
that begin with a space and hold key=value pairs. Bytes that are not printable stand as `\\xNN`.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from msgspec import Struct

CLOCK_SET_US = 100_000

_RECORD = re.compile(rb"(\d{1,10}),(\d{1,19}),(\d{1,16}),[^;]*;([^\n]*)")
_ESCAPE = re.compile(rb"\\x([0-9a-fA-F]{2})")


class KmsgPosition(Struct, frozen=True):
    """The last record that was read, of which boot, and when that boot was: a record keeps its time over a restart."""

    boot_id: str
    sequence: int
    boot_us: int


@dataclass(frozen=True, slots=True)
class KmsgRecord:
    """One printk. `since_boot_us` is on the kernel's clock."""

    sequence: int
    since_boot_us: int
    lines: list[str]
    size: int = field(default=0, compare=False)
    """Bytes of the record as it was read."""


@dataclass(frozen=True, slots=True)
class KmsgGap:
    """Records that the kernel overwrote before they were read."""

    records: int
    since_boot_us: int


def steady_boot_us(known_us: int | None, measured_us: int) -> int:
    """When the machine booted. Two clocks read one after the other differ by microseconds each time, so what is known
    stays until the clock was really set (by more than 0.1 s)."""
    return measured_us if known_us is None or abs(measured_us - known_us) > CLOCK_SET_US else known_us


def read_record(raw: bytes) -> KmsgRecord | None:
    """Parse one read of the device; None where it is no record. A printk of several lines comes as several."""
    found = _RECORD.match(raw)
    if found is None:
        return None
    text = _ESCAPE.sub(lambda m: bytes([int(m[1], 16)]), found[4]).decode("utf-8", "replace")
    return KmsgRecord(int(found[2]), int(found[3]), text.split("\n"), len(raw))


class KmsgReader:
    """What is in the buffer after `last`, and what was lost in between.

    `read` returns one record and raises `BlockingIOError` when there is none yet.
    """

    def __init__(self, read: Callable[[], bytes], last: int | None = None) -> None:
        self._read = read
        self.last = last

    def available(self, limit: int = 1000) -> Iterator[KmsgRecord | KmsgGap | bytes]:
        """Up to `limit` records; bytes that are none come out as they are."""
        for _ in range(limit):
            try:
                raw = self._read()
            except BlockingIOError:
                return
            except BrokenPipeError:  # overwritten under the reader; the next read starts at the oldest left
                continue
            if not raw:
                return
            record = read_record(raw)
            if record is None:
                yield raw
                continue
            if self.last is not None and record.sequence <= self.last:
                continue
            if self.last is not None and record.sequence > self.last + 1:
                yield KmsgGap(record.sequence - self.last - 1, record.since_boot_us)
            self.last = record.sequence
            yield record
