"""What a job's folder of Inspector files has, and what it lacks, from the end of each file."""

import time
from collections.abc import Iterator
from pathlib import Path

from collectors.nccl.folder import PAGES, PATTERN
from collectors.nccl.record import Lost, Record, RecordError, read_record
from collectors.source import Sight

FILES = 64
END_BYTES = 64 << 10
STALE_S = 600.0
SWITCH_ON = (
    "set NCCL_PROFILER_PLUGIN=libnccl-profiler-inspector.so, NCCL_INSPECTOR_ENABLE=1, "
    "NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS=1000000 and NCCL_INSPECTOR_DUMP_DIR={folder} in the job"
)


def look(folder: Path, now_s: float | None = None) -> Iterator[Sight]:
    """A line for the folder, and one a lack."""
    name, switch_on = str(folder), SWITCH_ON.format(folder=folder)
    if not folder.is_dir():
        yield Sight(target=name, ok=False, sees="no such folder", advice=switch_on)
        return
    files, pages = sorted(folder.glob(PATTERN)), sorted(folder.glob(PAGES))
    if not files and not pages:
        yield Sight(target=name, ok=False, sees="an empty folder", advice=switch_on)
        return
    records, lost, unread = _ends(files[:FILES])
    told = f"{len(files)} files of processes, {len(pages)} of Prometheus mode"
    yield Sight(target=name, ok=bool(records or pages) and not unread, sees=told, advice=unread)
    if not files:
        yield Sight(
            target=name,
            ok=False,
            sees=told,
            lacks="ranks and sequence numbers: which rank was late cannot be told",
            advice="NCCL_INSPECTOR_PROM_DUMP=0 writes JSON",
        )
        return
    newest_s = max(path.stat().st_mtime for path in files)
    if (now_s or time.time()) - newest_s > STALE_S:
        yield Sight(
            target=name,
            ok=False,
            sees=f"nothing new for {((now_s or time.time()) - newest_s) / 60:.0f} minutes",
            lacks="records while the job runs",
            advice="NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS=1000000: without it all is written at the end",
        )
    if lost:
        yield Sight(
            target=name,
            ok=False,
            sees=f"{lost} operations lost by the plug-in",
            lacks="them",
            advice="a shorter NCCL_INSPECTOR_DUMP_THREAD_INTERVAL_MICROSECONDS, or a longer "
            "NCCL_INSPECTOR_DUMP_COLL_RING_SIZE",
        )
    if records and not any(record.timing == "kernel_gpu" for record in records):
        yield Sight(
            target=name,
            ok=False,
            sees="times taken by the CPU",
            lacks="the GPU's own clock: waiting for the CPU counts as communication",
            advice="NCCL 2.28 and later on a GPU with kernel events; see NCCL_INSPECTOR_REQUIRE_KERNEL_TIMING",
        )


def _ends(files: list[Path]) -> tuple[list[Record], int, str]:
    """Records of the ends of the files, operations lost, and what could not be read."""
    records: list[Record] = []
    lost, unread = 0, ""
    for path in files:
        try:
            with path.open("rb") as file:
                start = max(0, path.stat().st_size - END_BYTES)
                file.seek(start)
                # The first line may be half of one, and the last as well.
                lines = file.read(END_BYTES).split(b"\n")[1 if start else 0 : -1]
        except OSError as why:
            unread = f"{path}: {why.strerror}"
            continue
        for line in lines:
            try:
                found = read_record(line) if line.strip() else None
            except RecordError as why:
                unread = f"{path}: {why}"
                continue
            if isinstance(found, Lost):
                lost += found.dropped
            elif found is not None:
                records.append(found)
    return records, lost, unread
