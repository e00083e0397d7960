"""Sources that are started again when they break, and a beat of the process that says which do not run."""

import asyncio
import socket
import time
from collections.abc import Callable, Coroutine
from typing import Any

from collectors.config_file import Configured
from collectors.contract.beat import Beat
from collectors.contract.errors import UserError
from collectors.defect import defect
from collectors.outlet_log import limited_logger
from collectors.outlet_troubles import PROCESS
from collectors.source import Outlet
from collectors.sources import load

RESTART_S = (1.0, 60.0)
"""A source that failed is started again after the first, at most the second; doubled each time."""
BEAT_S = 10.0
LOG_S = 3600.0
"""Between two lines that say the same of a source that does not run."""
HEALED_S = 10.0
"""A source that was started again and has run so long is up."""

Serve = Callable[[Configured, Outlet], Coroutine[Any, Any, None]]


def serve_source(source: Configured, outlet: Outlet) -> Coroutine[Any, Any, None]:
    """The source's own `serve`."""
    return load(source.name).serve(source.args, outlet)


class Keeper:
    """Keeps every source of a process up."""

    def __init__(
        self,
        wanted: list[Configured],
        outlet: Outlet,
        name: str,
        cluster: str,
        serve: Serve = serve_source,
        restart_s: tuple[float, float] = RESTART_S,
    ) -> None:
        """`name`: what the process is called among those of its host."""
        self._wanted = wanted
        self._outlet = outlet
        self._collector = f"collect@{socket.gethostname()}:{name}"
        self._cluster = cluster
        self._serve = serve
        self._restart_s = restart_s
        self._down: dict[int, str] = {}
        self._told = False
        self._log = limited_logger("lockstep.sources", LOG_S)

    async def run(self) -> None:
        """Until every source has ended. A lone source's own mistake is raised (`UserError`)."""
        beating = asyncio.create_task(self._beat_on())
        try:
            await asyncio.gather(*(self._keep_up(number, source) for number, source in enumerate(self._wanted)))
        finally:
            beating.cancel()

    def beat(self) -> None:
        """Which sources run."""
        self._told, down = True, list(self._down.values())
        self._outlet.beat(
            Beat(
                cluster=self._cluster,
                ts_us=time.time_ns() // 1000,
                collector=self._collector,
                source=PROCESS,
                ok=not down,
                samples=len(self._wanted) - len(down),
                interval_s=BEAT_S,
                error="; ".join(down[:5]) + (f"; and {len(down) - 5} more" if len(down) > 5 else "") or None,
            )
        )

    async def _beat_on(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            # A lone source beats for itself, and may end as soon as it has read what there is.
            if len(self._wanted) > 1 or self._told:
                self.beat()

    async def _keep_up(self, number: int, source: Configured) -> None:
        wait_s = self._restart_s[0]
        clock = asyncio.get_running_loop().time
        while True:
            began_s = clock()
            failure = await self._one_life(number, source)
            if failure is None:
                self._down.pop(number, None)
                return
            if len(self._wanted) == 1 and isinstance(failure, UserError):
                raise failure
            if clock() - began_s > self._restart_s[1]:
                wait_s = self._restart_s[0]
            plain = isinstance(failure, UserError | OSError)
            said = str(failure) if plain else defect(source.name, failure)
            self._down[number] = f"{source.name} does not run: {said}"
            self._log.error("%s does not run: %s; tried again in %.0f s", source.name, said, wait_s)
            self.beat()
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, self._restart_s[1])

    async def _one_life(self, number: int, source: Configured) -> Exception | None:
        """From its start to its end; why it broke."""
        serving = asyncio.create_task(self._start(source))
        healed = asyncio.get_running_loop().call_later(HEALED_S, self._healed, number, source)
        try:
            await asyncio.wait({serving})
        finally:
            healed.cancel()
            serving.cancel()
            await asyncio.gather(serving, return_exceptions=True)
        failure = None if serving.cancelled() else serving.exception()
        if failure is not None and not isinstance(failure, Exception):
            raise failure
        return failure

    def _healed(self, number: int, source: Configured) -> None:
        if self._down.pop(number, None) is not None:
            self._log.info("%s runs again", source.name)

    async def _start(self, source: Configured) -> None:
        # In the task: an import that fails, or options that are not understood, end the source and nothing else.
        await self._serve(source, self._outlet)
