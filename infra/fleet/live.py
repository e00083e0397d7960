"""The fleet in real time: one asyncio process that speaks the protocols of the sources."""

import asyncio
import contextlib
import math
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from collectors.contract.errors import UserError
from collectors.contract.job import JobEvent
from infra.fleet import gnmi_server
from infra.fleet.calendar import Happening, KernelLine
from infra.fleet.exporter import Page
from infra.fleet.folder import Folder
from infra.fleet.gnmi_server import GnmiFleet
from infra.fleet.gnmi_switch import Switch
from infra.fleet.layout import LOSSLESS, PORT_SPEED_GBPS
from infra.fleet.scenario import Scenario
from infra.fleet.scrapes import port_columns
from infra.fleet.step import Step
from infra.fleet.trainers import Trainers
from infra.fleet.web import listen
from infra.fleet.world import World

BOOTED_BEFORE_US = 40 * 86_400 * 1_000_000
"""How long the switches have been up."""

LONGEST_PAST_US = 3_600_000_000


class StartError(UserError):
    """A start time that cannot be read."""


def start_us(when: str) -> int:
    """`now`, `+SECONDS` or Unix seconds as Unix microseconds. Raises `StartError`."""
    if when == "now":
        return now_us()
    try:
        seconds = float(when)
    except ValueError:
        seconds = math.nan
    if not math.isfinite(seconds) or abs(seconds) > 1e11:
        raise StartError(f"--start-at {when}: write `now`, `+SECONDS` or Unix seconds")
    at_us = round(seconds * 1e6) + (now_us() if when.startswith("+") else 0)
    if at_us < now_us() - LONGEST_PAST_US:
        raise StartError(f"--start-at {when}: more than an hour ago; a live fleet cannot catch up with that")
    return at_us


async def serve(live: "Live") -> None:
    """Run a live fleet until SIGTERM or SIGINT, and say where it is."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await live.run(stop, lambda path: print(f"fleet {live.world.scenario.name}: {path}", flush=True))


def now_us() -> int:
    """Unix microseconds."""
    return time.time_ns() // 1000


class Live:
    """Serves a scenario from `start_us` on until told to stop; after its last second the fleet just goes on."""

    def __init__(self, scenario: Scenario, folder: Path, host: str, start_us: int, cluster: str) -> None:
        self.world = World(scenario, start_us, cluster)
        self.folder = Folder(folder, scenario)
        self._host = host
        self._pages = {node: Page(node) for node in scenario.layout.node_names}
        self._trainers = Trainers(self.folder.socket, self.world.silent)

    async def run(self, stop: asyncio.Event, ready: Callable[[Path], None] = lambda path: None) -> None:
        """Serve; `ready` hears of `fleet.json` once everything listens. Raises `OSError` when it cannot listen."""
        world = self.world
        servers: list[asyncio.Server] = []
        switches: GnmiFleet | None = None
        try:
            exporters = {}
            for node in world.layout.node_names:
                server, port = await listen(self._host, 0, partial(self._page, node))
                servers.append(server)
                exporters[node] = f"{self._host}:{port}"
            switches = await gnmi_server.serve(self._switches(), host=self._host)
            path = self.folder.describe(world.scenario, world.start_us, exporters, switches.addresses, world.cluster)
            ready(path)
            await self._clock(stop)
        finally:
            for server in servers:
                server.close()
            if switches is not None:
                await switches.close()
            self._trainers.close()
            self.folder.close()

    async def _clock(self, stop: asyncio.Event) -> None:
        """Let the model's time follow the clock."""
        while not stop.is_set():
            pause_s = (self.world.next_us() - now_us()) / 1e6
            if pause_s > 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), pause_s)
                continue
            for happening in self.world.advance(now_us()):
                self._show(happening)
            await asyncio.sleep(0)

    def _switches(self) -> list[Switch]:
        world = self.world
        return [
            Switch(
                name=device,
                ports=world.layout.port_names(device),
                read=partial(self._counters, device),
                lossless=LOSSLESS,
                speed_gbps=round(PORT_SPEED_GBPS),
                neighbours={c.port: (c.gpu.node, f"rdma{c.gpu.index}") for c in world.layout.cables.get(device, ())}
                | {t.port: (t.far_device, t.far_port) for t in world.layout.trunks.get(device, ())},
                boot_ns=(world.start_us - BOOTED_BEFORE_US) * 1000,
            )
            for device in (*world.layout.switch_names, *world.layout.spine_names)
        ]

    def _counters(self, device: str, _: int) -> dict[str, list[int]]:
        """The switch's counters as of the model's last tick, whenever they are asked for."""
        return port_columns(self.world, device)

    def _page(self, node: str) -> bytes | None:
        if self.world.silent(node, self.world.now_us) or self.world.stalled(node, self.world.now_us):
            return None
        pairs = self.world.seen(node)
        return self._pages[node].text([slot for slot, _ in pairs], [gpu for _, gpu in pairs]).encode()

    def _show(self, happening: Happening) -> None:
        world = self.world
        if isinstance(happening, KernelLine):
            self.folder.log(happening)
        elif isinstance(happening, JobEvent):
            if happening.kind in ("placed", "ended"):
                self.folder.leave_processes(happening.job)
            self._trainers.moment(happening, world.runs[happening.job])
        elif isinstance(happening, Step):
            job = world.runs[happening.job].job
            if job is not None and job.members is happening.members:
                self.folder.inspect(job, happening, world.silent)
            self._trainers.step(happening)
