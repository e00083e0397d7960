"""What the driver tells by itself, from a thread that waits for it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from threading import Event, Thread

from collectors.contract.gpu import Gpu
from collectors.contract.kernel import KernelEvent, KernelKind
from collectors.gpu.reading import Fault, GpuReader, GpuTrouble

WAIT_S = (1.0, 60.0)
"""Between two tries after a failure: the first and the longest, doubled each time."""


@dataclass(frozen=True, slots=True)
class Teller:
    """Makes the messages of one node."""

    cluster: str
    node: str

    def xid(self, fault: Fault) -> KernelEvent:
        """The driver's own word; `raw` is empty: there is no line of a log."""
        return self._event("xid", fault.ts_us, fault.gpu, fault.detail, fault.code, fault.mig)

    def lost(self, gpu: Gpu, ts_us: int, why: str) -> KernelEvent:
        """A GPU that no longer answers on the bus."""
        return self._event("gpu_lost", ts_us, gpu, why)

    def _event(
        self,
        kind: KernelKind,
        ts_us: int,
        gpu: Gpu | None,
        detail: str,
        code: int | None = None,
        mig: str | None = None,
    ) -> KernelEvent:
        return KernelEvent(
            cluster=self.cluster,
            node=self.node,
            ts_us=ts_us,
            kind=kind,
            code=code,
            pci=None if gpu is None else gpu.pci,
            gpu_uuid=None if gpu is None else gpu.uuid,
            mig=mig,
            detail=detail,
        )


class Listener:
    """Waits in a thread and hands each fault to the loop. `trouble`: why it hears nothing at present."""

    def __init__(self, reader: GpuReader, tell: Callable[[Fault], None]) -> None:
        self._reader = reader
        self._tell = tell
        self._stopped = Event()
        self._loop = asyncio.get_running_loop()
        self.trouble: str | None = None
        self._thread = Thread(target=self._run, name=f"{reader.source}-faults", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """No more is told; the thread ends when its wait does."""
        self._stopped.set()

    def ended(self, timeout_s: float) -> bool:
        """Wait for the thread after `stop`; False: it hangs."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        wait_s = WAIT_S[0]
        while not self._stopped.is_set():
            try:
                found = self._reader.faults()
            except GpuTrouble as why:
                self.trouble = str(why)
                self._stopped.wait(wait_s)
                wait_s = min(2 * wait_s, WAIT_S[1])
                continue
            self.trouble, wait_s = None, WAIT_S[0]
            for fault in found:
                if self._stopped.is_set() or not self._hand_over(fault):
                    return

    def _hand_over(self, fault: Fault) -> bool:
        try:
            self._loop.call_soon_threadsafe(self._tell, fault)
        except RuntimeError:  # the loop has gone
            return False
        return True
