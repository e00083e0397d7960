"""Kernel logs in every form, from the text to the findings: one finding for one real event."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from collectors.contract.topics import KERNEL_EVENTS
from collectors.kernel.log import KernelLog
from streams.contract import Finding
from streams.detectors.xid import XidDetector
from streams.detectors.xid_limits import XidLimits
from streams.pipeline import Pipeline

BOOT_US = 1_767_225_600_000_000


def findings(lines: list[str]) -> list[Finding]:
    """What the XID detector finds in a log."""
    log = KernelLog(
        cluster="default", this_node="n1", now_us=lambda: BOOT_US + 10**12, boot_us=lambda: BOOT_US, zone=UTC
    )
    detector = XidDetector(XidLimits())
    events = [event for line in lines if (event := log.read(line)) is not None]
    return detector.step(detector.fresh(), events)[1]


def dmesg(*texts: str) -> list[str]:
    """Lines a millisecond apart, as `dmesg` prints them."""
    return [f"[{100 + n / 1000:12.6f}] {text}" for n, text in enumerate(texts)]


FORMS: list[tuple[str, tuple[str, ...], str, str]] = [
    ("oldest form", ("NVRM: Xid (0000:65:00): 62, 2023b230 20238a3a",), "xid_62", "critical"),
    ("without a process", ("NVRM: Xid (PCI:0000:65:00): 62, 2023b230",), "xid_62", "critical"),
    (
        "unknown process, and the driver's second line on the loss",
        (
            "NVRM: Xid (PCI:0000:65:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
            "NVRM: GPU 0000:65:00.0: GPU has fallen off the bus.",
        ),
        "xid_79",
        "critical",
    ),
    (
        "a loss without an Xid",
        (
            "NVRM: The NVIDIA GPU 0000:65:00.0",
            "NVRM: (PCI ID: 10de:2330) installed in this system has",
            "NVRM: fallen off the bus and is not responding to commands.",
        ),
        "gpu_lost",
        "critical",
    ),
    (
        "a MIG instance",
        ("NVRM: Xid (PCI:0000:65:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel (0x9). RST: No, D-RST: No",),
        "xid_94",
        "warning",
    ),
    (
        "a compute instance",
        ("NVRM: Xid (PCI:0000:65:00 GPU-I:05 GPU-CI:00): 43, pid=7194, name=python, Ch 00000008",),
        "application_xid_43",
        "info",
    ),
    (
        "a warp exception over many units",
        (
            *(
                f"NVRM: Xid (PCI:0000:65:00): 13, pid=9, name=ray::WorkerDict, Graphics SM Warp Exception on "
                f"(GPC 7, TPC {tpc}, SM 0): Illegal Instruction Parameter"
                for tpc in range(8)
            ),
            "NVRM: Xid (PCI:0000:65:00): 13, pid=9, name=ray::WorkerDict, Graphics Exception: ESR 0x57c730=0xc04000b",
        ),
        "application_xid_13",
        "info",
    ),
    (
        "a page fault",
        (
            "NVRM: Xid (PCI:0000:65:00): 31, pid=13332, name=a b, Ch 00000010, intr 00000000. MMU Fault: ENGINE CE2 "
            "HUBCLIENT_CE0 faulted @ 0x7f29_5b8c9000. Fault is of type FAULT_PRIV_VIOLATION ACCESS_TYPE_VIRT_READ",
        ),
        "application_xid_31",
        "info",
    ),
    (
        "a contained memory error, all its lines but the driver's wish",
        (
            "NVRM: Xid (PCI:0000:65:00): 48, pid='<unknown>', name=<unknown>, DBE (double bit error) ECC error",
            "NVRM: Xid (PCI:0000:65:00): 63, pid=1896, Row Remapper: New row marked for remapping, reset gpu to "
            "activate.",
            "NVRM: Xid (PCI:0000:65:00): 94, pid=2503421, name=python3, Ch 00000008",
            *(f"NVRM: Xid (PCI:0000:65:00): 45, pid=2503421, name=python3, Ch {n:08x}" for n in range(40)),
        ),
        "xid_48",
        "critical",
    ),
    (
        "an error of an NVLink up to Hopper",
        (
            "NVRM: Xid (PCI:0000:65:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error detected on link "
            "14(0x200000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
        ),
        "xid_74",
        "warning",
    ),
    (
        "an NVLink of Blackwell down, and its clean-up",
        (
            "NVRM: Xid (PCI:0000:65:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6 0x00000000 0x0)",
            "NVRM: Xid (PCI:0000:65:00): 45, pid=8, name=python3, Ch 00000001 caused by previous Xid 149",
        ),
        "xid_149",
        "critical",
    ),
    (
        "an NVSwitch, of whose three lines the first is the event",
        (
            "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Fatal, Link 28 sourcetrack timeout error (First)",
            "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Severity 1 Engine instance 28 Sub-engine instance 00",
            "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 24007, Data {0x10000000, 0x10008100}",
        ),
        "sxid_24007",
        "critical",
    ),
]


@pytest.mark.parametrize(("lines", "cause", "severity"), [f[1:] for f in FORMS], ids=[f[0] for f in FORMS])
def test_a_real_event_is_one_finding_whatever_its_lines(lines: tuple[str, ...], cause: str, severity: str) -> None:
    (found,) = findings(dmesg(*lines))
    assert (found.cause, found.severity) == (cause, severity)


def test_the_drivers_wish_a_second_later_changes_what_to_do() -> None:
    first, second = findings(
        dmesg(
            "NVRM: Xid (PCI:0000:65:00): 95, pid=7062, Uncontained: LTC TAG (0x2, 0x1). RST: Yes, D-RST: No",
            "NVRM: Xid (PCI:0000:65:00): 154, pid='<unknown>', name=<unknown>, GPU recovery action changed from 0x0 "
            "(None) to 0x2 (Node Reboot Required)",
        )
    )
    assert (first.state, second.state, second.cause) == ("opened", "updated", "xid_95")
    assert (first.action, second.action) == (
        "drain the GPU, reset it, return it",
        "drain the node and reboot it (XID 154 asks: node reboot)",
    )


@pytest.mark.captures
def test_a_real_log_of_a_gsp_that_hangs_is_one_fault_of_one_gpu(captures: Path) -> None:
    (log,) = sorted((captures / "kernel").iterdir())
    lines = log.read_text().splitlines()
    opened, *more = findings(lines)
    assert (opened.state, opened.cause, opened.severity) == ("opened", "xid_119", "critical")
    assert (opened.subject.kind, opened.subject.pci) == ("gpu", "0000:9b:00")
    assert opened.subject.gpu_uuid is not None
    assert datetime.fromtimestamp(opened.ts_us / 1e6, UTC).strftime("%H:%M:%S") == "16:24:18"
    assert {(f.state, f.episode_us) for f in more} <= {("updated", opened.episode_us)}
    assert len(more) <= 2
    assert {f.action for f in (opened, *more)} == {"drain the GPU, reset it, return it"}


@pytest.mark.captures
def test_a_real_log_makes_one_incident(captures: Path) -> None:
    (log,) = sorted((captures / "kernel").iterdir())
    reader = KernelLog(cluster="default", this_node="n1", now_us=lambda: BOOT_US, boot_us=lambda: BOOT_US, zone=UTC)
    pipeline, out = Pipeline(), []
    for line in log.read_text().splitlines():
        event = reader.read(line)
        if event is not None:
            out += pipeline.feed(KERNEL_EVENTS, event)
            out += pipeline.tick(event.ts_us)
    opened = [m for topic, m in out if topic.name == "incidents.v1" and getattr(m, "state", None) == "opened"]
    assert len(opened) == 1
