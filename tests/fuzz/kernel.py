"""Kernel log lines and records of /dev/kmsg."""

from collections.abc import Hashable, Mapping
from datetime import UTC

from collectors.contract.topics import KERNEL_EVENTS
from collectors.kernel.intake import Intake
from collectors.kernel.kmsg import KmsgReader, read_record
from collectors.kernel.log import KernelLog
from tests.collectors.list_outlet import ListOutlet
from tests.fuzz.parser import Parser

_LOG = b"""\
2026-01-02T10:00:00.000001+00:00 gpu-7 kernel: NVRM: GPU at PCI:0000:18:00: GPU-00000000-0000-0000-0000-000000000001
2026-01-02T10:00:00.000002+00:00 gpu-7 kernel: NVRM: Xid (PCI:0000:18:00): 94, pid=7194, Contained: CE User Channel
Jan  2 10:00:01 gpu-7 kernel: [  99.000001] NVRM: Xid (PCI:0000:18:00 GPU-I:05 GPU-CI:00): 13, pid='<unknown>', name=x
[Fri Jan  2 10:00:02 2026] nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress (First)
<3>[  123.456789] mlx5_core 0000:0c:00.0 ens1np0: Link down
[  124.0] Memory cgroup out of memory: Killed process 4242 (python3) total-vm:99kB, anon-rss:1kB
[  125.0] pcieport 0000:80:01.0: AER: Corrected error received: 0000:81:00.0
[  126.0] net_ratelimit: 12 callbacks suppressed
"""
_RECORD = b"4,817,123456789,-;NVRM: Xid (PCI:0000:18:00): 79, pid=1, GPU has fallen off the bus.\n SUBSYSTEM=pci\n"


def _intake(outlet: ListOutlet) -> Intake:
    log = KernelLog(cluster="c", this_node="n", now_us=lambda: 1_767_300_000_000_000, boot_us=lambda: 0, zone=UTC)
    return Intake(log, outlet, "fuzz", "c", "n")


def _lines(raw: bytes) -> ListOutlet:
    outlet = ListOutlet()
    intake = _intake(outlet)
    for number, line in enumerate(raw.split(b"\n"), start=1):
        intake.line(line, number)
    return outlet


def _records(raw: bytes) -> ListOutlet:
    outlet = ListOutlet()
    intake = _intake(outlet)
    waiting = [raw, raw[: len(raw) // 2], b""]
    for record in KmsgReader(lambda: waiting.pop(0)).available(3):
        intake.record(record, 0)
    return outlet


def _times(outlet: ListOutlet) -> Mapping[Hashable, float | None]:
    """The time of every event but the last, whose line may be cut."""
    return {(n, "ts_us"): event.ts_us for n, event in enumerate(outlet.of(KERNEL_EVENTS)[:-1])}


PARSERS = (
    Parser("kernel-lines", (_LOG, *_LOG.splitlines()), _lines),
    Parser("kernel-log", (_LOG,), _lines, _times),
    Parser("kernel-kmsg", (_RECORD,), _records),
    Parser("kernel-record", (_RECORD,), read_record),
)
