"""A host's network interfaces: what they tell, which GPUs are by them, what comes and goes."""

import argparse
import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event

from collectors.contract.beat import Beat
from collectors.contract.fabric import Link, PortScrape
from collectors.contract.topics import FABRIC_SCRAPES
from collectors.fabric.host import NearGpus
from collectors.fabric.sweeping import Aside, reporter
from collectors.nic import source
from collectors.nic.ethtool import Statistics
from collectors.nic.host import Nics
from collectors.sources import add_common
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.rdma_tree import write


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    add_common(parser)
    source.add_arguments(parser)
    return parser.parse_args(["--node", "n1", *words])


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


def nics(
    root: Path,
    statistics: Callable[[str], Statistics],
    gpus: Mapping[str, tuple[str, ...]] | None = None,
    now_s: Callable[[], float] = lambda: 0.0,
    **given: object,
) -> Nics:
    near = NearGpus(node="n1", cluster="c", kind="nic", read=lambda _: dict(gpus or {}), now_s=now_s)
    return Nics(
        node="n1",
        cluster="c",
        root=root / "net",
        statistics=statistics,
        gpus=near,
        epoch="boot:1",
        **given,  # type: ignore[arg-type]
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
    reading = nics(tmp_path, driver)
    port = scrape_of(reading).ports[0]
    assert (port.speed_gbps, port.oper_up) == (None, False)
    net, pci = tmp_path / "net" / "enp65s0", tmp_path / "devices" / "pci0000:15" / "0000:16:00.0"
    files = [net / "speed", net / "operstate", net / "carrier_down_count", net / "statistics" / "rx_bytes"]
    files += [pci / "current_link_width", pci / "current_link_speed"]
    assert reading.read().bytes == sum(file.stat().st_size for file in files) + 2 * 8


def test_the_gpus_by_a_nic_are_told_under_its_name_its_adapters_and_its_address(tmp_path: Path) -> None:
    nic(tmp_path, "enp65s0", "pci0000:15/0000:15:01.0/0000:16:00.0", "mlx5_core", index=4, rdma="mlx5_0")
    gpus = {"G0": ("pci0000:15", "0000:15:01.0", "0000:17:00.0"), "G1": ("pci0000:37", "0000:37:01.0")}
    reading = nics(tmp_path, driver, gpus=gpus)
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
    reading = nics(tmp_path, driver, gpus=gpus, now_s=lambda: clock[0])
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


def test_serving_beats_each_interval_and_a_read_that_hangs_costs_one_time_out(tmp_path: Path) -> None:
    nic(tmp_path, "enp65s0", "pci0000:15/0000:16:00.0", "mlx5_core", index=4)
    hold, held = Event(), Event()

    def hanging(interface: str) -> Statistics:
        held.set()
        hold.wait()
        return driver(interface)

    class Counting(ListOutlet):
        def __init__(self) -> None:
            super().__init__()
            self.fourth = asyncio.Event()

        def beat(self, beat: Beat) -> None:
            super().beat(beat)
            if len(self.beats) == 2:
                hold.set()
            if any(beat.ok for beat in self.beats):
                self.fourth.set()

    async def run() -> Counting:
        outlet, aside, reading = Counting(), Aside(), nics(tmp_path, hanging)
        told = reporter("nic", argparse.Namespace(instance="b"), outlet, 0.01)
        serving = asyncio.create_task(told.forever("net", lambda: aside(reading.read), 0.1))
        await asyncio.wait_for(outlet.fourth.wait(), 20)
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        return outlet

    outlet = asyncio.run(run())
    assert held.is_set()
    assert outlet.beats[0].error == "no answer within 0.1 s"
    assert outlet.beats[1].error == "an earlier read of it still hangs in the kernel"
    assert [scrape.columns["pfc_rx_frames.3"] for scrape in outlet.of(FABRIC_SCRAPES)][:1] == [[3]]
    assert outlet.beats[0].collector.endswith(":b")
