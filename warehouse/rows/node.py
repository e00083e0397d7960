"""`KernelEvent`, `Beat`, `NodeState` and `Rejected` into their tables: a row a message."""

from collections.abc import Sequence

from collectors.contract.beat import Beat, Rejected
from collectors.contract.kernel import KernelEvent
from collectors.contract.node import NodeState
from warehouse.rows.arrow import Tables, plain_rows

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
STATE = {
    "cluster": "cluster",
    "node": "node",
    "ts": "ts_us",
    "source": "source",
    "schedulable": "schedulable",
    "planned": "planned",
    "states": "states",
    "reason": "reason",
    "until_at": "until_us",
    "rack": "rack",
    "serial": "serial",
    "set_by": "by",
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
    return plain_rows("kernel_events", KERNEL, messages)


def beat_tables(messages: Sequence[Beat]) -> Tables:
    """A row a sweep."""
    return plain_rows("beats", BEAT, messages)


def state_tables(messages: Sequence[NodeState]) -> Tables:
    """A row a word."""
    return plain_rows("node_states", STATE, messages)


def rejected_tables(messages: Sequence[Rejected]) -> Tables:
    """A row a report."""
    return plain_rows("rejected", REJECTED, messages)
