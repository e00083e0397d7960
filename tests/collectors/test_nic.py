"""A host's network interfaces: statistics by ioctl and from text, names of every driver, what comes and goes."""

import argparse
import struct
from collections.abc import Callable
from ctypes import addressof, c_char, memmove
from pathlib import Path

import pytest

from collectors.contract.fabric import Link, PortScrape
from collectors.contract.topics import FABRIC_SCRAPES
from collectors.nic import source
from collectors.nic.ethtool import GSSET_INFO, GSTATS, GSTRINGS, IFREQ, SIOCETHTOOL, Ethtool, EthtoolError, Statistics
from collectors.nic.host import Nics
from collectors.nic.names import system_of
from collectors.nic.text import read_ethtool
from collectors.source import SourceError
from collectors.sources import add_common
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.rdma_tree import write

MLX5 = """NIC statistics:
     rx_packets: 10
     rx_bytes_phy: 18446744073709551615
     rx_prio3_pause: 7
     rx_prio3_pause_duration: 99
     tx_prio3_pause: 0
     rx_discards_phy: 3
     rx0_packets: 5
     tx_pause_storm_error_events: 1
"""
BNXT = """NIC statistics:
     [0]: rx_ucast_packets: 17
     rx_total_discard_pkts: 2
     rx_pfc_ena_frames_pri3: 4
     tx_pfc_ena_frames_pri3: 5
     pfc_pri3_rx_duration_us: 6
     rx_fcs_err_frames: 0
     link_down_events: 1
"""
ENA = """NIC statistics:
     tx_timeout: 0
     bw_in_allowance_exceeded: 12
     conntrack_allowance_exceeded: 3
     queue_0_tx_cnt: 88
     ena_admin_q_aborted_cmd: 0
"""
GVE = """NIC statistics:
     rx_packets: 5
     rx_dropped: 1
     tx_timeouts: 2
     interface_down_cnt: 3
     rx_posted_desc[0]: 9
     adminq_cmd_fail: 4
     adminq_report_stats_cnt: 8
"""


class Driver:
    """A driver behind the ioctl, which writes to the caller's buffers as the kernel does."""

    def __init__(self, **counters: int) -> None:
        self.counters = counters
        self.calls: list[int] = []
        self.before: Callable[[], None] = lambda: None

    def __call__(self, request: int, ifreq: bytes) -> None:
        assert request == SIOCETHTOOL
        name, address = IFREQ.unpack(ifreq)
        assert name.rstrip(b"\0") == b"eth0"
        head = (c_char * 24).from_address(address).raw
        command = struct.unpack_from("=I", head)[0]
        self.calls.append(command)
        if command == GSSET_INFO:
            mask = struct.unpack_from("=Q", head, 8)[0] if self.counters else 0
            self._write(address, struct.pack("=IIQI", command, 0, mask, len(self.counters)))
        elif command == GSTRINGS:
            names = b"".join(name.encode().ljust(32, b"\0") for name in self.counters)
            self._write(address, struct.pack("=III", command, 1, len(self.counters)) + names)
        elif command == GSTATS:
            self.before()
            values = struct.pack(f"={len(self.counters)}Q", *self.counters.values())
            self._write(address, struct.pack("=II", command, len(self.counters)) + values)

    @staticmethod
    def _write(address: int, data: bytes) -> None:
        memmove(addressof(c_char.from_address(address)), data, len(data))


def test_names_are_asked_for_once_and_values_by_one_call() -> None:
    driver = Driver(rx_bytes_phy=2**64 - 1, tx_prio3_pause=4)
    ethtool = Ethtool(driver)
    assert ethtool.read("eth0") == Statistics(("rx_bytes_phy", "tx_prio3_pause"), [2**64 - 1, 4])
    driver.counters["tx_prio3_pause"] = 5
    driver.calls.clear()
    assert ethtool.read("eth0").values == [2**64 - 1, 5]
    assert driver.calls == [GSTATS]


def test_a_list_that_grew_is_asked_for_again() -> None:
    driver = Driver(a=1)
    ethtool = Ethtool(driver)
    ethtool.read("eth0")
    driver.counters = {"b": 2, "a": 1}
    assert ethtool.read("eth0") == Statistics(("b", "a"), [2, 1])


def test_a_list_that_changes_between_names_and_values_is_not_believed() -> None:
    driver = Driver(a=1)
    driver.before = lambda: driver.counters.update({f"n{len(driver.counters)}": 0})
    with pytest.raises(EthtoolError, match="changed its list"):
        Ethtool(driver).read("eth0")


def test_a_driver_without_statistics_is_said() -> None:
    with pytest.raises(EthtoolError, match="no statistics"):
        Ethtool(Driver()).read("eth0")


def test_forgotten_names_are_asked_for_again() -> None:
    driver = Driver(a=1)
    ethtool = Ethtool(driver)
    ethtool.read("eth0")
    ethtool.forget("eth0")
    driver.counters = {"other": 1}
    assert ethtool.read("eth0").names == ("other",)


@pytest.mark.parametrize(
    ("text", "system"), [(MLX5, "ethtool_mlx5"), (BNXT, "ethtool_bnxt"), (ENA, "ethtool_ena"), (GVE, "ethtool_gve")]
)
def test_a_saved_text_tells_its_driver_by_its_names(text: str, system: str) -> None:
    values, unread = read_ethtool(text)
    assert (system_of(None, [name for name, _ in values]), unread) == (system, [])


def test_no_table_is_guessed_from_names_that_all_have() -> None:
    assert system_of(None, ["rx_bytes", "tx_bytes", "rx_packets", "tx_packets"]) is None
    assert system_of("virtio_net", ["rx_prio3_pause", "tx_prio3_pause", "rx_discards_phy"]) is None


def test_a_text_cut_in_a_number_is_not_believed() -> None:
    assert read_ethtool("NIC statistics:\n     a: 1\n     b: 2") == (
        [("a", "1")],
        [("the last line has no end: it was cut", "     b: 2")],
    )


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    add_common(parser)
    source.add_arguments(parser)
    return parser.parse_args(["--node", "n1", *words])


def saved(tmp_path: Path, text: str, *words: str) -> tuple[PortScrape, ListOutlet]:
    path = tmp_path / "enp65s0.txt"
    path.write_text(text)
    outlet = ListOutlet()
    assert source.once(parsed("--ethtool", str(path), *words), outlet) == 1
    scrape: PortScrape = outlet.of(FABRIC_SCRAPES)[0]
    return scrape, outlet


def test_mlx5_names_become_canonical_and_every_value_is_kept(tmp_path: Path) -> None:
    scrape, outlet = saved(tmp_path, MLX5, "--lossless", "3")
    assert (scrape.device, scrape.node, scrape.kind, scrape.ports[0].name) == ("n1", "n1", "nic", "enp65s0")
    assert scrape.ports[0].lossless == [3]
    assert scrape.columns == {
        "port_rx_bytes": [2**64 - 1],
        "pfc_rx_frames.3": [7],
        "pfc_rx_pause_us.3": [99],
        "pfc_tx_frames.3": [0],
        "port_rx_discard_packets": [3],
        "nic_pause_storm_error": [1],
    }
    assert scrape.named == {"rx_packets": [10], "rx0_packets": [5]}
    assert [(beat.ok, beat.samples, beat.source) for beat in outlet.beats] == [(True, 8, "nic")]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        (
            BNXT,
            {"pfc_rx_frames.3": [4], "pfc_tx_frames.3": [5], "pfc_rx_pause_us.3": [6], "port_link_down_events": [1]},
        ),
        (ENA, {"nic_bw_in_exceeded": [12], "nic_conntrack_exceeded": [3], "nic_cmd_errors": [0]}),
        (GVE, {"nic_tx_timeouts": [2], "nic_interface_downs": [3], "nic_cmd_errors": [4], "nic_rx_dropped": [1]}),
    ],
)
def test_names_of_other_drivers(tmp_path: Path, text: str, columns: dict[str, list[int]]) -> None:
    scrape, _ = saved(tmp_path, text)
    assert {name: scrape.columns[name] for name in columns} == columns
    told = [v for c in (scrape.columns, scrape.named) for row in c.values() for v in row]
    assert len(told) == text.count("\n") - 1


def test_what_is_no_output_of_ethtool_is_said(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("no stats available\n")
    outlet = ListOutlet()
    with pytest.raises(SourceError):
        source.once(parsed("--ethtool", str(path)), outlet)
    assert "ethtool -S" in (outlet.beats[0].error or "")
    assert outlet.rejected[0][2] == "not `name: value`"


def nic(root: Path, name: str, pci: str, driver: str, *, index: int, rdma: str | None = None, **more: str) -> None:
    """One interface below root/net, on a PCI device below root/devices."""
    device = root / "devices" / pci
    files = {"current_link_width": "8\n", "max_link_width": "16\n", "current_link_speed": "32.0 GT/s PCIe\n"}
    write(device, files | {"max_link_speed": "32.0 GT/s PCIe\n"})
    (root / "drivers" / driver).mkdir(parents=True, exist_ok=True)
    if not (device / "driver").exists():
        (device / "driver").symlink_to(root / "drivers" / driver)
    if rdma is not None:
        counters = {"ports/1/hw_counters/local_ack_timeout_err": "6\n", "ports/1/link_layer": "Ethernet\n"}
        write(device / "infiniband" / rdma, counters)
        (device / "infiniband" / rdma / "device").symlink_to(device)
    folder = root / "net" / name
    facts = {"type": "1\n", "address": "b8:ce:f6:00:00:01\n", "ifindex": f"{index}\n", "dev_port": "0\n"}
    state = {"speed": "400000\n", "operstate": "up\n", "carrier_down_count": "2\n", "statistics/rx_bytes": "77\n"}
    write(folder, facts | state | more)
    (folder / "device").symlink_to(device)


def nics(root: Path, statistics: Callable[[str], Statistics], **given: object) -> Nics:
    return Nics(
        node="n1",
        cluster="c",
        root=root / "net",
        statistics=statistics,
        epoch="boot:1",
        **{"gpus": lambda _: {}, **given},  # type: ignore[arg-type]
    )


def driver(interface: str) -> Statistics:
    return Statistics(("rx_bytes_phy", "rx_prio3_pause"), [9, 3])


def scrape_of(reading: Nics) -> PortScrape:
    [scrape] = [message for _, message in reading.read().messages if isinstance(message, PortScrape)]
    return scrape


def test_an_interface_has_driver_kernel_rdma_and_pcie_counters(tmp_path: Path) -> None:
    nic(tmp_path, "enp65s0", "pci0000:15/0000:16:00.0", "mlx5_core", index=4, rdma="mlx5_0")
    write(tmp_path / "net" / "lo", {"type": "772\n", "ifindex": "1\n"})
    scrape = scrape_of(nics(tmp_path, driver, lossless=(3,)))
    assert [(p.name, p.speed_gbps, p.link_layer, p.lossless, p.oper_up) for p in scrape.ports] == [
        ("enp65s0", 400.0, "ethernet", [3], True)
    ]
    assert scrape.columns == {
        "port_rx_bytes": [9],
        "pfc_rx_frames.3": [3],
        "port_link_down_events": [2],
        "pcie_link_gts": [32],
        "pcie_link_width": [8],
        "rdma_ack_timeouts": [6],
        "pcie_max_link_gts": [32],
        "pcie_max_link_width": [16],
    }
    assert scrape.named == {"driver": ["mlx5_core"], "pci": ["0000:16:00.0"], "rdma_device": ["mlx5_0"]}
    assert (scrape.epoch, scrape.port_epochs, scrape.forms["rdma_ack_timeouts"].bits) == ("boot:1", ["if:4"], 32)


def test_a_link_that_is_down_has_no_speed(tmp_path: Path) -> None:
    nic(tmp_path, "enp65s0", "pci0000:15/0000:16:00.0", "mlx5_core", index=4, speed="-1\n", operstate="down\n")
    port = scrape_of(nics(tmp_path, driver)).ports[0]
    assert (port.speed_gbps, port.oper_up) == (None, False)


def test_the_gpus_by_a_nic_are_told_under_its_name_its_adapters_and_its_address(tmp_path: Path) -> None:
    nic(tmp_path, "enp65s0", "pci0000:15/0000:15:01.0/0000:16:00.0", "mlx5_core", index=4, rdma="mlx5_0")
    gpus = {"G0": ("pci0000:15", "0000:15:01.0", "0000:17:00.0"), "G1": ("pci0000:37", "0000:37:01.0")}
    reading = nics(tmp_path, driver, gpus=lambda _: gpus)
    told = [message for _, message in reading.read().messages if isinstance(message, Link)]
    assert [(x.device, x.port, x.far_port, x.gpu_uuids) for x in told] == [
        ("n1", "enp65s0", "enp65s0", ["G0"]),
        ("n1", "mlx5_0", "enp65s0", ["G0"]),
        ("n1", "b8:ce:f6:00:00:01", "enp65s0", ["G0"]),
    ]
    assert len(reading.read().messages) == 1


def test_gpus_whose_driver_is_away_stay_where_they_were(tmp_path: Path) -> None:
    nic(tmp_path, "enp65s0", "pci0000:15/0000:15:01.0/0000:16:00.0", "mlx5_core", index=4)
    gpus = {"G0": ("pci0000:15", "0000:15:01.0", "0000:17:00.0")}
    clock = [0.0]
    reading = nics(tmp_path, driver, gpus=lambda _: dict(gpus), now_s=lambda: clock[0])
    assert len(reading.read().messages) == 3
    gpus.clear()
    clock[0] += 1000
    assert [type(message) for _, message in reading.read().messages] == [PortScrape]


def test_an_interface_that_comes_is_read_and_one_of_a_former_name_is_new(tmp_path: Path) -> None:
    nic(tmp_path, "enp65s0", "pci0000:15/0000:16:00.0", "mlx5_core", index=4)
    forgotten: list[str] = []
    reading = nics(tmp_path, driver, forget=forgotten.append)
    scrape_of(reading)
    nic(tmp_path, "enp66s0", "pci0000:15/0000:17:00.0", "mlx5_core", index=5)
    assert [p.name for p in scrape_of(reading).ports] == ["enp65s0", "enp66s0"]
    write(tmp_path / "net" / "enp65s0", {"ifindex": "9\n", "statistics/rx_bytes": "1\n"})
    assert scrape_of(reading).port_epochs == ["if:9", "if:5"]
    assert forgotten == ["enp65s0", "enp65s0", "enp66s0"]


def test_a_driver_that_fails_costs_its_own_statistics_and_is_named(tmp_path: Path) -> None:
    nic(tmp_path, "enp65s0", "pci0000:15/0000:16:00.0", "mlx5_core", index=4)
    nic(tmp_path, "enp66s0", "pci0000:15/0000:17:00.0", "mlx5_core", index=5)

    def failing(interface: str) -> Statistics:
        if interface == "enp66s0":
            raise OSError(5, "Input/output error")
        return driver(interface)

    swept = nics(tmp_path, failing).read()
    assert swept.error == "enp66s0: no driver statistics: Input/output error"
    [scrape] = [message for _, message in swept.messages if isinstance(message, PortScrape)]
    assert scrape.columns["pfc_rx_frames.3"] == [3, None]
    assert scrape.columns["port_rx_bytes"] == [9, 77]


def test_virtual_functions_lent_to_guests_are_left_out_unless_named(tmp_path: Path) -> None:
    nic(tmp_path, "enp65s0v0", "pci0000:15/0000:16:00.1", "mlx5_core", index=4)
    (tmp_path / "devices/pci0000:15/0000:16:00.1/physfn").mkdir()
    assert "no interface that hangs on a device; there are enp65s0v0" in (nics(tmp_path, driver).read().error or "")
    assert [p.name for p in scrape_of(nics(tmp_path, driver, patterns=["enp*v*"])).ports] == ["enp65s0v0"]


def test_nics_of_two_drivers_that_count_in_other_widths_are_two_messages(tmp_path: Path) -> None:
    nic(tmp_path, "enp65s0", "pci0000:15/0000:16:00.0", "mlx5_core", index=4, rdma="mlx5_0")
    nic(tmp_path, "ens1", "pci0000:15/0000:17:00.0", "bnxt_en", index=5, rdma="bnxt_re0")
    found = [m for _, m in nics(tmp_path, driver).read().messages if isinstance(m, PortScrape)]
    assert [(s.device, [p.name for p in s.ports]) for s in found] == [("n1", ["enp65s0"]), ("n1", ["ens1"])]


def test_check_says_which_pci_link_is_narrow_and_that_no_gpu_is_known(tmp_path: Path) -> None:
    nic(tmp_path, "enp65s0", "pci0000:15/0000:16:00.0", "mlx5_core", index=4)
    found = list(source.check(parsed("--sysfs", str(tmp_path / "net"))))
    told = [(sight.target, sight.ok, sight.sees, sight.lacks) for sight in found]
    assert ("enp65s0", False, "PCIe 8 lanes", "it could have 16") in told
    assert ("enp65s0", False, "driver mlx5_core", "no pause counter of a priority") in told
    assert any("no GPU is known here" in lacks for _, _, _, lacks in told)
