"""One job, asked again and again."""

import asyncio
import socket
import time
from collections.abc import Awaitable, Callable

from collectors.contract.beat import Beat
from collectors.contract.topics import NCCL_WINDOWS
from collectors.defect import defect
from collectors.nccl_ras.answer import read_answer
from collectors.nccl_ras.client import Address, RasError
from collectors.nccl_ras.names import Names
from collectors.nccl_ras.report import Report, ReportError
from collectors.nccl_ras.target import Target
from collectors.nccl_ras.window import windows
from collectors.source import Outlet

Ask = Callable[[Address], Awaitable[bytes]]


def why_not(why: OSError) -> str:
    """What went wrong, in words that lead on."""
    if isinstance(why, ConnectionRefusedError):
        return "refused: no job runs there, or NCCL_RAS_ADDR lets it listen elsewhere (without it, on localhost only)"
    if isinstance(why, RasError | TimeoutError | socket.gaierror):
        return str(why.args[-1])
    return why.strerror or str(why)


class Poller:
    """Asks the addresses of one target in turn until one answers; publishes what it told."""

    def __init__(
        self,
        target: Target,
        outlet: Outlet,
        ask: Ask,
        *,
        cluster: str,
        collector: str,
        interval_s: float | None,
        names: Names | None = None,
        now_us: Callable[[], int] = lambda: time.time_ns() // 1000,
    ) -> None:
        self._target = target
        self._outlet = outlet
        self._ask = ask
        self._cluster = cluster
        self._collector = collector
        self._interval_s = interval_s
        self._names = names
        self._now_us = now_us

    async def run(self) -> None:
        """Until cancelled, one question an interval."""
        assert self._interval_s is not None
        while True:
            began_s = time.monotonic()
            await self.sweep()
            await asyncio.sleep(max(0.0, self._interval_s - (time.monotonic() - began_s)))

    async def sweep(self) -> int | None:
        """Ask once; the number of messages, None where nothing answered. One beat, with the reason."""
        began_s, messages, ranks, size, answered = time.monotonic(), 0, 0, 0, False
        troubles: list[tuple[Address, str]] = []
        for address in self._target.addresses:
            raw = b""
            try:
                raw = await self._ask(address)
                size += len(raw)
                report = await asyncio.to_thread(read_answer, raw)
                await self._name(report)
                messages, ranks, answered = self.publish(report, address.host), known(report), True
            except OSError as why:
                troubles.append((address, why_not(why)))
                continue
            except ReportError as why:
                troubles.append((address, str(why)))
                self._outlet.reject(f"nccl-ras:{address}", raw, f"{address}: {why}")
                continue
            except Exception as why:  # noqa: BLE001 (other jobs, and the next question, go on)
                troubles.append((address, defect(f"nccl-ras:{address}", why)))
                self._outlet.reject(f"nccl-ras:{address}", raw, troubles[-1][1])
                continue
            break
        self._outlet.beat(
            Beat(
                cluster=self._cluster,
                ts_us=self._now_us(),
                collector=self._collector,
                source="nccl-ras",
                target=self._target.name,
                subject=self._target.job,
                ok=answered,
                seconds=round(time.monotonic() - began_s, 6),
                messages=messages,
                samples=ranks,
                bytes=size,
                interval_s=self._interval_s,
                error=_all(troubles) or None,
            )
        )
        return messages if answered else None

    async def _name(self, report: Report) -> None:
        if self._names is None:
            return
        ranks = [rank for comm in report.comms for rank in comm.ranks.values() if rank.host is not None]
        await self._names.learn({rank.host for rank in ranks if rank.host is not None})
        for rank in ranks:
            rank.host = self._names.of(rank.host) if rank.host is not None else None

    def take(self, raw: bytes, node: str) -> int:
        """Publish one answer that came otherwise; the number of messages. Raises `ReportError`."""
        return self.publish(read_answer(raw), node)

    def publish(self, report: Report, node: str) -> int:
        """The windows of a report; their number."""
        count = 0
        for window in windows(report, cluster=self._cluster, job=self._target.job, node=node, ts_us=self._now_us()):
            self._outlet.publish(NCCL_WINDOWS, window)
            count += 1
        return count


def _all(troubles: list[tuple[Address, str]]) -> str:
    """One address is the beat's own target and needs no name."""
    return "; ".join(f"{address}: {why}" if len(troubles) > 1 else why for address, why in troubles)


def known(report: Report) -> int:
    """Ranks that the report names, once a communicator."""
    return sum(len(comm.ranks) for comm in report.comms)
