"""One switch for as long as the process lives: connect, subscribe, publish a scrape a round, connect again."""

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

import grpc
import grpc.aio

from collectors.contract.beat import Beat
from collectors.contract.fabric import PortScrape
from collectors.contract.topics import FABRIC_LINKS, FABRIC_SCRAPES
from collectors.gnmi import wire
from collectors.gnmi.channel import dial, subscribe
from collectors.gnmi.decoder import Decoder, StreamError
from collectors.gnmi.neighbours import Neighbours
from collectors.gnmi.target import Target
from collectors.source import Outlet

READ_TIMEOUT_ROUNDS = 3
"""A stream that is silent for so many intervals is dead."""
CONNECT_TIMEOUT_S = 10.0
QUIET_SHARE = 0.1
"""A round is in when nothing has come for this share of the interval, at most `QUIET_S`."""
QUIET_S = 1.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits between attempts: doubled each time, and cut at random so that a fleet does not return as one."""

    first_s: float = 1.0
    longest_s: float = 60.0

    def wait_s(self, attempt: int, chance: float) -> float:
        """`attempt` counts from 0, `chance` is in [0, 1)."""
        return min(self.longest_s, self.first_s * 2.0 ** min(attempt, 16)) * (0.5 + chance / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporting:
    """What every stream of the process shares."""

    outlet: Outlet
    collector: str
    cluster: str
    interval_s: float
    keep_ignored: bool = False
    backoff: Backoff = Backoff()


class Stream:
    """One switch. `run` reads; `tick`, called several times an interval, judges by the clock."""

    def __init__(self, target: Target, reporting: Reporting, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.target = target
        self.first = asyncio.Event()
        """Set with the first scrape."""
        self.error: str | None = None
        self._reporting = reporting
        self._clock = clock
        interval_s = reporting.interval_s
        sampled = [w.interval_s or interval_s for w in target.preset.subscribe if w.mode == "SAMPLE"]
        self._fastest_s = min(sampled, default=interval_s)
        self._quiet_s = min(QUIET_S, QUIET_SHARE * interval_s)
        self._neighbours = Neighbours()
        self._decoder: Decoder | None = None
        self._call: grpc.aio.StreamStreamCall | None = None
        self._heard = False
        self._cut_off = False
        self._last_message = self._last_cut = self._last_beat = self._round_began = clock()
        self._attempt = 0

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self.attempt()
            await asyncio.sleep(self._reporting.backoff.wait_s(self._attempt, random.random()))
            self._attempt += 1

    async def attempt(self) -> None:
        """One connection, until it ends; why it ended is beaten."""
        try:
            await self.session()
            self.error = "the switch ended the stream"
        except grpc.aio.AioRpcError as why:
            self.error = f"{why.code().name}: {why.details()}"
        except TimeoutError as why:
            self.error = str(why)
        self._beat_failure()

    async def session(self) -> None:
        """One connection, until it ends. Raises `AioRpcError`, or TimeoutError when the switch is silent."""
        reporting, preset = self._reporting, self.target.preset
        self._decoder = Decoder(
            self.target.name,
            cluster=reporting.cluster,
            site=self.target.site,
            subscribed=preset.subscribed(reporting.interval_s),
            interval_us=round(reporting.interval_s * 1e6),
            keep_ignored=reporting.keep_ignored,
            neighbours=self._neighbours,
        )
        self._neighbours.clear()
        self._heard, self._cut_off = False, False
        self._last_message = self._clock()
        async with dial(self.target) as channel:
            self._call = subscribe(channel, self.target.access)
            try:
                await self._call.write(preset.request(reporting.interval_s))
                await self._read(self._call, self._decoder)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not self._cut_off or (task is not None and task.cancelling()):
                    raise
                raise TimeoutError(f"silent for {self._timeout_s():g} s") from None
            finally:
                self._call.cancel()
                self._call = None

    def tick(self, held_up_s: float = 0.0) -> None:
        """End a round that is in, a stream that is silent, and say it when nothing came.

        `held_up_s` since the last tick this process could not read.
        """
        self._last_message += held_up_s
        now, decoder = self._clock(), self._decoder
        interval_s = self._reporting.interval_s
        if self._call is not None and decoder is not None:
            idle = now - self._last_message
            quiet = self._quiet_s if decoder.synced else interval_s
            due = decoder.synced is False or now - self._last_cut >= 0.9 * interval_s
            if decoder.samples and idle >= quiet and due:
                self._publish(decoder.cut(time.time_ns() // 1000))
            if idle > self._timeout_s() and not self._cut_off:
                self._cut_off = True
                self._call.cancel()
        if now - self._last_beat > 1.5 * interval_s:
            self._beat_failure()

    async def _read(self, call: grpc.aio.StreamStreamCall, decoder: Decoder) -> None:
        source = f"gnmi:{self.target.address}"
        async for raw in call:
            self._last_message, self._heard = self._clock(), True
            if decoder.samples == 0:
                self._round_began = self._last_message
            try:
                scrape = decoder.feed(raw, time.time_ns() // 1000)
            except StreamError as why:
                self.error = str(why)
                continue
            except (wire.DecodeError, ValueError, LookupError, TypeError) as why:
                self._reporting.outlet.reject(source, raw, f"no SubscribeResponse: {why}")
                continue
            if scrape is not None:
                self._publish(scrape)

    def _publish(self, scrape: PortScrape | None) -> None:
        decoder, reporting = self._decoder, self._reporting
        if scrape is None or decoder is None:
            return
        now = self._clock()
        reporting.outlet.publish(FABRIC_SCRAPES, scrape)
        for link in decoder.links():
            reporting.outlet.publish(FABRIC_LINKS, link)
        self._beat(True, now - self._round_began, decoder.taken)
        self._last_cut, self._attempt, self.error = now, 0, None
        self.first.set()

    def _beat_failure(self) -> None:
        self._beat(False, 0.0, 0)

    def _beat(self, ok: bool, seconds: float, samples: int) -> None:
        self._last_beat = self._clock()
        waited = self._last_beat - self._last_message
        self._reporting.outlet.beat(
            Beat(
                cluster=self._reporting.cluster,
                ts_us=time.time_ns() // 1000,
                collector=self._reporting.collector,
                source="gnmi",
                target=self.target.address,
                subject=self.target.name,
                ok=ok,
                seconds=seconds,
                messages=int(ok),
                samples=samples,
                interval_s=self._reporting.interval_s,
                error=None if ok else self.error or f"nothing came for {waited:.1f} s",
            )
        )

    def _timeout_s(self) -> float:
        timeout = max(1.0, READ_TIMEOUT_ROUNDS * self._fastest_s)
        return timeout if self._heard else max(CONNECT_TIMEOUT_S, timeout)
