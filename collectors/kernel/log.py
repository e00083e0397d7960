"""A kernel log, line by line, as events."""

import re
from collections.abc import Callable
from datetime import tzinfo
from typing import TypeVar

from collectors.contract.kernel import KernelEvent
from collectors.kernel.fact import Fact
from collectors.kernel.host import HOST_READERS
from collectors.kernel.line import read_line
from collectors.kernel.nvidia import gpu_fell, named_gpu, read_sxid, read_xid, uuid_at

K = TypeVar("K")
V = TypeVar("V")

SAME_FAULT_US = 5_000_000
"""Lines of one GPU this close are one fault (the window of the Delta study, arXiv 2503.11901)."""
RAW_CHARS = 4096
REMEMBERED = 4096

_WORTH_READING = re.compile(
    r"Xid \(|NVRM: |[Ll]ink (?:is )?(?:[Uu]p|[Dd]own)|Killed process|no killable|Hardware Error|EDAC |[Kk]illing |"
    r"AER: |aer_status|DPC: |mlx5_core|bnxt_en|suppressed|blocked |soft lockup|transmit queue|server |"
    r" error|nvme nvme|XFS \("
)


class KernelLog:
    """Turns lines into events. Remembers only what lines say for later ones: GPU UUIDs, a GPU being lost.

    `node` None takes the host that the line names, else `this_node`. `gpu_uuid` looks a PCI address up on
    this node; what the log itself says of a GPU's UUID wins.
    """

    def __init__(
        self,
        *,
        cluster: str,
        this_node: str,
        now_us: Callable[[], int],
        boot_us: Callable[[], int],
        gpu_uuid: Callable[[str], str | None] = lambda pci: None,
        node: str | None = None,
        zone: tzinfo | None = None,
    ) -> None:
        self._cluster = cluster
        self._node = node
        self._this_node = this_node
        self._now_us = now_us
        self._boot_us = boot_us
        self._gpu_uuid = gpu_uuid
        self._zone = zone
        self._uuids: dict[tuple[str, str], str] = {}
        self._named: dict[str, str] = {}
        self._lost_us: dict[tuple[str, str | None], int] = {}

    def read(self, raw: str) -> KernelEvent | None:
        """The event of one line, if it is one. Raises `UnreadableLine`."""
        if not _WORTH_READING.search(raw):
            return None
        now_us = self._now_us()
        line = read_line(raw, now_us=now_us, boot_us=self._boot_us(), zone=self._zone)
        node = self._node or line.host or self._this_node
        return self._event(node, now_us if line.ts_us is None else line.ts_us, line.text, raw)

    def read_record(self, ts_us: int, text: str) -> KernelEvent | None:
        """The event of a message whose time is known, as from /dev/kmsg. Raises `UnreadableLine`."""
        if not _WORTH_READING.search(text):
            return None
        return self._event(self._node or self._this_node, ts_us, text, text)

    def _event(self, node: str, ts_us: int, text: str, raw: str) -> KernelEvent | None:
        fact = self._fact(node, ts_us, text)
        if fact is None:
            return None
        return KernelEvent(
            cluster=self._cluster,
            node=node,
            ts_us=ts_us,
            kind=fact.kind,
            code=fact.code,
            pci=fact.pci,
            gpu_uuid=self._uuid(node, fact),
            mig=fact.mig,
            device=fact.device,
            pid=fact.pid,
            process=fact.process,
            detail=fact.detail,
            raw=raw[:RAW_CHARS],
        )

    def _fact(self, node: str, ts_us: int, text: str) -> Fact | None:
        if text.startswith("NVRM: "):
            return self._driver_fact(node, ts_us, text)
        fact = read_sxid(text)
        if fact is not None:
            return fact
        return next((found for read in HOST_READERS if (found := read(text)) is not None), None)

    def _driver_fact(self, node: str, ts_us: int, text: str) -> Fact | None:
        fact = read_xid(text)
        if fact is not None:
            if fact.code == 79:
                _remember(self._lost_us, (node, fact.pci), ts_us)
            return fact
        if said := uuid_at(text):
            _remember(self._uuids, (node, said[0]), said[1])
            return None
        pci = named_gpu(text)
        if not gpu_fell(text):
            if pci is not None:
                _remember(self._named, node, pci)
            return None
        pci = pci or self._named.pop(node, None)
        last_us = self._lost_us.get((node, pci))
        if last_us is not None and abs(ts_us - last_us) <= SAME_FAULT_US:
            return None
        _remember(self._lost_us, (node, pci), ts_us)
        return Fact(kind="gpu_lost", pci=pci, detail=text.removeprefix("NVRM: "))

    def _uuid(self, node: str, fact: Fact) -> str | None:
        if fact.pci is None or fact.kind not in ("xid", "gpu_lost", "aer"):
            return None
        said = self._uuids.get((node, fact.pci))
        return said if said is not None else self._gpu_uuid(fact.pci)


def _remember(memory: dict[K, V], key: K, value: V) -> None:
    """Bounded: a log that names endless hosts or GPUs forgets the oldest."""
    memory.pop(key, None)
    memory[key] = value
    if len(memory) > REMEMBERED:
        del memory[next(iter(memory))]
