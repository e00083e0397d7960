"""SONiC's COUNTERS_DB: fields per CPU-second of the collector, for 64 ports with 8 queues and 8 priority groups each.

Against a real redis-server on a Unix socket. Peers in the same run: redis-py with hiredis, a pipeline of HGETALL (all
fields, as scripts on the box read them) and one of HMGET for the same fields that we ask for; neither makes a message.
Run: `python -m tests.bench.sonic_bench`.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from collectors.contract.topics import FABRIC_SCRAPES
from collectors.fabric.grid import Grid
from collectors.fabric.series import Site
from collectors.sonic.database import Database
from collectors.sonic.learn import field_names, learn
from collectors.sonic.plan import COUNTERS, Plan, hashes, plan
from collectors.sonic.target import read_redis
from tests.collectors.sonic_redis import SonicRedis, running

PORTS, INDICES = 64, range(8)
ROUNDS = 40


async def planned(made: SonicRedis) -> tuple[Database, Grid, Plan, list[tuple[str, list[str]]]]:
    """Our plan, and which fields of which hash it asks for."""
    database, grid = Database(read_redis(made.option).address), Grid(site=Site(), interval_us=1_000_000)
    await database.connect()
    learned = await learn(database)
    wanted = hashes(learned.owned)
    names = await field_names(database, wanted)
    found = [(h, fields) for h, fields in zip(wanted, names, strict=True) if fields]
    made_plan = plan(found, learned.ports, grid, learned.polls, interval_us=1_000_000, keep_ignored=False)
    asked = [(h.key, [f for f in fields if "_IP_" not in f and not f.endswith("_last")]) for h, fields in found]
    return database, grid, made_plan, [(key, fields) for key, fields in asked if fields]


async def per_cpu_s(fields: int, once: Callable[[], Awaitable[None]]) -> float:
    """Fields per CPU-second of this process."""
    await once()
    begun = time.process_time()
    for _ in range(ROUNDS):
        await once()
    return fields * ROUNDS / (time.process_time() - begun)


async def measure(made: SonicRedis) -> list[tuple[str, int, float]]:
    """(reader, fields a sweep, fields per CPU-second)."""
    database, grid, asked, same = await planned(made)
    client = made.client(COUNTERS)
    keys = [key for key in client.keys("*:oid:*")]
    everything = sum(client.hlen(key) for key in keys)
    fields = sum(len(names) for _, names in same)

    async def read() -> None:
        asked.take(await database.ask(asked.request, asked.replies), grid, (time.time_ns(), grid.round))

    async def sweep() -> None:
        await read()
        FABRIC_SCRAPES.encode(grid.cut("leaf", time.time_ns() // 1000, cluster="bench"))

    async def hgetall() -> None:
        pipeline = client.pipeline(transaction=False)
        for key in keys:
            pipeline.hgetall(key)
        pipeline.execute()

    async def hmget() -> None:
        pipeline = client.pipeline(transaction=False)
        for key, names in same:
            pipeline.hmget(key, names)
        pipeline.execute()

    rows = [
        ("ours: answers into cells", asked.fields, await per_cpu_s(asked.fields, read)),
        ("ours: to an encoded message", asked.fields, await per_cpu_s(asked.fields, sweep)),
        ("redis-py HMGET, the same fields", fields, await per_cpu_s(fields, hmget)),
        ("redis-py HGETALL, all fields", everything, await per_cpu_s(everything, hgetall)),
    ]
    await database.close()
    return rows


def main(argv: Sequence[str] = ()) -> None:
    """Print one row a reader; the last column is milliseconds of CPU for one scrape of the switch."""
    del argv
    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as made:
        made.fill(PORTS, indices=INDICES)
        rows = asyncio.run(measure(made))
    peer = rows[-1][2]
    sys.stdout.write(f"{'reader':34}{'fields':>8}{'k/CPU-s':>10}{'ratio':>8}{'ms CPU':>9}\n")
    for name, fields, speed in rows:
        sys.stdout.write(f"{name:34}{fields:8d}{speed / 1e3:10.0f}{speed / peer:8.2f}{1e3 * fields / speed:9.2f}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
