"""GPU-hours accounted for in a CPU-second, beside DuckDB merely counting the rows that this reads."""

import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from infra.demo.past import batches
from infra.fleet.history import messages
from pipelines.rollup import ALL, GPU_DAYS, JOB_DAYS, MFU_HOURLY, USABLE_HOURLY, Rollup, aligned, rebuild_in, writing
from warehouse import connect
from warehouse.loader import write
from warehouse.opening import Connection
from warehouse.place import Place, place_of
from warehouse.settings import WarehouseSettings

END = datetime(2026, 3, 3, tzinfo=UTC)
DAYS, INTERVAL_S, GPUS = 1.0, 60.0, 64
FLOOR = (
    "select (select count(distinct (gpu_uuid, ts)) from gpu_scrapes where ts >= $start and ts < $end)"
    " + (select count(distinct (job, attempt, rank, step)) from rank_steps where ts >= $start and ts < $end)"
)


def cpu_s(connection: Connection, place: Place, rollup: Rollup, start: datetime, end: datetime) -> float:
    """CPU-seconds of one rebuild, all threads."""
    if rollup.column == "day":
        start, end = aligned(rollup, start), aligned(rollup, end - timedelta(seconds=1)) + timedelta(days=1)
    began = time.process_time()
    rebuild_in(connection, place, rollup, start, end, END)
    return time.process_time() - began


def main() -> None:
    """Fill a day, build it as one range and one hour of it alone."""
    start = END - timedelta(days=DAYS)
    with tempfile.TemporaryDirectory() as folder:
        settings = WarehouseSettings(state=folder)
        place = place_of(settings)
        connection = connect(read_only=False, settings=settings)
        written = write(
            connection, batches(messages(DAYS, INTERVAL_S, end_us=round(END.timestamp() * 1e6))), place=place
        )
        connection.close()
        size = sum(path.stat().st_size for path in Path(folder).rglob("*.parquet"))
        print(f"{written} messages, {GPUS} GPUs, {DAYS:g} day at {INTERVAL_S:g} s, {size / 1e6:.1f} MB")
        with writing(settings) as (connection, place):
            began = time.process_time()
            (rows,) = connection.execute(FLOOR, {"start": start, "end": END}).fetchone() or (0,)
            floor = time.process_time() - began
            whole = GPUS * 24 * DAYS
            print(f"floor: {rows} rows counted once each, {floor:.2f} CPU-s, {whole / floor:,.0f} GPU-h a CPU-s")
            for rollup in ALL:
                spent = cpu_s(connection, place, rollup, start, END)
                rate = f"{whole / spent:10,.0f} GPU-h a CPU-s"
                print(f"{rollup.table:24} {spent:6.2f} CPU-s {rate} {spent / floor:6.1f} x floor")
            hour = END - timedelta(hours=6)
            spent = sum(
                cpu_s(connection, place, rollup, hour, hour + timedelta(hours=1))
                for rollup in (GPU_DAYS, JOB_DAYS, MFU_HOURLY, USABLE_HOURLY)
            )
            print(f"one hour of it with its inventory and MFU: {spent:.2f} CPU-s")


if __name__ == "__main__":
    main()
