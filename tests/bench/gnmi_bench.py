"""gNMI: updates per CPU-second of the collector, and its share of a core for 64 switches x 64 ports x 40 counters.

The switches run in a process of their own. Peer, on the same stream in the same run: pygnmi, a thread a switch, in a
process of its own. Floors over the same bytes: grpc.aio that reads and throws away, and a full protobuf decode with
paths made text, which is what a typed client does.
Run: `python -m tests.bench.gnmi_bench`.
"""

import argparse
import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from collectors.contract.beat import Beat
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.gnmi import wire
from collectors.gnmi.channel import dial, subscribe
from collectors.gnmi.decoder import Decoder
from collectors.gnmi.path import read_path
from collectors.gnmi.presets import presets
from collectors.gnmi.request import requests
from collectors.gnmi.service import run
from collectors.gnmi.stream import Reporting, Stream
from collectors.gnmi.target import Access, Target
from infra.fleet.gnmi_server import serve
from infra.fleet.gnmi_switch import Bundle, Dialect, Readings, Switch

PORTS = 64
SETTLE_S = 30
PEER_SWITCHES = 8
PEER_PATHS = 3
"""Paths that pygnmi is asked for: what it reads a second does not depend on how many."""
COUNTERS = (
    *(f"port_{way}_{what}" for way in ("rx", "tx") for what in ("bytes", "packets", "ucast_packets")),
    *(f"port_{way}_{what}" for way in ("rx", "tx") for what in ("discard_packets", "error_packets")),
    *(f"pfc_{way}_frames.{p}" for way in ("rx", "tx") for p in range(8)),
    *(f"queue_{what}_packets.{q}" for what in ("tx", "drop") for q in range(7)),
)
"""40 counters: 26 on the port, 14 on its queues."""


@dataclass(frozen=True, slots=True)
class Shape:
    """One way in which switches send."""

    name: str
    dialect: Dialect
    bundle: Bundle
    switches: int


SHAPES = (
    Shape("a message a switch", "arista", "switch", 64),
    Shape("a message a port", "arista", "port", 64),
    Shape("SONiC JSON", "sonic", "switch", 64),
    Shape("a message a leaf", "arista", "leaf", 4),
)


class CountingOutlet:
    """Encodes as the real outlet does, and counts."""

    def __init__(self) -> None:
        self.scrapes = 0
        self.bytes = 0
        self.samples = 0

    def publish(self, topic: Topic[Any], message: Message) -> None:
        """Encode."""
        self.bytes += len(topic.encode(message))
        self.scrapes += 1

    async def deliver(self, messages: Sequence[tuple[Topic[Any], Message]]) -> bool:
        """As `publish`."""
        for topic, message in messages:
            self.publish(topic, message)
        return True

    def beat(self, beat: Beat) -> None:
        """Count its samples."""
        self.samples += beat.samples

    def reject(self, source: str, raw: bytes, why: str) -> None:
        """Nothing may be rejected here."""
        raise AssertionError(f"{source}: {why}: {raw[:60]!r}")


def model() -> Readings:
    """Counters that grow; loss stays at zero, as in a healthy fabric."""
    tick = time.time_ns() // 1_000_000
    return {
        name: [0 if "drop" in name or "discard" in name or "error" in name else tick + p for p in range(PORTS)]
        for name in COUNTERS
    }


async def serve_shape(shape: Shape) -> None:
    """The process of the switches; ends when its standard input closes."""
    ports = [f"Ethernet{n}/1" for n in range(1, PORTS + 1)]
    fleet = await serve(
        [
            Switch(name=f"leaf{n}", ports=ports, read=lambda _: model(), dialect=shape.dialect, bundle=shape.bundle)
            for n in range(shape.switches)
        ]
    )
    sys.stdout.write(json.dumps(fleet.addresses) + "\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    sys.stdout.write(json.dumps({"cpu_s": time.process_time()}) + "\n")
    await fleet.close()


def targets(addresses: dict[str, str], shape: Shape) -> list[Target]:
    """Every switch, in plain text."""
    preset = presets(None)["sonic" if shape.dialect == "sonic" else "arista"]
    if shape.dialect == "sonic":
        preset = type(preset)(
            preset.name, preset.encoding, tuple(type(w)(w.path, w.mode) for w in preset.subscribe[:3]), preset.target
        )
    return [
        Target(name=name, address=address, preset=preset, access=Access(insecure=True))
        for name, address in addresses.items()
    ]


@dataclass(frozen=True, slots=True)
class Ours:
    """What the collector did."""

    core: float
    """CPU seconds a round, which is a second."""
    server_core: float
    per_s: float
    per_cpu_s: float
    outlet: CountingOutlet


async def _settled(count: Callable[[], int], expected: int | None = None) -> None:
    """Wait until what piled up during the start is worked off: the pace expected, or the same pace twice."""
    last, pace = count(), expected or -1
    for _ in range(SETTLE_S):
        await asyncio.sleep(1.0)
        now = count()
        if now > last and abs((now - last) - pace) <= 0.1 * pace:
            return
        last, pace = now, expected or now - last


async def collected(wanted: list[Target], seconds: float, interval_s: float, server: int) -> Ours:
    """The whole way, from the socket to an encoded scrape. `server` is the process of the switches."""
    outlet = CountingOutlet()
    shared = Reporting(outlet=outlet, collector="gnmi@bench", cluster="bench", interval_s=interval_s)
    streams = [Stream(target, shared) for target in wanted]
    task = asyncio.create_task(run(streams, interval_s))
    await asyncio.gather(*(stream.first.wait() for stream in streams))
    await _settled(lambda: outlet.scrapes, len(wanted))
    outlet.samples = outlet.scrapes = outlet.bytes = 0
    begun, server_begun, wall = time.process_time(), _cpu_s(server), time.monotonic()
    await asyncio.sleep(seconds)
    wall = time.monotonic() - wall
    spent, served = time.process_time() - begun, _cpu_s(server) - server_begun
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    # By rounds, not by the wall: a window of three seconds holds three rounds or four.
    rounds = outlet.scrapes / len(wanted)
    return Ours(spent / rounds, served / wall, outlet.samples / rounds, outlet.samples / spent, outlet)


async def discarded(wanted: list[Target], seconds: float, interval_s: float) -> tuple[float, list[bytes]]:
    """The floor: the same bytes read by grpc.aio and thrown away. Share of a core, and one switch's bytes."""
    kept: list[bytes] = []
    heard: set[str] = set()
    count = 0

    async def read(target: Target, keep: bool) -> None:
        nonlocal count
        async with dial(target) as channel:
            call = await subscribe(channel, target.access, requests(target.preset, interval_s, "STREAM")[0].raw)
            async for raw in call:
                count += 1
                heard.add(target.name)
                if keep and len(kept) < 20_000:
                    kept.append(raw)

    tasks = [asyncio.create_task(read(target, n == 0)) for n, target in enumerate(wanted)]
    while len(heard) < len(wanted):
        await asyncio.sleep(0.1)
    await _settled(lambda: count)
    begun, wall = time.process_time(), time.monotonic()
    await asyncio.sleep(seconds)
    core = (time.process_time() - begun) / (time.monotonic() - wall)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return core, kept


def decoded(raws: list[bytes], repeat: int) -> float:
    """Updates per CPU-second of our decoder alone, scrapes included."""
    decoder = Decoder("leaf0", interval_us=1_000_000)
    again = [[later(raw, n) for raw in raws] for n in range(repeat + 2)]
    for raw in (*again.pop(0), *again.pop(0)):
        decoder.feed(raw)
    count, begun = 0, time.process_time()
    for raw in (raw for once in again for raw in once):
        before = decoder.samples
        decoder.feed(raw)
        count += decoder.samples - before if decoder.samples > before else decoder.samples
    return count / (time.process_time() - begun)


def later(raw: bytes, times: int) -> bytes:
    """The same response, so many minutes later: one that is older than the last is no new round."""
    response = wire.SubscribeResponse.FromString(raw)
    if response.WhichOneof("response") == "update":
        response.update.timestamp += times * 60_000_000_000
    return bytes(response.SerializeToString())


def typed(raws: list[bytes], repeat: int) -> float:
    """Updates per CPU-second of a full decode: every path taken apart, made text, its value picked by arm."""
    count, begun = 0, time.process_time()
    for _ in range(repeat):
        for raw in raws:
            note = wire.SubscribeResponse.FromString(raw).update
            prefix = str(read_path(note.prefix))
            row: dict[str, Any] = {}
            for update in note.update:
                arm = update.val.WhichOneof("value")
                held = getattr(update.val, arm)
                if arm == "json_ietf_val":
                    for port, fields in json.loads(held).items():
                        for name, value in fields.items():
                            row[f"{prefix}/{port}/{name}"] = int(value) if value.isdigit() else value
                else:
                    row[prefix + str(read_path(update.path))] = held
            count += len(row)
    return count / (time.process_time() - begun)


def read_by_pygnmi(preset_name: str, addresses: list[str], seconds: float) -> float:
    """Updates per CPU-second of this process, from the socket to parsed dictionaries, as pygnmi's users have them."""
    from pygnmi.client import gNMIclient

    preset = presets(None)[preset_name]
    wanted = {
        "subscription": [
            {"path": w.path, "mode": "sample", "sample_interval": 1_000_000_000} for w in preset.subscribe[:PEER_PATHS]
        ],
        "mode": "stream",
        "encoding": preset.encoding.lower(),
    }
    counts, ready = [0] * len(addresses), threading.Barrier(len(addresses) + 1)

    def read(number: int, address: str) -> None:
        host, _, port = address.rpartition(":")
        with gNMIclient(target=(host, port), username="reader", password="none", insecure=True) as client:
            stream = client.subscribe2(subscribe=wanted, target=preset.target or None)
            next(stream)
            ready.wait()
            for told in stream:
                for update in told.get("update", {}).get("update", ()):
                    held = update.get("val")
                    counts[number] += _leaves(held) if isinstance(held, dict) else 1

    for number, address in enumerate(addresses):
        threading.Thread(target=read, args=(number, address), daemon=True).start()
    ready.wait()
    time.sleep(2.0)
    begun, before = time.process_time(), sum(counts)
    time.sleep(seconds)
    return (sum(counts) - before) / (time.process_time() - begun)


def _leaves(held: dict[str, Any]) -> int:
    return sum(_leaves(inner) if isinstance(inner, dict) else 1 for inner in held.values())


async def peer(shape: Shape, addresses: list[str], seconds: float) -> float:
    """pygnmi in a process of its own, over some of the switches."""
    preset = "sonic" if shape.dialect == "sonic" else "arista"
    some = addresses[: PEER_SWITCHES if shape.bundle != "leaf" else 2]
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.bench.gnmi_bench", "--seconds", str(seconds), "--pygnmi", preset, *some),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    told, _ = await child.communicate()
    return float(told.split()[-1])


async def measure(shape: Shape, seconds: float) -> dict[str, float]:
    """One shape: ours, the floor, and decoding alone."""
    server = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.bench.gnmi_bench",
        "--serve",
        shape.name,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    if server.stdout is None or server.stdin is None:
        raise RuntimeError("no pipe to the switches")
    try:
        addresses = json.loads(await server.stdout.readline())
        wanted = targets(addresses, shape)
        ours = await collected(wanted, seconds, 1.0, server.pid)
        floor, kept = await discarded(wanted, seconds, 1.0)
        pygnmi_per_cpu_s = await peer(shape, list(addresses.values()), seconds)
    finally:
        server.stdin.close()
        await server.wait()
    return {
        "k upd/s": ours.per_s / 1e3,
        "core": ours.core,
        "k upd/CPU-s": ours.per_cpu_s / 1e3,
        "pygnmi k": pygnmi_per_cpu_s / 1e3,
        "ratio": ours.per_cpu_s / pygnmi_per_cpu_s,
        "floor core": floor,
        "server core": ours.server_core,
        "decode k": decoded(kept, 1 + 20 // len(kept)) / 1e3,
        "typed k": typed(kept, 1) / 1e3,
        "KB/scrape": ours.outlet.bytes / max(1, ours.outlet.scrapes) / 1e3,
    }


def _cpu_s(pid: int) -> float:
    """User and system seconds of a process, from /proc."""
    with open(f"/proc/{pid}/stat") as text:  # noqa: PTH123
        fields = text.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main(argv: list[str] | None = None) -> None:
    """Print one row a shape."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--pygnmi", nargs="+", help=argparse.SUPPRESS)
    args = parser.parse_args(argv or [])
    if args.pygnmi:
        preset, *addresses = args.pygnmi
        sys.stdout.write(f"{read_by_pygnmi(preset, addresses, args.seconds)}\n")
        sys.stdout.flush()
        os._exit(0)  # its threads wait for ever
    if args.serve:
        asyncio.run(serve_shape(next(s for s in SHAPES if s.name == args.serve)))
        return
    for number, shape in enumerate(SHAPES):
        got = asyncio.run(measure(shape, args.seconds))
        if number == 0:
            sys.stdout.write(f"{'shape':20}{'switches':>12}" + "".join(f"{name:>12}" for name in got) + "\n")
        shown = "".join(
            f"{value:12.2f}" if "core" in name or name == "ratio" else f"{value:12.1f}" for name, value in got.items()
        )
        sys.stdout.write(f"{shape.name:20}{shape.switches:12d}{shown}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
