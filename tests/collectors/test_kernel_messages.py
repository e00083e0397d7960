"""What kernel messages say."""

import pytest

from collectors.kernel.fact import Fact, UnreadableLine, pci_address
from collectors.kernel.host import HOST_READERS
from collectors.kernel.nvidia import read_sxid, read_xid, uuid_at

XIDS = {
    "NVRM: Xid (0000:03:00): 14, Channel 00000001": Fact(
        kind="xid", code=14, pci="0000:03:00", detail="Channel 00000001"
    ),
    "NVRM: Xid (PCI:0000:65:00): 31, pid=1234, Ch 00000010, intr 00000000": Fact(
        kind="xid", code=31, pci="0000:65:00", pid=1234, detail="Ch 00000010, intr 00000000"
    ),
    "NVRM: Xid (PCI:0000:65:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.": Fact(
        kind="xid", code=79, pci="0000:65:00", detail="GPU has fallen off the bus."
    ),
    "NVRM: Xid (PCI:0000:65:00): 62, pid=<unknown>, name=<unknown>, 2023b230 20238a3a": Fact(
        kind="xid", code=62, pci="0000:65:00", detail="2023b230 20238a3a"
    ),
    "NVRM: Xid (PCI:0018:01:00): 145, pid=876767, name=ray::WorkerDict, RLW_RXPIPE Nonfatal XC0 i0 Link 13 "
    "(0x0409a0c2 0x00000008 0x00000001 0x00000000 0x00100000 0x00000004)": Fact(
        kind="xid",
        code=145,
        pci="0018:01:00",
        pid=876767,
        process="ray::WorkerDict",
        detail="RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008 0x00000001 0x00000000 0x00100000 0x00000004)",
    ),
    "NVRM: Xid (PCI:0000:1b:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6 0x00000000)": Fact(
        kind="xid",
        code=149,
        pci="0000:1b:00",
        detail="NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6 0x00000000)",
    ),
    "NVRM: Xid (PCI:0000:1b:00): 13, pid=77, name=my job v1.2 x, Graphics Exception: ESR 0x57c730=0xc04000b": Fact(
        kind="xid",
        code=13,
        pci="0000:1b:00",
        pid=77,
        process="my job v1.2 x",
        detail="Graphics Exception: ESR 0x57c730=0xc04000b",
    ),
    "NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel (0x9). RST: No": Fact(
        kind="xid",
        code=94,
        pci="0000:01:00",
        mig="5",
        pid=7194,
        detail="Contained: CE User Channel (0x9). RST: No",
    ),
    "NVRM: Xid (PCI:0000:01:00 GPU-I:05 GPU-CI:00): 13, pid=12, name=python3, Ch 00000008": Fact(
        kind="xid", code=13, pci="0000:01:00", mig="5/0", pid=12, process="python3", detail="Ch 00000008"
    ),
    "NVRM: GPU at Xid (PCI:0000:0A:00): 48, pid=0, name=swapper/3, DBE": Fact(
        kind="xid", code=48, pci="0000:0a:00", pid=0, process="swapper/3", detail="DBE"
    ),
    "NVRM: Xid (PCI:0000:65:00): 63, pid=1896, Row Remapper: New row marked for remapping, reset gpu.": Fact(
        kind="xid",
        code=63,
        pci="0000:65:00",
        pid=1896,
        detail="Row Remapper: New row marked for remapping, reset gpu.",
    ),
    "NVRM: Xid (PCI:0000:65:00): 45": Fact(kind="xid", code=45, pci="0000:65:00"),
}


@pytest.mark.parametrize("text", XIDS)
def test_an_xid_of_any_era_is_read(text: str) -> None:
    assert read_xid(text) == XIDS[text]


@pytest.mark.parametrize(
    "text",
    [
        "NVRM: Xid (PCI:0000:65",
        "NVRM: Xid (PCI:0000:65:00): ",
        "NVRM: Xid (PCI:::::): 13, x",
        "NVRM: Xid (PCI:0000:65:00): 99999, x",
    ],
)
def test_a_cut_xid_line_is_said_to_be_unreadable(text: str) -> None:
    with pytest.raises(UnreadableLine):
        read_xid(text)


def test_a_driver_line_without_an_xid_is_no_event() -> None:
    assert read_xid("NVRM: GPU Board Serial Number: 1650000000000") is None


def test_the_driver_names_the_uuid_of_a_gpu() -> None:
    text = "NVRM: GPU at PCI:0000:9B:00: GPU-00000000-0000-4000-8000-000000000004"
    assert uuid_at(text) == ("0000:9b:00", "GPU-00000000-0000-4000-8000-000000000004")


SXIDS = {
    "nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error (First)": Fact(
        kind="sxid",
        code=12028,
        pci="0000:05:00",
        device="nvidia-nvswitch3",
        detail="Non-fatal, Link 32 egress non-posted PRIV error (First)",
    ),
    "nvidia-nvswitch0: SXid (PCI:0004:00:00.0): 26006, SOE HALTED": Fact(
        kind="sxid", code=26006, pci="0004:00:00", device="nvidia-nvswitch0", detail="SOE HALTED"
    ),
    "nvidia-nvswitch1: SXid (PCI:0000:aa:00.0): 24007, Severity 1 Engine instance 12 Sub-engine instance 00": None,
    "nvidia-nvswitch1: SXid (PCI:0000:aa:00.0): 24007, Data {0x10000000, 0x10008100}": None,
}


@pytest.mark.parametrize("text", SXIDS)
def test_only_the_first_line_of_an_sxid_is_an_event(text: str) -> None:
    assert read_sxid(text) == SXIDS[text]


def test_an_sxid_is_no_xid() -> None:
    assert read_xid("nvidia-nvswitch0: SXid (PCI:0004:00:00.0): 26006, SOE HALTED") is None


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0000:9b:00", "0000:9b:00"),
        ("00000000:9B:00.0", "0000:9b:00"),
        ("9b:00.0", "0000:9b:00"),
        ("0018:01:00.0", "0018:01:00"),
    ],
)
def test_a_pci_address_has_one_form(text: str, address: str) -> None:
    assert pci_address(text) == address


HOST = [
    ("mlx5_core 0000:0c:00.0 ens1np0: Link down", "link_down", "0000:0c:00", "ens1np0"),
    ("mlx5_core 0000:0c:00.0 ens1np0: Link up", "link_up", "0000:0c:00", "ens1np0"),
    ("bnxt_en 0000:01:00.0 eno1np0: NIC Link is Down", "link_down", "0000:01:00", "eno1np0"),
    (
        "bnxt_en 0000:01:00.0 eno1np0: NIC Link is Up, 100000 Mbps full duplex, Flow control: none",
        "link_up",
        "0000:01:00",
        "eno1np0",
    ),
    ("ice 0000:3b:00.0 ens1f0: NIC Link is up 100 Gbps Full Duplex", "link_up", "0000:3b:00", "ens1f0"),
    ("igb 0000:01:00.0 eno1: igb: eno1 NIC Link is Up 1000 Mbps Full Duplex", "link_up", "0000:01:00", "eno1"),
    ("tg3 0000:02:00.0 eth0: Link is down", "link_down", "0000:02:00", "eth0"),
    ("r8169 0000:03:00.0 enp3s0: Link is Up - 1Gbps/Full", "link_up", "0000:03:00", "enp3s0"),
    ("e1000e: eth1 NIC Link is Down", "link_down", None, "eth1"),
    ("mlx4_en: eth1: Link Up", "link_up", None, "eth1"),
    ("eth0: link down", "link_down", None, "eth0"),
    ("Memory cgroup out of memory: Killed process 4242 (python3) total-vm:99kB, anon-rss:1kB", "oom", None, None),
    ("Out of memory and no killable processes...", "oom", None, None),
    ("mce: [Hardware Error]: CPU 12: Machine Check Exception: 5 Bank 7: bd80000000100134", "mce", None, None),
    ("mce: [Hardware Error]: Machine check events logged", "mce", None, None),
    ("EDAC MC0: 1 CE memory read error on CPU_SrcID#0_Ha#0_Chan#1_DIMM#0", "mce", None, None),
    ("{1}[Hardware Error]: Hardware error from APEI Generic Hardware Error Source: 1", "mce", None, None),
    (
        "Memory failure: 0x12ab: Sending SIGBUS to x: Killing python:991 due to hardware memory corruption",
        "mce",
        None,
        None,
    ),
    ("pcieport 0000:80:01.0: AER: Corrected error received: 0000:81:00.0", "aer", "0000:81:00", None),
    (
        "pcieport 0000:80:01.0: AER: Multiple Uncorrected (Fatal) error received: 0000:80:01.0",
        "aer",
        "0000:80:01",
        None,
    ),
    (
        "pcieport 0000:80:01.0: AER: Correctable error message received from 0000:81:00.0",
        "aer",
        "0000:81:00",
        None,
    ),
    ("pcieport 0000:80:01.0: DPC: containment event, status:0x1f01 source:0x0000", "aer", "0000:80:01", None),
    ("nvidia 0000:81:00.0: aer_status: 0x00000001, aer_mask: 0x00000000", "aer", "0000:81:00", None),
    (
        "mlx5_core 0000:0c:00.0: poll_health:788:(pid 0): device's health compromised - reached miss count",
        "firmware",
        "0000:0c:00",
        None,
    ),
    ("bnxt_en 0000:01:00.0 eno1: Firmware heartbeat stopped", "firmware", "0000:01:00", "eno1"),
    (
        "mlx5_core 0000:0c:00.0: mlx5_pcie_event:301:(pid 8): Detected insufficient power on the PCIe slot (27W).",
        "firmware",
        "0000:0c:00",
        None,
    ),
    ("NETDEV WATCHDOG: ens1np0 (mlx5_core): transmit queue 14 timed out", "firmware", None, "ens1np0"),
    (
        "NETDEV WATCHDOG: CPU: 3: ens1np0 (mlx5_core): transmit queue 14 timed out 5015 ms",
        "firmware",
        None,
        "ens1np0",
    ),
    ("mlx5_core 0000:0c:00.1: Port module event: module 1, Cable unplugged", "transceiver", "0000:0c:00", None),
    (
        "mlx5_core 0000:0c:00.1: Port module event[error]: module 1, Cable error, High Temperature",
        "transceiver",
        "0000:0c:00",
        None,
    ),
    ("INFO: task pt_main_thread:4242 blocked for more than 122 seconds.", "hung_task", None, None),
    ("watchdog: BUG: soft lockup - CPU#3 stuck for 26s! [python3:4242]", "hung_task", None, None),
    ("nfs: server filer7 not responding, still trying", "storage", None, "filer7"),
    ("blk_update_request: I/O error, dev nvme0n1, sector 123456 op 0x0:(READ) flags 0x0", "storage", None, "nvme0n1"),
    ("critical medium error, dev sda, sector 5 op 0x0:(READ)", "storage", None, "sda"),
    ("nvme nvme2: I/O 12 QID 3 timeout, reset controller", "storage", None, "nvme2"),
    ("nvme nvme2: I/O tag 12 (100c) opcode 0x2 (I/O Cmd) QID 3 timeout, aborting", "storage", None, "nvme2"),
    ("EXT4-fs error (device dm-0): ext4_find_entry:1455: inode #2: reading directory", "storage", None, "dm-0"),
    ("XFS (nvme1n1): Metadata corruption detected at xfs_agf_verify", "storage", None, "nvme1n1"),
    ("net_ratelimit: 12 callbacks suppressed", "suppressed", None, "net_ratelimit"),
]


@pytest.mark.parametrize(("text", "kind", "pci", "device"), HOST, ids=[case[0] for case in HOST])
def test_the_host_is_read(text: str, kind: str, pci: str | None, device: str | None) -> None:
    facts = [fact for read in HOST_READERS if (fact := read(text)) is not None]
    assert [(f.kind, f.pci, f.device, f.detail) for f in facts] == [(kind, pci, device, text)]


@pytest.mark.parametrize(
    "text",
    [
        "ata1: SATA link down (SStatus 0 SControl 300)",
        "pcieport 0000:00:1c.0: pciehp: Slot(0): Link Down",
        "IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready",
        "pcieport 0000:80:01.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Receiver ID)",
        "nvidia 0000:81:00.0:    [ 0] RxErr",
        "mce: [Hardware Error]: TSC 0 ADDR 3f2a1b0 MISC 86",
        "oom_reaper: reaped process 4242 (python3), now anon-rss:0kB",
        "python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
        "mlx5_core 0000:0c:00.0: firmware version: 28.39.1002",
        "mlx5_core 0000:0b:00.0: Port module event: module 0, Cable plugged",
        "nfs: server filer7 OK",
        "EXT4-fs (dm-0): mounted filesystem with ordered data mode",
        "nvme nvme0: 16/0/0 default/read/poll queues",
        "mce: CPU supports 32 MCE banks",
        "pci 0000:00:1c.0: AER: enabled with IRQ 120",
        "docker0: port 1(veth1) entered disabled state",
    ],
)
def test_what_only_looks_like_a_fault_is_no_event(text: str) -> None:
    assert [fact for read in HOST_READERS if (fact := read(text)) is not None] == []


def test_a_killed_process_is_named() -> None:
    text = "Out of memory: Killed process 1234 (my (odd) name) total-vm:8kB, anon-rss:4kB"
    facts = [fact for read in HOST_READERS if (fact := read(text)) is not None]
    assert [(f.pid, f.process) for f in facts] == [(1234, "my (odd) name")]


def test_a_task_that_hangs_is_named() -> None:
    text = "INFO: task ray::Worker:x:4242 blocked for more than 120 seconds."
    facts = [fact for read in HOST_READERS if (fact := read(text)) is not None]
    assert [(f.pid, f.process) for f in facts] == [(4242, "ray::Worker:x")]
