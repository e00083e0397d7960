"""One switch for as long as the process lives: connect, subscribe, publish a scrape a round, connect again."""

import asyncio
import random
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import grpc
import grpc.aio

from collectors.contract.beat import Beat
from collectors.contract.fabric import PortScrape
from collectors.contract.topics import FABRIC_LINKS, FABRIC_SCRAPES
from collectors.defect import defect
from collectors.gnmi.channel import dial
from collectors.gnmi.decoder import Decoder
from collectors.gnmi.intake import take
from collectors.gnmi.neighbours import Neighbours
from collectors.gnmi.patience import Backoff, Patience
from collectors.gnmi.presets import Mode
from collectors.gnmi.request import requests
from collectors.gnmi.session import Session
from collectors.gnmi.target import Target
from collectors.source import Outlet

NEXT_MODE: dict[Mode, Mode] = {"STREAM": "POLL", "POLL": "ONCE", "ONCE": "STREAM"}
"""What is tried after a switch refused a mode."""
_MANY_ADDRESSES = re.compile(r"^failed to connect to all addresses; last error: \w+: (?:ipv[46]:\S+: )?")
"""What gRPC says before what went wrong; a switch has one."""
_REFUSALS = (grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.INVALID_ARGUMENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reporting:
    """What every stream of the process shares."""

    outlet: Outlet
    collector: str
    cluster: str
    interval_s: float
    keep_ignored: bool = False
    backoff: Backoff = field(default_factory=Backoff)


class Stream:
    """One switch. `run` reads; `tick`, called several times an interval, judges by the clock."""

    def __init__(
        self,
        target: Target,
        reporting: Reporting,
        *,
        mode: Mode | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.target = target
        self.first = asyncio.Event()
        """Set with the first scrape."""
        self.error: str | None = None
        self._defect: str | None = None
        """In a response of the round that is on its way."""
        self.mode: Mode = mode or target.preset.mode
        self._reporting = reporting
        self._clock = clock
        self._patience = Patience(target.preset, reporting.interval_s)
        self._neighbours = Neighbours()
        self._decoder: Decoder | None = None
        self._session: Session | None = None
        self._sides: dict[str, str] = {}
        self._heard = False
        self._bytes = 0
        """Of responses since the last beat."""
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
            self.error = f"{why.code().name}: {_MANY_ADDRESSES.sub('', why.details() or '')}"[:500]
            if why.code() in _REFUSALS and not self._heard:
                refused, self.mode = self.mode, NEXT_MODE[self.mode]
                self.error += f" (asked as {refused}; {self.mode} is next)"
        except TimeoutError as why:
            self.error = str(why)
        except Exception as why:  # noqa: BLE001 (other switches go on, and this one is connected to anew)
            self.error = defect(f"gnmi:{self.target.address}", why)
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
        self._heard = False
        self._sides.clear()
        self._last_message = self._clock()
        async with dial(self.target) as channel:
            self._session = Session(
                channel,
                self.target.access,
                requests(preset, reporting.interval_s, self.mode),
                take=self._take,
                round_ends=self._round_ends,
                side_failed=self._side_failed,
                interval_s=reporting.interval_s,
            )
            try:
                await self._session.run(self.mode)
            finally:
                cut_off, self._session = self._session.cut_off, None
        if cut_off:
            raise TimeoutError(f"silent for {self._patience.silence_s(self._heard):g} s")

    def tick(self, held_up_s: float = 0.0) -> None:
        """End a round that is in, a stream that is silent, and say it when nothing came.

        `held_up_s` since the last tick this process could not read.
        """
        try:
            self._judge(held_up_s)
        except Exception as why:  # noqa: BLE001 (one clock judges all switches)
            self.error = defect(f"gnmi:{self.target.address}", why)
            self._beat_failure()

    def _judge(self, held_up_s: float) -> None:
        self._last_message += held_up_s
        now, decoder = self._clock(), self._decoder
        interval_s, patience = self._reporting.interval_s, self._patience
        if self._session is not None and decoder is not None:
            idle, age = now - self._last_message, now - self._last_cut
            if self.mode == "STREAM":
                due = not decoder.synced or age >= 0.9 * interval_s
                if decoder.samples and idle >= patience.quiet_s(decoder.synced) and due:
                    self._publish(decoder.cut(time.time_ns() // 1000))
                elif patience.only_changes and decoder.synced and age >= interval_s:
                    self._publish(decoder.cut(time.time_ns() // 1000, standing=True))
            if idle > patience.silence_s(self._heard):
                self._session.end()
        if now - self._last_beat > 1.5 * interval_s:
            self._beat_failure()

    def _take(self, raw: bytes, side: bool) -> None:
        decoder = self._decoder
        if decoder is None:
            return
        self._bytes += len(raw)
        now = self._clock()
        if not side:
            self._last_message, self._heard = now, True
        if decoder.samples == 0:
            self._round_began = now
        try:
            scrape, error = take(decoder, raw, time.time_ns() // 1000, reject=self._reject, side=side)
            self.error = error or self.error
            self._publish(scrape)
        except Exception as why:  # noqa: BLE001 (the responses after this one are read)
            self._defect = defect(f"gnmi:{self.target.address}", why)
            self._reject(raw, self._defect)

    def _reject(self, raw: bytes, why: str) -> None:
        self._reporting.outlet.reject(f"gnmi:{self.target.address}", raw, why)

    def _round_ends(self, begins: bool) -> None:
        """Of POLL and ONCE: before a round its neighbours are heard anew; after it all is cut that came."""
        if begins:
            self._neighbours.clear()
        elif self._decoder is not None and self._decoder.samples:
            self._publish(self._decoder.cut(time.time_ns() // 1000))

    def _side_failed(self, target: str, why: Any) -> None:
        if why is None:
            self._sides.pop(target, None)
        else:
            self._sides[target] = f"{why.code().name}: {why.details()}"

    def _publish(self, scrape: PortScrape | None) -> None:
        decoder, reporting = self._decoder, self._reporting
        if scrape is None or decoder is None:
            return
        now = self._clock()
        reporting.outlet.publish(FABRIC_SCRAPES, scrape)
        for link in decoder.links():
            reporting.outlet.publish(FABRIC_LINKS, link)
        for target, why in self._sides.items():
            decoder.note(target, why)
        broken, self._defect = self._defect, None
        self.error = broken
        self._beat(broken is None, now - self._round_began, decoder.taken, 1)
        self._last_cut, self._attempt, self.error = now, 0, None
        self.first.set()

    def _beat_failure(self) -> None:
        self.error = self._defect or self.error
        self._defect = None
        self._beat(False, 0.0, 0, 0)

    def _beat(self, ok: bool, seconds: float, samples: int, messages: int) -> None:
        self._last_beat = self._clock()
        size, self._bytes = self._bytes, 0
        waited = self._last_beat - self._last_cut
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
                messages=messages,
                samples=samples,
                bytes=size,
                interval_s=self._reporting.interval_s,
                error=None if ok else self.error or f"nothing came for {waited:.1f} s",
            )
        )
