"""What DCGM's gauges tell of the driver's errors where the node's kernel log is not read.

The gauge of the last XID (field 230) keeps its value for ever and shows only the last of an interval, so only its
changes are news; the recovery that a GPU asks for (1523) is news for as long as it stands.
"""

from collections.abc import Iterator

from collectors.contract.gpu import GpuScrape
from collectors.contract.kernel import KernelEvent
from streams.catalog import BINS, recovery_bin
from streams.detectors.xid_rules import RECOVERY_CODE
from streams.detectors.xid_state import MOST, XidState

LAST_XID, RECOVERY = "230", "1523"


def told(state: XidState, scrape: GpuScrape, gauge_us: int) -> Iterator[KernelEvent]:
    """Events that the gauges of a scrape tell and the log did not, as the log would tell them without words."""
    for field_id in (LAST_XID, RECOVERY):
        column = scrape.columns.get(field_id)
        if column is None or column == state.columns.get(field_id):
            continue
        state.columns[field_id] = column
        for gpu, value in zip(scrape.gpus, column, strict=False):
            if value is None or not 0 <= value <= 9999:
                continue
            name = f"{field_id} {gpu.uuid} {gpu.mig or ''}"
            before = state.kept.gauges.get(name)
            if before == value or (before is None and len(state.kept.gauges) >= MOST):
                continue
            state.kept.gauges[name] = value
            # Where the gauge of the last XID stood when it was first read says nothing of today.
            first = before is None and field_id == LAST_XID
            if value <= 0 or first or (field_id == RECOVERY and _asked(state, gpu.pci or gpu.uuid, value)):
                continue
            if not state.heard(gpu.pci or gpu.uuid, scrape.ts_us - gauge_us):
                yield KernelEvent(
                    cluster=scrape.cluster,
                    node=scrape.node,
                    ts_us=scrape.ts_us,
                    kind="xid",
                    code=int(value) if field_id == LAST_XID else RECOVERY_CODE,
                    pci=gpu.pci,
                    gpu_uuid=gpu.uuid,
                    detail=f"told by DCGM's field {field_id}, now {value:g}; the kernel log said nothing",
                )


def _asked(state: XidState, part: str, value: float) -> bool:
    """Does the open episode of the GPU ask for as much already?"""
    group = state.kept.groups.get(part)
    return group is not None and BINS.index(group.asked) >= BINS.index(recovery_bin(value))
