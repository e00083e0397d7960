"""A reader of GPUs as a source: once, or for as long as the process lives."""

import argparse
import asyncio
import socket
import time

from collectors.contract.kafka import kafka_settings
from collectors.gpu.faults import Listener
from collectors.gpu.reading import GpuReader
from collectors.gpu.sweep import AskHolders, GpuSweep, Names, nobody
from collectors.settings import this_node
from collectors.source import Outlet, SourceError

APART_S = 0.25
"""Between the two sweeps of `--once`: shares of time need two samples. NVML averages over some 100 ms at least."""


def names_of(args: argparse.Namespace, source: str, node: str | None = None) -> Names:
    """What stands in every message of this process."""
    instance = getattr(args, "instance", None)
    return Names(
        cluster=kafka_settings().cluster,
        node=node or this_node(args.node),
        collector=f"{source}@{socket.gethostname()}" + (f":{instance}" if instance else ""),
        source=source,
    )


def once(reader: GpuReader, outlet: Outlet, names: Names, timeout_s: float, holders: AskHolders = nobody) -> int:
    """One sweep, after one that is only there to compare with. Raises `SourceError`."""

    async def read() -> int:
        sweep = GpuSweep(reader, outlet, names, timeout_s=timeout_s, interval_s=None, holders=holders)
        why = await sweep.prime()
        if why is not None:
            raise SourceError(why)
        await asyncio.sleep(APART_S)
        messages = await sweep.run()
        await sweep.close()
        return messages

    return asyncio.run(read())


async def serve(
    reader: GpuReader,
    outlet: Outlet,
    names: Names,
    *,
    timeout_s: float,
    interval_s: float,
    holders: AskHolders = nobody,
) -> None:
    """Sweep each interval, on the interval's grid; faults are told as they come."""
    listener: Listener | None = None
    sweep = GpuSweep(
        reader,
        outlet,
        names,
        timeout_s=timeout_s,
        interval_s=interval_s,
        deaf=lambda: None if listener is None else listener.trouble,
        holders=holders,
    )
    due_s = time.monotonic()
    try:
        while True:
            await sweep.run()
            if listener is None:
                listener = Listener(reader, sweep.tell)
            missed = max(0.0, (time.monotonic() - due_s) // interval_s)
            due_s += interval_s * (missed + 1)
            await asyncio.sleep(due_s - time.monotonic())
    finally:
        if listener is not None:
            listener.stop()
        await sweep.close()
