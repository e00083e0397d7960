"""All targets read once."""

import asyncio
from collections.abc import Callable, Iterable

from collectors.dcgm.rota import STEP_S
from collectors.dcgm.sweep import Sweep
from collectors.dcgm.targets import Target

AT_ONCE = 256
"""Targets read at the same time."""


async def read_round(targets: Iterable[Target], make: Callable[[Target], Sweep]) -> int:
    """One sweep of each; the number of messages."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def read(target: Target) -> int:
        async with gate:
            sweep = make(target)
            ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            sweep.start(ended.set_result)
            while not ended.done():
                await asyncio.wait({ended}, timeout=STEP_S)
                sweep.check()
            sweep.close()
        return ended.result()

    return sum(await asyncio.gather(*map(read, targets)))
