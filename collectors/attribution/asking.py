"""Ask for the holders of a node's GPUs, beside a sweep: what cannot be asked costs a beat, never a GPU."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from collectors.attribution.boot import SLACK_US
from collectors.attribution.holders import Holders, Processes, held
from collectors.attribution.job_files import Folder, JobFileError, jobs_of
from collectors.attribution.once_at_a_time import OnceAtATime
from collectors.attribution.pod_resources import AnswerError, PodsHolding, read_answer
from collectors.contract.beat import Beat
from collectors.contract.gpu import Gpu
from collectors.defect import defect
from collectors.gpu.sweep import Names
from collectors.source import Outlet, SourceError

TIMEOUT_S = 3.0
"""Longest wait for one that tells; GPUs that answered wait as long."""


@dataclass(frozen=True, slots=True)
class Kubelet:
    """`ask` is given the longest time to wait, and raises `SourceError`."""

    target: str
    ask: Callable[[float], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class JobFolder:
    """`read` may block for ever, and raises `SourceError`."""

    target: str
    read: Callable[[], Folder]
    booted_us: int


@dataclass(slots=True)
class _Went:
    """How one ask went."""

    samples: int = 0
    bytes: int = 0
    error: str | None = None


class Asking:
    """One node's kubelet, its folder of jobs, and its processes, where the reader does not look at them itself; None:
    not asked."""

    def __init__(
        self,
        outlet: Outlet,
        names: Names,
        kubelet: Kubelet | None,
        folder: JobFolder | None,
        processes: Callable[[], Processes] | None = None,
        *,
        interval_s: float | None,
        now_us: Callable[[], int] = lambda: time.time_ns() // 1000,
        clock_s: Callable[[], float] = time.monotonic,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self._outlet = outlet
        self._names = names
        self._kubelet = kubelet
        self._folder = folder
        self._interval_s = interval_s
        self._now_us = now_us
        self._clock_s = clock_s
        # A sweep must not take longer than its interval.
        self._timeout_s = timeout_s if interval_s is None else min(timeout_s, interval_s / 2)
        self._reading = None if folder is None else OnceAtATime("hpc-jobs", folder.read, clock_s)
        self._processes = None if processes is None else OnceAtATime("gpu-processes", processes, clock_s)

    async def ask(self) -> Callable[[Gpu], Gpu]:
        """All at once, and a beat of kubelet and folder; what gives a GPU its holders. Raises nothing."""
        holders = Holders(*await asyncio.gather(self._pods(), self._jobs(), self._owners()))
        return lambda gpu: held(gpu, holders)

    async def _pods(self) -> PodsHolding:
        if self._kubelet is None:
            return PodsHolding()
        began_s, went, found = self._clock_s(), _Went(), PodsHolding()
        try:
            # The call has its own deadline; this is for a socket that takes the connection and says nothing.
            raw = await asyncio.wait_for(self._kubelet.ask(self._timeout_s), self._timeout_s + 1.0)
            went.bytes = len(raw)
            found = self._read_pods(raw, self._kubelet.target)
        except (SourceError, AnswerError) as why:
            went.error = str(why)
        except TimeoutError:
            went.error = f"no answer for {self._timeout_s:g} s"
        except Exception as why:  # noqa: BLE001 (GPUs are told without their holders)
            went.error = defect(f"{self._names.source}:{self._kubelet.target}", why)
        went.samples = sum(map(len, found.by_device.values()))
        self._beat(self._kubelet.target, began_s, went)
        return found

    def _read_pods(self, raw: bytes, target: str) -> PodsHolding:
        try:
            return read_answer(raw)
        except AnswerError as why:
            self._outlet.reject(f"{self._names.source}:{target}", raw, str(why))
            raise

    async def _jobs(self) -> dict[str, tuple[str, ...]]:
        if self._folder is None:
            return {}
        began_s, went = self._clock_s(), _Went()
        jobs: dict[str, tuple[str, ...]] = {}
        try:
            folder = await self._read_folder()
            went.bytes = sum(len(file.raw) for file in folder.files)
            whys = list(folder.unread) + self._take(folder, self._folder, jobs)
            went.error = "; ".join(whys[:5]) or None
        except SourceError as why:
            went.error = str(why)
        except Exception as why:  # noqa: BLE001 (GPUs are told without their holders)
            went.error = defect(f"{self._names.source}:{self._folder.target}", why)
        went.samples = sum(map(len, jobs.values()))
        self._beat(self._folder.target, began_s, went)
        return jobs

    async def _read_folder(self) -> Folder:
        """Raises `SourceError`."""
        assert self._reading is not None
        try:
            return await self._reading.within(self._timeout_s)
        except TimeoutError as why:
            raise SourceError(f"not read for {self._reading.waited_s:.0f} s; is its file server up?") from why

    async def _owners(self) -> Processes:
        """Nothing where the driver hangs: the sweep itself says so."""
        if self._processes is None:
            return {}
        try:
            return await self._processes.within(self._timeout_s)
        except TimeoutError:
            return {}
        except Exception as why:  # noqa: BLE001 (GPUs are told without their holders)
            defect(f"{self._names.source}:processes", why)
            return {}

    def _take(self, found: Folder, folder: JobFolder, jobs: dict[str, tuple[str, ...]]) -> list[str]:
        """Why files tell nothing: those of before the boot name jobs that ended with it."""
        whys: list[str] = []
        for file in found.files:
            try:
                told = jobs_of(file.raw)
            except JobFileError as why:
                self._outlet.reject(f"{self._names.source}:{folder.target}/{file.name}", file.raw, str(why))
                whys.append(f"{folder.target}/{file.name}: {why}")
                continue
            if told and file.written_us + SLACK_US < folder.booted_us:
                whys.append(f"{folder.target}/{file.name}: written before the boot, passed over")
            elif told:
                jobs[file.name] = told
        return whys

    def _beat(self, target: str, began_s: float, went: _Went) -> None:
        self._outlet.beat(
            Beat(
                cluster=self._names.cluster,
                ts_us=self._now_us(),
                collector=self._names.collector,
                source=self._names.source,
                target=target,
                subject=self._names.node,
                ok=went.error is None,
                seconds=round(self._clock_s() - began_s, 6),
                samples=went.samples,
                bytes=went.bytes,
                interval_s=self._interval_s,
                error=went.error,
            )
        )
