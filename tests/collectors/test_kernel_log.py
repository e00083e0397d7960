"""Kernel log lines as events: time, node, GPU, and what belongs to the line before."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from collectors.contract.kernel import KernelEvent
from collectors.kernel.fact import UnreadableLine
from collectors.kernel.line import LogLine, read_line
from collectors.kernel.log import KernelLog
from tests.collectors.test_kernel_messages import HOST

CAPTURE = Path(__file__).parents[3] / "shared" / "captures" / "kernel" / "dmesg_xid_119.log"
NOW = datetime(2026, 1, 2, 12, 0, 0, tzinfo=UTC)
BOOT = datetime(2026, 1, 1, 0, 0, 0, tzinfo=UTC)
XID = "NVRM: Xid (PCI:0000:65:00): 31, pid=7, name=python, Ch 00000010"


def us(when: datetime) -> int:
    return (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def log(node: str | None = None) -> KernelLog:
    return KernelLog(
        cluster="default",
        this_node="here",
        node=node,
        now_us=lambda: us(NOW),
        boot_us=lambda: us(BOOT),
        gpu_uuid={"0000:65:00": "GPU-of-the-map"}.get,
        zone=UTC,
    )


def events(*lines: str) -> list[KernelEvent]:
    reader = log()
    return [event for line in lines if (event := reader.read(line)) is not None]


LINES = {
    "2025-12-31T16:24:18.123456+0000 gpu-7 kernel: " + XID: (
        datetime(2025, 12, 31, 16, 24, 18, 123456, UTC),
        "gpu-7",
    ),
    "2025-12-31T17:24:18.000001+01:00 gpu-7 kernel: [ 12.5] " + XID: (
        datetime(2025, 12, 31, 16, 24, 18, 1, UTC),
        "gpu-7",
    ),
    "2025-12-31T16:24:18,123456+00:00 " + XID: (datetime(2025, 12, 31, 16, 24, 18, 123456, UTC), None),
    "2025-12-31T16:24:18Z gpu-7 kernel: " + XID: (datetime(2025, 12, 31, 16, 24, 18, 0, UTC), "gpu-7"),
    "[  123.456789] " + XID: (BOOT + timedelta(seconds=123, microseconds=456789), None),
    "[  123.456789][ T1234] " + XID: (BOOT + timedelta(seconds=123, microseconds=456789), None),
    "<3>[  123.456789] " + XID: (BOOT + timedelta(seconds=123, microseconds=456789), None),
    "kern  :err   : [  123.456789] " + XID: (BOOT + timedelta(seconds=123, microseconds=456789), None),
    "[Sun Feb 23 16:24:18 2025] " + XID: (datetime(2025, 2, 23, 16, 24, 18, 0, UTC), None),
    "[Sat Feb  1 16:24:18 2025] " + XID: (datetime(2025, 2, 1, 16, 24, 18, 0, UTC), None),
    "Jan  2 11:28:01 gpu-7 kernel: [ 99.000001] " + XID: (datetime(2026, 1, 2, 11, 28, 1, 0, UTC), "gpu-7"),
    "Nov 30 17:28:01 gpu-7 kernel: " + XID: (datetime(2025, 11, 30, 17, 28, 1, 0, UTC), "gpu-7"),
    "Jan  3 11:28:01 gpu-7 kernel: " + XID: (datetime(2026, 1, 3, 11, 28, 1, 0, UTC), "gpu-7"),
    "Jan  3 12:28:01 gpu-7 kernel: " + XID: (datetime(2025, 1, 3, 12, 28, 1, 0, UTC), "gpu-7"),
    "Feb 29 12:28:01 gpu-7 kernel: " + XID: (datetime(2024, 2, 29, 12, 28, 1, 0, UTC), "gpu-7"),
    XID: (None, None),
}


@pytest.mark.parametrize("raw", LINES)
def test_a_line_gives_its_time_and_host(raw: str) -> None:
    when, host = LINES[raw]
    line = read_line(raw, now_us=us(NOW), boot_us=us(BOOT), zone=UTC)
    assert line == LogLine(None if when is None else us(when), host, XID)


def test_a_time_without_a_zone_is_in_the_zone_of_the_machine() -> None:
    zone = timezone(timedelta(hours=2))
    line = read_line("[Sun Feb 23 16:24:18 2025] x", now_us=us(NOW), boot_us=us(BOOT), zone=zone)
    assert line.ts_us == us(datetime(2025, 2, 23, 14, 24, 18, tzinfo=UTC))


def test_a_date_that_is_none_is_no_time() -> None:
    line = read_line("[Sun Feb 31 16:24:18 2025] x", now_us=us(NOW), boot_us=us(BOOT), zone=UTC)
    assert line.ts_us is None


def test_a_program_that_quotes_the_kernel_is_no_event() -> None:
    assert events("Jan  2 11:28:01 gpu-7 python3[99]: " + XID) == []


def test_a_line_without_a_time_takes_the_time_it_was_read() -> None:
    assert [(e.ts_us, e.node, e.raw) for e in events(XID)] == [(us(NOW), "here", XID)]


def test_a_named_node_wins_over_the_line() -> None:
    event = log("n1").read("Jan  2 11:28:01 gpu-7 kernel: " + XID)
    assert event is not None and event.node == "n1"


def test_an_event_carries_the_gpu_of_its_address() -> None:
    assert events(XID) == [
        KernelEvent(
            ts_us=us(NOW),
            node="here",
            kind="xid",
            code=31,
            pci="0000:65:00",
            gpu_uuid="GPU-of-the-map",
            pid=7,
            process="python",
            detail="Ch 00000010",
            raw=XID,
        )
    ]


def test_the_uuid_that_the_log_names_wins_over_the_map() -> None:
    said = "GPU-00000000-0000-4000-8000-000000000004"
    found = events(f"NVRM: GPU at PCI:0000:65:00: {said}", XID)
    assert [event.gpu_uuid for event in found] == [said]


def test_a_gpu_lost_without_an_xid_is_found_over_three_lines() -> None:
    found = events(
        "[ 1.0] NVRM: The NVIDIA GPU 0000:b3:00.0",
        "[ 1.0] NVRM: (PCI ID: 10de:26b5) installed in this system has",
        "[ 1.0] NVRM: fallen off the bus and is not responding to commands.",
    )
    assert [(e.kind, e.code, e.pci) for e in found] == [("gpu_lost", None, "0000:b3:00")]


def test_the_line_behind_an_xid_79_is_the_same_fault() -> None:
    found = events(
        "[ 1.0] NVRM: Xid (PCI:0000:18:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        "[ 1.1] NVRM: GPU 0000:18:00.0: GPU has fallen off the bus.",
        "[ 1.2] NVRM: GPU 0000:19:00.0: GPU has fallen off the bus.",
        "[ 9.0] NVRM: GPU 0000:18:00.0: GPU has fallen off the bus.",
    )
    assert [(e.kind, e.pci) for e in found] == [
        ("xid", "0000:18:00"),
        ("gpu_lost", "0000:19:00"),
        ("gpu_lost", "0000:18:00"),
    ]


def test_an_unreadable_xid_is_not_dropped_quietly() -> None:
    with pytest.raises(UnreadableLine):
        log().read("[ 1.0] NVRM: Xid (PCI:0000")


@pytest.mark.captures
@pytest.mark.skipif(not CAPTURE.exists(), reason="the captures stand beside the repository and are absent")
def test_a_recorded_log_gives_each_xid_and_nothing_else() -> None:
    found = events(*CAPTURE.read_text().splitlines())
    assert [(e.kind, e.code, e.pci, e.pid, e.process) for e in found] == [
        ("xid", 119, "0000:9b:00", 2024380, "nvidia-smi"),
        ("xid", 119, "0000:9b:00", 2024380, "nvidia-smi"),
        ("xid", 119, "0000:9b:00", 2024380, "nvidia-smi"),
        ("xid", 119, "0000:9b:00", 1263500, "cache_mgr_main"),
        ("xid", 119, "0000:9b:00", 1240590, "gpud"),
    ]
    assert [e.ts_us // 1_000_000 - found[0].ts_us // 1_000_000 for e in found] == [0, 6, 12, 174, 355]
    assert {e.gpu_uuid for e in found} == {"GPU-00000000-0000-4000-8000-000000000004"}


def test_every_message_that_is_known_gets_past_the_first_look() -> None:
    for text, kind, *_ in HOST:
        assert [event.kind for event in events("2025-12-31T16:24:18Z gpu-7 kernel: " + text)] == [kind], text
