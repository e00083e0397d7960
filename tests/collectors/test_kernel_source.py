"""The kernel source: the ring buffer, files that grow, and where a restart goes on."""

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from collectors.contract.kafka import kafka_settings
from collectors.contract.topics import KERNEL_EVENTS
from collectors.kernel import source
from collectors.kernel.gpus import GpuMap, checked_map, read_gpus
from collectors.kernel.intake import Intake
from collectors.kernel.kmsg import KmsgGap, KmsgReader, KmsgRecord, read_record, steady_boot_us
from collectors.kernel.log import KernelLog
from collectors.source import SourceError
from tests.collectors.list_outlet import ListOutlet

XID = "NVRM: Xid (PCI:0000:65:00): {}, pid=7, name=python, x"
UUID = "GPU-00000000-0000-4000-8000-000000000004"


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("LOCKSTEP_STATE", str(tmp_path / "state"))
    kafka_settings.cache_clear()
    yield tmp_path
    kafka_settings.cache_clear()


def options(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--node")
    parser.add_argument("--interval", type=float, default=0.01)
    source.add_arguments(parser)
    return parser.parse_args(words)


def codes(outlet: ListOutlet) -> list[int | None]:
    return [event.code for event in outlet.of(KERNEL_EVENTS)]


def test_a_file_is_read_once(state: Path) -> None:
    file = state / "kern.log"
    file.write_text(XID.format(13) + "\nnoise\n" + XID.format(31))
    outlet = ListOutlet()
    assert source.once(options("--file", str(file), "--node", "n1"), outlet) == 2
    assert [(e.node, e.code) for e in outlet.of(KERNEL_EVENTS)] == [("n1", 13), ("n1", 31)]


def test_a_bad_line_is_rejected_with_its_number(state: Path) -> None:
    file = state / "kern.log"
    file.write_bytes(b"\xff\xfe\nNVRM: Xid (PCI:0000\n")
    outlet = ListOutlet()
    assert source.once(options("--file", str(file)), outlet) == 0
    assert outlet.rejected == [(f"kernel:{file}", b"NVRM: Xid (PCI:0000\n", "line 2: an Xid line in no known form")]


def test_a_missing_file_is_said(state: Path) -> None:
    with pytest.raises(SourceError, match=r"no\.log: No such file"):
        source.once(options("--file", str(state / "no.log")), ListOutlet())


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not true():
            await asyncio.sleep(0.01)


async def while_serving(args: argparse.Namespace, outlet: ListOutlet, story: Callable[[], Awaitable[None]]) -> None:
    serving = asyncio.create_task(source.serve(args, outlet))
    try:
        await story()
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


def test_a_log_is_followed_over_rotation_and_restart(state: Path) -> None:
    file, outlet = state / "kern.log", ListOutlet()
    args = options("--file", str(file), "--follow")

    async def first() -> None:
        await until(lambda: bool(outlet.beats))
        file.write_text(XID.format(1) + "\n" + XID.format(2)[:20])
        await until(lambda: codes(outlet) == [1])
        with file.open("a") as more:
            more.write(XID.format(2)[20:] + "\n")
        await until(lambda: codes(outlet) == [1, 2])
        with file.open("a") as more:
            more.write(XID.format(3) + "\n")
        file.rename(state / "kern.log.1")
        file.write_text(XID.format(4) + "\n")
        await until(lambda: codes(outlet) == [1, 2, 3, 4])

    async def second() -> None:
        with file.open("a") as more:
            more.write(XID.format(5) + "\n")
        await until(lambda: codes(outlet) == [1, 2, 3, 4, 5])

    asyncio.run(while_serving(args, outlet, first))
    asyncio.run(while_serving(args, outlet, second))
    assert outlet.beats[0].error == f"no file {file}"
    assert sum(beat.messages for beat in outlet.beats) == 5
    assert sum(beat.bytes for beat in outlet.beats) == sum(len(XID.format(n)) + 1 for n in range(1, 6))


def test_a_file_that_is_not_followed_ends(state: Path) -> None:
    file, outlet = state / "kern.log", ListOutlet()
    file.write_text(XID.format(1) + "\n")
    asyncio.run(source.serve(options("--file", str(file)), outlet))
    assert codes(outlet) == [1]
    assert [(beat.messages, beat.samples, beat.ok) for beat in outlet.beats] == [(1, 1, True)]
    assert outlet.beats[0].bytes == file.stat().st_size


RECORD = b"3,%d,5000,-;NVRM: Xid (PCI:0000:65:00): 13\n SUBSYSTEM=pci\n DEVICE=+pci:0000:65:00.0\n"


def test_a_kmsg_record_is_read_without_its_dictionary() -> None:
    assert read_record(RECORD % 7) == KmsgRecord(7, 5000, ["NVRM: Xid (PCI:0000:65:00): 13"])


def test_a_kmsg_record_of_several_lines_comes_as_several() -> None:
    record = read_record(rb"4,1,9,-,caller=T12;NVRM: The NVIDIA GPU 0000:b3:00.0\x0aNVRM: fallen \xc3\xa4")
    assert record == KmsgRecord(1, 9, ["NVRM: The NVIDIA GPU 0000:b3:00.0", "NVRM: fallen ä"])


def buffer(*answers: bytes | Exception) -> Callable[[], bytes]:
    left = list(answers)

    def read() -> bytes:
        if not left:
            raise BlockingIOError
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return read


def test_records_that_were_overwritten_are_a_gap() -> None:
    reader = KmsgReader(buffer(RECORD % 7, BrokenPipeError(), RECORD % 11), last=6)
    assert list(reader.available()) == [
        read_record(RECORD % 7),
        KmsgGap(3, 5000),
        read_record(RECORD % 11),
    ]


def test_a_restart_goes_on_behind_the_last_record() -> None:
    reader = KmsgReader(buffer(RECORD % 6, RECORD % 7, RECORD % 8), last=7)
    assert list(reader.available()) == [read_record(RECORD % 8)]


def test_the_first_start_takes_the_buffer_as_it_is() -> None:
    assert list(KmsgReader(buffer(RECORD % 900)).available()) == [read_record(RECORD % 900)]


def test_the_time_of_boot_is_kept_until_the_clock_is_set() -> None:
    assert [steady_boot_us(None, 7), steady_boot_us(7, 9), steady_boot_us(7, 200_000)] == [7, 7, 200_000]


def test_kmsg_records_become_events_at_their_time() -> None:
    outlet = ListOutlet()
    log = KernelLog(cluster="c", this_node="n", now_us=lambda: 9, boot_us=lambda: 0)
    intake = Intake(log, outlet, "/dev/kmsg", "c", "n")
    for record in KmsgReader(buffer(RECORD % 1, b"garbage", RECORD % 4)).available():
        intake.record(record, 1_000_000)
    assert [(e.ts_us, e.kind, e.code) for e in outlet.of(KERNEL_EVENTS)] == [
        (1_005_000, "xid", 13),
        (1_005_000, "gap", None),
        (1_005_000, "xid", 13),
    ]
    assert outlet.rejected == [("kernel:/dev/kmsg", b"garbage", "not a kmsg record")]
    intake.beat(0.0, 1.0)
    assert outlet.beats[0].bytes == 2 * len(RECORD % 1) + len(b"garbage")


def test_the_drivers_folder_names_the_gpus(tmp_path: Path) -> None:
    (tmp_path / "0000:9b:00.0").mkdir()
    (tmp_path / "0000:9b:00.0" / "information").write_text(
        f"Model: \t\t NVIDIA H100\nIRQ:   \t\t 16\nGPU UUID: \t {UUID}\nBus Location: \t 0000:9b:00.0\n"
    )
    assert read_gpus(tmp_path) == {"0000:9b:00": UUID}


def test_nvidia_smi_names_the_gpus(tmp_path: Path) -> None:
    file = tmp_path / "gpus.csv"
    file.write_text(f"pci.bus_id, uuid\n00000000:9B:00.0, {UUID}\n")
    assert read_gpus(file) == {"0000:9b:00": UUID}


def test_a_map_is_read_again_for_a_gpu_that_came_later(tmp_path: Path) -> None:
    file, now = tmp_path / "gpus.csv", [0]
    found = GpuMap(file, lambda: now[0])
    assert found("0000:9b:00") is None
    file.write_text(f"0000:9b:00.0 {UUID}\n")
    assert found("0000:9b:00") is None
    now[0] = 10_000_000
    assert found("0000:9b:00") == UUID


def test_a_map_without_a_gpu_is_a_mistake(tmp_path: Path) -> None:
    file = tmp_path / "gpus.csv"
    file.write_text("index, name\n0, H100\n")
    with pytest.raises(SourceError, match="no line with a PCI address"):
        checked_map(file, lambda: 0)


JOURNAL = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/asked"
echo "2026-01-01T00:00:01.000001+0000 gpu-7 kernel: NVRM: Xid (PCI:0000:65:00): 13, x"
case "$*" in *--follow*) ;; *) exit 0 ;; esac
echo "2026-01-01T00:00:02.000002+0000 gpu-7 kernel: NVRM: Xid (PCI:0000:65:00): 31, x"
case "$*" in *--since*) echo "2026-01-01T00:00:03.000003+0000 gpu-7 kernel: NVRM: Xid (PCI:0000:65:00): 45, x" ;; esac
exec sleep 60
"""


@pytest.fixture
def journal(state: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = state / "bin"
    folder.mkdir()
    (folder / "journalctl").write_text(JOURNAL)
    (folder / "journalctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def test_the_journal_is_read_once(journal: Path) -> None:
    outlet = ListOutlet()
    assert source.once(options("--from", "journal"), outlet) == 1
    assert [(e.node, e.code, e.ts_us) for e in outlet.of(KERNEL_EVENTS)] == [("gpu-7", 13, 1_767_225_601_000_001)]
    assert (journal / "asked").read_text() == "--dmesg --no-pager --output=short-iso-precise\n"


def test_the_journal_is_followed_from_the_last_event(journal: Path) -> None:
    first, second = ListOutlet(), ListOutlet()
    args = options("--from", "journal")

    asyncio.run(while_serving(args, first, lambda: until(lambda: codes(first) == [13, 31])))
    asyncio.run(while_serving(args, second, lambda: until(lambda: codes(second) == [45])))
    assert (journal / "asked").read_text().splitlines() == [
        "--dmesg --no-pager --output=short-iso-precise --follow --lines=all",
        "--dmesg --no-pager --output=short-iso-precise --follow --since=@1767225602",
    ]


def test_a_journal_that_ends_says_why(journal: Path) -> None:
    (journal / "journalctl").write_text("#!/bin/sh\necho 'No journal files were found.' >&2\nexit 1\n")
    with pytest.raises(SourceError, match="No journal files were found"):
        asyncio.run(source.serve(options("--from", "journal"), ListOutlet()))
    with pytest.raises(SourceError, match="No journal files were found"):
        source.once(options("--from", "journal"), ListOutlet())


def test_a_check_counts_what_a_log_holds_and_says_what_names_its_gpus(state: Path) -> None:
    file = state / "kern.log"
    file.write_text(
        "2026-01-02T10:00:00+00:00 n kernel: NVRM: Xid (PCI:0000:18:00): 94, pid=1, Contained\n"
        "2026-01-02T10:00:01+00:00 n kernel: NVRM: Xid (PCI:0000\n"
    )
    sights = list(source.check(options("--file", str(file))))
    assert [(sight.ok, sight.sees, sight.lacks) for sight in sights] == [
        (True, "1 xid; 1 lines in no known form", ""),
        (False, "1 xid; 1 lines in no known form", "the GPU's UUID in 1 events"),
    ]
    (absent,) = source.check(options("--file", str(state / "none")))
    assert (absent.ok, "No such file" in absent.lacks) == (False, True)


def test_a_stamp_without_a_zone_is_in_the_named_one(state: Path) -> None:
    file = state / "messages"
    file.write_text("[Fri Jan  2 10:00:00 2026] NVRM: Xid (PCI:0000:18:00): 94, pid=1, Contained\n")
    outlet = ListOutlet()
    source.once(options("--file", str(file), "--zone", "Asia/Tokyo"), outlet)
    (event,) = outlet.of(KERNEL_EVENTS)
    assert event.ts_us == 1767315600000000


def test_a_zone_that_is_none_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options("--zone", "Mars/Olympus")
    assert "'Mars/Olympus' is no time zone" in capsys.readouterr().err
