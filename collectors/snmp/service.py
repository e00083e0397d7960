"""All switches of one process: one socket, a sweep an interval each, and what is told of it."""

import argparse
import asyncio
import socket
import time
import zlib
from random import randrange

from collectors.contract.beat import Beat
from collectors.contract.kafka import kafka_settings
from collectors.contract.topics import FABRIC_LINKS, FABRIC_SCRAPES
from collectors.defect import defect
from collectors.snmp.agent import Agent, AgentError
from collectors.snmp.pdu import LAST_ID
from collectors.snmp.post import Address, Post, Stray
from collectors.snmp.sweep import Switch
from collectors.snmp.target import Target, targets
from collectors.source import Outlet, SourceError

AT_ONCE = 128
"""Switches read at the same time: more would overflow the socket's buffer with answers."""
LEAST_LONGEST_S, LONGEST_ROUNDS = 60.0, 4
"""A sweep is given up after so long: an agent that answers, but slower than it is asked."""


class Service:
    """Switches and what they share."""

    def __init__(self, args: argparse.Namespace, outlet: Outlet, *, once: bool = False) -> None:
        host = args.node or socket.gethostname()
        instance = f":{args.instance}" if getattr(args, "instance", None) else ""
        self._collector = f"snmp@{host}{instance}"
        self._outlet = outlet
        self._args = args
        self._cluster = kafka_settings().cluster
        self._interval_s: float | None = None if once else args.interval
        self._longest_s = max(LEAST_LONGEST_S, LONGEST_ROUNDS * args.interval)
        self._lost: frozenset[str] = frozenset()
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._post = open_post(self._reject)

    def close(self) -> None:
        """Close the sockets."""
        self._post.close()

    async def follow(self, target: Target) -> None:
        """Read one switch at its own moment of each interval, until cancelled. A sweep that is late skips turns."""
        interval_s = self._args.interval
        switch: Switch | None = None
        offset_s = zlib.crc32(target.name.encode()) / 2**32 * interval_s
        while True:
            await asyncio.sleep((offset_s - time.time()) % interval_s or interval_s)
            switch = await self.sweep(target, switch)

    async def sweep(self, target: Target, switch: Switch | None = None) -> Switch | None:
        """One sweep and its beat. Returns what was learned; None where the switch could not be found."""
        began_s = time.monotonic()
        error, samples, messages = None, 0, 0
        agent = None if switch is None else switch.agent
        before = 0 if agent is None else agent.bytes
        try:
            if switch is None:
                switch = await open_switch(self._post, self._args, target, self._interval_s, self._gate)
            elif target.name in self._lost:
                # Its name may stand for another address by now.
                switch.agent.address = await _address(target)
            agent = switch.agent
            async with asyncio.timeout(self._longest_s):
                swept = await switch.sweep()
            self._outlet.publish(FABRIC_SCRAPES, swept.scrape)
            for link in swept.links:
                self._outlet.publish(FABRIC_LINKS, link)
            error, samples, messages = swept.error, swept.samples, 1 + len(swept.links)
        except AgentError as why:
            error = str(why)
        except TimeoutError:
            error = f"its answers took longer than {self._longest_s:g} s"
        except Exception as why:  # noqa: BLE001 (what was learned may be wrong, so it is learned anew)
            error = defect(f"snmp:{target.address}", why)
            switch = None
        self._lost = self._lost - {target.name} if error is None else self._lost | {target.name}
        size = 0 if agent is None else agent.bytes - before
        self._beat(target, time.monotonic() - began_s, samples, messages, size, error)
        return switch

    def _reject(self, address: Address, raw: bytes, why: str) -> None:
        self._outlet.reject(f"snmp:{address[0]}:{address[1]}", raw, f"no SNMP message: {why}")

    def _beat(self, target: Target, seconds: float, samples: int, messages: int, size: int, error: str | None) -> None:
        self._outlet.beat(
            Beat(
                cluster=self._cluster,
                ts_us=time.time_ns() // 1000,
                collector=self._collector,
                source="snmp",
                target=target.address,
                subject=target.name,
                ok=error is None,
                seconds=seconds,
                messages=messages,
                samples=samples,
                bytes=size,
                interval_s=self._interval_s,
                error=error,
            )
        )


def open_post(stray: Stray) -> Post:
    """The sockets of a process; ids begin anywhere, so that none of a process before is taken for ours."""
    return Post(first_id=randrange(LAST_ID), stray=stray)


async def open_switch(
    post: Post,
    args: argparse.Namespace,
    target: Target,
    interval_s: float | None = None,
    gate: asyncio.Semaphore | None = None,
) -> Switch:
    """Of a target; without an interval it is read once. Raises `AgentError` where its name has no address."""
    agent = Agent(
        post,
        await _address(target),
        target.login.security(),
        timeout_s=args.timeout,
        tries=1 + args.retries,
        varbinds=args.varbinds,
    )
    return Switch(
        target,
        agent,
        cluster=kafka_settings().cluster,
        interval_us=round((interval_s or 0) * 1e6),
        keep_ignored=interval_s is None,
        gate=gate,
    )


async def serve(args: argparse.Namespace, outlet: Outlet) -> None:
    """Read every switch until cancelled. Raises `SourceError` for options that cannot be used."""
    service, found = Service(args, outlet), targets(args)
    try:
        async with asyncio.TaskGroup() as group:
            for target in found:
                group.create_task(service.follow(target), name=f"snmp {target.name}")
    finally:
        service.close()


async def snapshot(args: argparse.Namespace, outlet: Outlet) -> int:
    """One sweep of every switch. Returns how many could be read. Raises `SourceError` for none."""
    service, found = Service(args, outlet, once=True), targets(args)
    try:
        read = await asyncio.gather(*(service.sweep(target) for target in found))
    finally:
        service.close()
    if not any(switch is not None and switch.agent.heard for switch in read):
        raise SourceError("no switch answered")
    return sum(switch is not None for switch in read)


async def _address(target: Target) -> Address:
    try:
        found = await asyncio.get_running_loop().getaddrinfo(target.host, target.port, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError) as why:
        raise AgentError(f"no address of {target.host}: {getattr(why, 'strerror', None) or why}") from why
    host, port = found[0][4][:2]
    return str(host), int(port)
