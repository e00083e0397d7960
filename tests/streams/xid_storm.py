"""100,000 lines of the driver in one minute from one node: noise of programs around one GPU that broke."""

import random
from collections.abc import Iterator

from collectors.contract.job import JobEvent, Placement
from collectors.contract.kernel import KernelEvent
from tests.streams.scrapes import SECOND, T0

LINES = 100_000
SPAN_US = 60 * SECOND
START_US = T0 + 10 * SECOND
NOISE = (31, 13, 45, 43, 31, 45)
TEXTS = {
    13: "Graphics SM Warp Exception on (GPC {gpc}, TPC {tpc}, SM 1): Out Of Range Address",
    31: "Ch 00000010, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_0 faulted @ 0x7f60_{n:08x}",
    43: "Ch {n:08x}",
    45: "Ch {n:08x}",
    79: "GPU has fallen off the bus.",
    95: "Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No",
}


def placed(node: str = "n1") -> JobEvent:
    """A job on all GPUs of the node."""
    places = [Placement(rank=r, node=node, gpu_uuid=f"GPU-{r}") for r in range(8)]
    return JobEvent(ts_us=T0, job="train", kind="placed", placement=places)


def line(ts_us: int, code: int, gpu: int, n: int = 0, pid: int | None = None, node: str = "n1") -> KernelEvent:
    """One line; `n` makes it differ from others of its code."""
    pci = f"0000:{0x1A + gpu:02x}:00"
    text = TEXTS[code].format(n=n, gpc=n % 7, tpc=n % 9)
    who = "pid='<unknown>', name=<unknown>" if pid is None else f"pid={pid}, name=python3"
    raw = f"NVRM: Xid (PCI:{pci}): {code}, {who}, {text}"
    return KernelEvent(node=node, ts_us=ts_us, kind="xid", code=code, pci=pci, pid=pid, detail=text, raw=raw)


def struck_us(lines: int = LINES) -> int:
    """When the fault's line stands in the log: a third into the storm."""
    return START_US + (lines // 3) * SPAN_US // lines


def storm(real: int, lines: int = LINES) -> Iterator[KernelEvent]:
    """`real`: the code of the one fault, on GPU 3."""
    rng = random.Random(5)
    for n in range(lines):
        ts_us = START_US + n * SPAN_US // lines
        if n == lines // 3:
            yield line(ts_us, real, 3)
        else:
            yield line(ts_us, rng.choice(NOISE), rng.randrange(8), n, rng.randrange(1000, 30_000))
