"""SNMP: varbinds per CPU-second of the collector, beside pysnmp over the same agent.

The agent runs in a process of its own: 64 ports, counters of ports and of 8 priorities. Ours is the whole way,
from the socket to an encoded scrape; pysnmp's is a bulk walk of the same columns into its own values, nothing more.
Floor: the same datagrams sent and received by asyncio and thrown away. Run: `python -m tests.bench.snmp_bench`.
"""

import argparse
import asyncio
import json
import sys
import time
from functools import partial
from typing import Any

from collectors.contract.topic import encode
from collectors.snmp.agent import Agent
from collectors.snmp.community import Community
from collectors.snmp.fill import fill
from collectors.snmp.layout import Layout
from collectors.snmp.login import Login
from collectors.snmp.pdu import Answer
from collectors.snmp.plan import plan
from collectors.snmp.post import Address, Post
from collectors.snmp.presets import presets
from collectors.snmp.sweep import Switch
from collectors.snmp.target import Target
from collectors.snmp.usm import User, Usm
from collectors.snmp.usm_cipher import PRIV_PROTOCOLS
from collectors.snmp.usm_keys import AUTH_PROTOCOLS
from tests.collectors.snmp_agent import Agent as Served
from tests.collectors.snmp_agent import UserAgent, serve, switch

PORTS, PRIORITIES = 64, 8
PASSWORD = "correct horse"
USER = User("bench", AUTH_PROTOCOLS["SHA-256"], PASSWORD, PRIV_PROTOCOLS["AES"], PASSWORD)
SWITCHES = 64
"""The fleet whose share of a core is told."""
INTERVAL_S = 15.0


async def serve_agents() -> None:
    """The process of the agents; ends when its standard input closes."""
    values = switch(PORTS, priorities=PRIORITIES)
    places = [(await serve(agent))[:2] for agent in (Served(values), UserAgent(values, user=USER, window_s=10**6))]
    sys.stdout.write(json.dumps(places) + "\n")
    sys.stdout.flush()
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


async def ours(address: Address, *, v3: bool, sweeps: int) -> tuple[float, float, Switch]:
    """Varbinds per CPU-second and CPU milliseconds a sweep, from the second sweep on: the first one learns."""
    post = Post(first_id=1, stray=lambda address, raw, why: None)
    security = Usm(USER) if v3 else Community(b"public")
    target = Target(
        name="leaf",
        host=address[0],
        port=address[1],
        preset=presets(None)["mellanox"],
        login=Login(community=b"public"),
    )
    reader = Switch(target, Agent(post, address, security), cluster="bench", interval_us=15_000_000)
    await reader.sweep()
    count, begun = 0, time.process_time()
    for _ in range(sweeps):
        swept = await reader.sweep()
        encode(swept.scrape)
        count += swept.samples
    spent = time.process_time() - begun
    post.close()
    return count / spent, 1000 * spent / sweeps, reader


async def hot_loop(address: Address, layout: Layout, repeat: int) -> float:
    """Varbinds per CPU-second of the decode alone, over recorded answers."""
    post = Post(first_id=1, stray=lambda address, raw, why: None)
    agent = Agent(post, address, Community(b"public"))
    answers: list[Answer] = [await agent.ask(one.request) for one in plan(layout, 100, slow=False)]
    post.close()
    count, begun = 0, time.process_time()
    for n in range(repeat):
        stamp = (n, n)
        take = partial(layout.take, stamp=stamp)
        for answer in answers:
            count += fill(answer.raw, answer.start, answer.stop, layout.cells, stamp, take)
    return count / (time.process_time() - begun)


async def floor(address: Address, layout: Layout, sweeps: int) -> float:
    """Varbinds per CPU-second when answers are thrown away."""
    post = Post(first_id=1, stray=lambda address, raw, why: None)
    security = Community(b"public")
    asked = plan(layout, 100, slow=False)
    count, begun = 0, time.process_time()
    for _ in range(sweeps):
        for one in asked:
            number = post.number()
            await post.ask(address, number, security.wrap(one.request, number), timeout_s=2.0, tries=3)
            count += one.count
    spent = time.process_time() - begun
    post.close()
    return count / spent


async def pysnmp(address: Address, columns: list[str], *, v3: bool) -> float:
    """Varbinds per CPU-second of pysnmp: GETBULK of ten columns, ten rows deep, as ours asks."""
    from pysnmp.hlapi.v3arch import asyncio as hlapi

    login: Any
    if v3:
        login = hlapi.UsmUserData(
            USER.name,
            PASSWORD,
            PASSWORD,
            authProtocol=hlapi.usmHMAC192SHA256AuthProtocol,
            privProtocol=hlapi.usmAesCfb128Protocol,
        )
    else:
        login = hlapi.CommunityData("public", mpModel=1)
    engine = hlapi.SnmpEngine()
    transport = await hlapi.UdpTransportTarget.create(address)
    count, begun = 0, 0.0
    for at in range(3):
        error, status, _, binds = await hlapi.bulk_cmd(
            engine,
            login,
            transport,
            hlapi.ContextData(),
            0,
            10,
            *(hlapi.ObjectType(hlapi.ObjectIdentity(column)) for column in columns),
            lookupMib=False,
        )
        if error or status:
            raise RuntimeError(f"pysnmp: {error or status}")
        if at == 0:
            # The first brings up the engine.
            begun = time.process_time()
        else:
            count += len(binds)
    spent = time.process_time() - begun
    engine.close_dispatcher()
    return count / spent


async def measure(sweeps: int) -> None:
    """One row a version."""
    server = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.bench.snmp_bench",
        "--serve",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    if server.stdout is None or server.stdin is None:
        raise RuntimeError("no pipe to the agents")
    try:
        places: list[Address] = [(host, port) for host, port in json.loads(await server.stdout.readline())]
        columns = [f"1.3.6.1.2.1.31.1.1.1.{n}" for n in range(6, 14)] + [f"1.3.6.1.2.1.2.2.1.{n}" for n in (13, 14)]
        head = ("version", "varbinds", "k/CPU-s", "pysnmp k", "ratio", "decode k", "floor k", "ms/sweep", "64 sw. core")
        sys.stdout.write("".join(f"{name:>12}" for name in head) + "\n")
        for name, address, v3 in (("v2c", places[0], False), ("v3 AES", places[1], True)):
            rate, spent_ms, reader = await ours(address, v3=v3, sweeps=sweeps)
            layout = reader.layout
            if layout is None:
                raise RuntimeError("nothing learned")
            peer = await pysnmp(address, columns, v3=v3)
            count = sum(one.count for one in plan(layout, 100, slow=False))
            figures = [count, rate / 1e3, peer / 1e3, rate / peer]
            figures += [await hot_loop(places[0], layout, 5) / 1e3, await floor(places[0], layout, 2) / 1e3]
            figures += [spent_ms, SWITCHES * spent_ms / 1000 / INTERVAL_S]
            sys.stdout.write(f"{name:>12}" + "".join(f"{figure:12.6g}" for figure in figures) + "\n")
            sys.stdout.flush()
    finally:
        server.stdin.close()
        await server.wait()


def main(argv: list[str] | None = None) -> None:
    """Print one row a version."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sweeps", type=int, default=10)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(argv or [])
    asyncio.run(serve_agents() if args.serve else measure(args.sweeps))


if __name__ == "__main__":
    main(sys.argv[1:])
