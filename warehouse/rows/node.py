"""`KernelEvent`, `Beat` and `Rejected` into their tables: a row a message."""

from collections.abc import Sequence

from collectors.contract.beat import Beat, Rejected
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from warehouse.rows.arrow import Tables, from_rows

KERNEL = {
    "cluster": "cluster",
    "node": "node",
    "ts": "ts_us",
    "kind": "kind",
    "code": "code",
    "pci": "pci",
    "gpu_uuid": "gpu_uuid",
    "mig": "mig",
    "device": "device",
    "pid": "pid",
    "process": "process",
    "detail": "detail",
    "raw": "raw",
}
BEAT = {
    "cluster": "cluster",
    "collector": "collector",
    "ts": "ts_us",
    "source": "source",
    "target": "target",
    "subject": "subject",
    "ok": "ok",
    "seconds": "seconds",
    "messages": "messages",
    "samples": "samples",
    "lost": "lost",
    "spooled": "spooled",
    "interval_s": "interval_s",
    "error": "error",
    "bytes": "bytes",
    "ignored": "ignored",
}
REJECTED = {
    "cluster": "cluster",
    "ts": "ts_us",
    "source": "source",
    "source_partition": "partition",
    "source_offset": "offset",
    "why": "why",
    "raw": "raw",
    "reported_by": "by",
    "unreported": "unreported",
}


def kernel_tables(messages: Sequence[KernelEvent]) -> Tables:
    """A row an event."""
    return _plain("kernel_events", KERNEL, messages)


def beat_tables(messages: Sequence[Beat]) -> Tables:
    """A row a sweep."""
    return _plain("beats", BEAT, messages)


def rejected_tables(messages: Sequence[Rejected]) -> Tables:
    """A row a report."""
    return _plain("rejected", REJECTED, messages)


def _plain(table: str, parts: dict[str, str], messages: Sequence[Message]) -> Tables:
    rows = [tuple(getattr(message, part) for part in parts.values()) for message in messages]
    return from_rows(table, tuple(parts), rows)
