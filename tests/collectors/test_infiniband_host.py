"""A host's RDMA devices: every driver and name, what cannot be read, devices that come and go."""

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from collectors.contract.fabric import Link, PortScrape
from collectors.fabric.host import NearGpus
from collectors.fabric.kept import Kept
from collectors.infiniband.drivers import hw_system
from collectors.infiniband.host import Host
from collectors.infiniband.sysfs import Sysfs
from tests.collectors.rdma_tree import PORT, device, port, write

OPEN = Path("/proc/self/fd")


def host(root: Path, gpus: Mapping[str, tuple[str, ...]] | None = None, *, keep_ignored: bool = False) -> Host:
    near = NearGpus(node="n1", cluster="c", kind="hca", read=lambda _: dict(gpus or {}))
    return Host(tree=Sysfs(root), gpus=near, node="n1", cluster="c", epoch="boot:1", keep_ignored=keep_ignored)


def scrapes(reading: Host) -> list[PortScrape]:
    return [message for _, message in reading.read().messages if isinstance(message, PortScrape)]


def test_a_port_has_its_counters_state_and_pcie_link(tmp_path: Path) -> None:
    device(tmp_path, "mlx5_0", {**port(), "hca_type": "MT4129\n"})
    [scrape] = scrapes(host(tmp_path, keep_ignored=True))
    assert (scrape.device, scrape.kind, scrape.node, scrape.epoch) == ("n1", "hca", "n1", "boot:1")
    assert [(p.name, p.speed_gbps, p.link_layer, p.oper_up) for p in scrape.ports] == [
        ("mlx5_0", 400.0, "infiniband", True)
    ]
    assert scrape.columns == {
        "ib_rate_gbps": [400],
        "ib_tx_words": [230442669431839],
        "ib_tx_discard_packets": [7],
        "ib_symbol_errors": [0],
        "ib_rx_ucast_packets": [5],
        "pcie_link_gts": [32],
        "pcie_link_width": [8],
        "pcie_max_link_gts": [32],
        "pcie_max_link_width": [16],
    }
    assert (scrape.named["driver"], scrape.named["pci"], scrape.named["link_speed"]) == (
        ["mlx5_core"],
        ["0000:16:00.0"],
        ["NDR"],
    )


def test_a_second_port_is_told_by_its_number(tmp_path: Path) -> None:
    device(tmp_path, "mlx4_0", port() | port(number=2), driver="mlx4_core")
    assert [p.name for p in scrapes(host(tmp_path))[0].ports] == ["mlx4_0", "mlx4_0/2"]


def test_n_a_and_a_file_that_is_an_error_are_unreadable_and_absent_is_absent(tmp_path: Path) -> None:
    files = {"link_layer": "Ethernet\n", "counters/symbol_error": "N/A (no PMA)\n", "counters/port_rcv_errors": "0\n"}
    folder = device(tmp_path, "mlx4_0", port(files))
    (folder / "ports/1/counters/link_downed").mkdir()
    [scrape] = scrapes(host(tmp_path))
    counted = {name: row for name, row in scrape.columns.items() if name.startswith("ib_")}
    assert counted == {"ib_symbol_errors": [None], "ib_rx_error_packets": [0], "ib_link_down_events": [None]}
    assert set(scrape.errors) == {"ib_symbol_errors", "ib_link_down_events"}


def test_without_the_extended_set_data_has_32_bits_that_stop(tmp_path: Path) -> None:
    files = {"counters/port_xmit_data": "4294967295\n", "counters/port_rcv_data": "9\n"}
    device(tmp_path, "mlx4_0", port(files))
    [scrape] = scrapes(host(tmp_path))
    assert (scrape.columns["ib_tx_words"], scrape.saturated) == ([None], {"ib_tx_words": [4294967295]})
    assert (scrape.columns["ib_rx_words"], scrape.forms["ib_rx_words"].bits) == ([9], 32)


@pytest.mark.parametrize(
    ("name", "driver", "files", "column"),
    [
        ("mlx5_0", "mlx5_core", {"local_ack_timeout_err": "3"}, "rdma_ack_timeouts"),
        ("rocep193s0f0", "mlx5_core", {"packet_seq_err": "3"}, "rdma_rx_nak_seq_err"),
        ("bnxt_re0", "bnxt_en", {"to_retransmits": "3"}, "rdma_ack_timeouts"),
        ("rocep8s0", "bnxt_en", {"packet_seq_err": "3"}, "rdma_rx_nak_seq_err"),
        ("irdma0", "ice", {"Nak Sequence Error": "3"}, "rdma_rx_nak_seq_err"),
        ("rdmap16s27", "efa", {"retrans_timeout_events": "3"}, "rdma_ack_timeouts"),
    ],
)
def test_every_driver_under_every_name(
    tmp_path: Path, name: str, driver: str, files: dict[str, str], column: str
) -> None:
    told = {f"hw_counters/{file}": value for file, value in files.items()}
    device(tmp_path, name, port({"link_layer": "Ethernet\n"} | told), driver=driver)
    assert scrapes(host(tmp_path))[0].columns[column] == [3]


def test_where_no_driver_is_told_the_names_of_the_counters_tell() -> None:
    assert hw_system(None, "rocep1s0", None, ["lifespan", "cnpSent", "ip4InPkts"]) == "irdma_hw_counters"
    assert hw_system(None, "rocep1s0", "MT4129", ["anything"]) == "mlx5_hw_counters"
    assert hw_system(None, "rocep1s0", None, ["never", "heard", "of"]) is None
    assert hw_system("hns_roce", "hns_0", None, ["packet_seq_err"]) is None


def test_counters_of_an_unknown_driver_keep_their_names(tmp_path: Path) -> None:
    device(tmp_path, "hns_0", port({"hw_counters/odd": "4\n"}), driver="hns_roce")
    [scrape] = scrapes(host(tmp_path))
    assert scrape.named["odd"] == [4]


def test_counters_of_the_device_stand_in_a_row_of_its_own(tmp_path: Path) -> None:
    device(tmp_path, "rdmap16s27", port() | {"hw_counters/keep_alive_rcvd": "8\n"}, driver="efa")
    [scrape] = scrapes(host(tmp_path))
    assert [p.name for p in scrape.ports] == ["rdmap16s27", "component:rdmap16s27"]
    assert scrape.columns["nic_keep_alives"] == [None, 8]


def test_files_stay_open_and_are_read_anew(tmp_path: Path) -> None:
    folder = device(tmp_path, "mlx5_0", port())
    reading = host(tmp_path)
    scrapes(reading)
    (folder / "ports/1/counters/port_xmit_discards").write_text("8\n")
    assert scrapes(reading)[0].columns["ib_tx_discard_packets"] == [8]


def test_a_device_made_anew_has_another_epoch_and_one_that_left_is_gone(tmp_path: Path) -> None:
    folder = device(tmp_path, "mlx5_0", port())
    device(tmp_path, "mlx5_1", port(), pci="pci0000:37/0000:37:01.0")
    reading = host(tmp_path)
    [before] = scrapes(reading)
    shutil.move(folder, tmp_path / "old")
    write(folder, port(PORT | {"counters/port_xmit_discards": "0\n"}))
    (tmp_path / "class/infiniband/mlx5_1").unlink()
    [after] = scrapes(reading)
    assert [p.name for p in after.ports] == ["mlx5_0"]
    assert after.columns["ib_tx_discard_packets"] == [0]
    assert before.epoch_of(0) != after.epoch_of(0)


def test_no_device_is_said(tmp_path: Path) -> None:
    (tmp_path / "class/infiniband").mkdir(parents=True)
    assert "no RDMA device" in (host(tmp_path).read().error or "")


def test_more_files_than_may_be_open_are_opened_for_each_read(tmp_path: Path) -> None:
    write(tmp_path, {str(n): f"{n}\n" for n in range(6)})
    kept = Kept(most=2)
    for _ in range(2):
        assert [kept.read(str(tmp_path / str(n))) for n in range(6)] == [str(n).encode() for n in range(6)]
    assert len(kept) == 2
    before = len(list(OPEN.iterdir()))
    kept.close()
    assert len(list(OPEN.iterdir())) == before - 2


def test_the_gpus_by_an_infiniband_port_are_told_once(tmp_path: Path) -> None:
    device(tmp_path, "mlx5_0", port())
    device(tmp_path, "mlx5_1", port(PORT | {"link_layer": "Ethernet\n"}), pci="pci0000:37/0000:37:01.0")
    gpus = {"G0": ("pci0000:15", "0000:15:01.0", "0000:17:00.0"), "G1": ("pci0000:37", "0000:37:02.0")}
    reading = host(tmp_path, gpus)
    told = [message for _, message in reading.read().messages if isinstance(message, Link)]
    assert [(x.device, x.port, x.far_device, x.far_port, x.node, x.gpu_uuids) for x in told] == [
        ("n1", "mlx5_0", "n1", "mlx5_0", "n1", ["G0"])
    ]
    assert not [message for _, message in reading.read().messages if isinstance(message, Link)]
