"""Driver statistics by ioctl and from text, under the names of every driver."""

import argparse
import struct
from collections.abc import Callable
from ctypes import addressof, c_char, memmove
from pathlib import Path

import pytest

from collectors.contract.fabric import PortScrape
from collectors.contract.topics import FABRIC_SCRAPES
from collectors.nic import source
from collectors.nic.ethtool import GSSET_INFO, GSTATS, GSTRINGS, IFREQ, SIOCETHTOOL, Ethtool, EthtoolError, Statistics
from collectors.nic.names import system_of
from collectors.nic.text import read_ethtool
from collectors.source import SourceError
from collectors.sources import add_common
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.nic_texts import BNXT, ENA, GVE, MLX5


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
