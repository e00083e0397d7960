"""The past of every GPU's memory as detectors are told it at their start, beside DuckDB merely reading those columns.

By default 512 GPUs x 28 days x one row in 2 minutes: 10.3 million rows; `--gpus 4096 --interval 60` takes 165 million.
One GPU in twenty corrects errors, in a burst an evening: that few carry all of them (arXiv 2508.03513).
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import timedelta
from multiprocessing import get_context
from pathlib import Path

from warehouse import connect
from warehouse.opening import Connection
from warehouse.pasts import DAY_US, node_pasts
from warehouse.place import place_of
from warehouse.settings import WarehouseSettings
from warehouse.transaction import transact

FIRST_DAY = 20_600
"""Since 1970."""
FLEET_ROWS_A_DAY = 4096 * 86_400 // 10
"""4,096 GPUs, a scrape in 10 s."""
FILL = """
    insert into gpu_scrapes by name
    select
        'default' as cluster, 'node-' || (gpu // 8) as node, make_timestamptz(t * 1000000) as ts,
        'dcgm-exporter' as source, 'GPU-' || md5(gpu::VARCHAR) as gpu_uuid, (gpu % 8)::INTEGER as gpu_index,
        case when gpu % 20 = 0 then 15 * greatest(0, (t % 86400) // 60 - 1300) else 0 end as ecc_sbe_volatile,
        case when gpu % 20 = 0 then 2100 * (t // 86400) + 15 * greatest(0, (t % 86400) // 60 - 1300) else 7 end
            as ecc_sbe_aggregate,
        0 as row_remap_correctable
    from (select gpu, 'GPU-' || md5(gpu::VARCHAR) as name from range($gpus::BIGINT) as fleet(gpu) order by name),
        range($begin::BIGINT, $begin::BIGINT + 86400, $interval::BIGINT) as scrapes(t)
"""
FLOOR = """
    select
        max(gpu_uuid), max(node), max(ts), max(ecc_sbe_volatile), max(ecc_sbe_aggregate), max(row_remap_correctable)
    from gpu_scrapes
"""


def fill(connection: Connection, settings: WarehouseSettings, gpus: int, day: int, interval: int) -> None:
    """One day as a merge leaves it: a file an hour, sorted by GPU."""
    bound = {"gpus": gpus, "begin": (FIRST_DAY + day) * 86_400, "interval": interval}
    transact(connection, lambda lake: lake.execute(FILL, bound), place=place_of(settings))


def read(folder: str, days: int) -> tuple[float, float, float, int, int, float]:
    """Floor and pasts in CPU-seconds, wall seconds of the pasts, nodes, event-days, peak megabytes of the process."""
    with connect(settings=WarehouseSettings(state=folder)) as lake:
        began = time.process_time()
        lake.execute(FLOOR).fetchall()
        floor = time.process_time() - began
        began, wall = time.process_time(), time.monotonic()
        pasts = node_pasts(lake, (FIRST_DAY + days) * DAY_US, days)
        spent, wall = time.process_time() - began, time.monotonic() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return floor, spent, wall, len(pasts), round(pasts[0].fleet_event_days), peak


def main(argv: Sequence[str] = ()) -> None:
    """Fill, then read in a process of its own, whose memory is told."""
    parser = argparse.ArgumentParser(prog="pasts", description=__doc__)
    parser.add_argument("--gpus", type=int, default=512)
    parser.add_argument("--days", type=int, default=28)
    parser.add_argument("--interval", type=int, default=120, help="seconds (default %(default)s)")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        settings = WarehouseSettings(state=folder)
        with connect(read_only=False, settings=settings) as lake:
            for day in range(args.days):
                fill(lake, settings, args.gpus, day, args.interval)
            (rows,) = lake.execute("select count(*) from gpu_scrapes").fetchone() or (0,)
        size = sum(path.stat().st_size for path in Path(folder).rglob("*.parquet"))
        print(f"{args.gpus} GPUs x {args.days} days x {args.interval} s: {rows:,} rows, {size / 1e6:.0f} MB")
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            floor, spent, wall, nodes, event_days, peak = pool.submit(read, folder, args.days).result()
    print(f"floor: the columns read once, {floor:.2f} CPU-s, {rows / floor / 1e6:.1f} M rows a CPU-s")
    rate = rows / spent
    print(
        f"pasts: {nodes} nodes, {event_days} event-days, {spent:.2f} CPU-s ({wall:.1f} s), {spent / floor:.1f} x floor"
    )
    print(f"       {rate / 1e6:.1f} M rows a CPU-s, peak {peak:.0f} MB")
    whole = FLEET_ROWS_A_DAY * args.days
    fleet = timedelta(seconds=round(whole / rate))
    print(f"       4,096 GPUs at 10 s, {args.days} days, {whole / 1e6:,.0f} M rows: {fleet} of a core")


if __name__ == "__main__":
    main()
