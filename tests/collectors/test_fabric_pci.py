"""PCI paths, links and which GPUs are by which NIC."""

from pathlib import Path

from collectors.fabric.host import NearGpus, OwnPort
from collectors.fabric.pci import Near, link_value, near, pci_path

SWITCH = ("pci0000:15", "0000:15:01.0", "0000:16:00.0", "0000:17:00.0")


def test_a_path_runs_from_the_host_bridge_to_the_device(tmp_path: Path) -> None:
    device = tmp_path / "devices" / "pci0000:15" / "0000:15:01.0" / "0000:16:00.0"
    device.mkdir(parents=True)
    (tmp_path / "link").symlink_to(device)
    assert pci_path(tmp_path / "link") == ("pci0000:15", "0000:15:01.0", "0000:16:00.0")


def test_the_gpu_below_the_same_switch_is_by_the_nic() -> None:
    gpus = {
        "G0": (*SWITCH, "0000:18:00.0"),
        "G1": ("pci0000:15", "0000:15:03.0", "0000:20:00.0"),
        "G2": ("pci0000:37", "0000:37:01.0", "0000:38:00.0"),
    }
    assert near((*SWITCH, "0000:19:00.0"), gpus) == Near(("G0",), "switch")
    assert near(("pci0000:37", "0000:37:05.0", "0000:39:00.0"), gpus) == Near(("G2",), "bridge")
    assert near(("pci0000:70", "0000:70:01.0"), gpus) == Near()


def test_one_bridge_that_holds_every_gpu_says_nothing() -> None:
    gpus = {"G0": ("pci0000:00", "0000:00:05.0"), "G1": ("pci0000:00", "0000:00:06.0")}
    assert near(("pci0000:00", "0000:00:07.0"), gpus) == Near()
    assert near(("pci0000:00", "0000:00:07.0"), {"G0": gpus["G0"]}) == Near(("G0",), "bridge")


def test_a_link_that_is_down_has_no_width() -> None:
    assert link_value("current_link_speed", b"32.0 GT/s PCIe") == "32.0"
    assert link_value("current_link_width", b"16") == "16"
    assert [link_value("current_link_width", b"0"), link_value("current_link_speed", b"Unknown")] == [None, None]
    assert link_value("current_link_width", None) is None


def test_a_nic_is_told_under_all_of_its_names_and_again_only_when_it_changes() -> None:
    gpus = {"G0": (*SWITCH, "0000:18:00.0")}
    clock = [0.0]
    near_gpus = NearGpus(node="n1", cluster="c", kind="nic", read=lambda _: dict(gpus), now_s=lambda: clock[0])
    port = OwnPort("eth0", ("mlx5_0", "aa:bb"), (*SWITCH, "0000:19:00.0"))
    first = near_gpus.news([port], 10)
    assert [(x.device, x.port, x.far_device, x.far_port, x.gpu_uuids) for x in first] == [
        ("n1", name, "n1", "eth0", ["G0"]) for name in ("eth0", "mlx5_0", "aa:bb")
    ]
    assert near_gpus.news([port], 20) == []
    gpus["G1"] = gpus.pop("G0")
    assert near_gpus.news([port], 30) == []
    clock[0] += 60.0
    assert [x.gpu_uuids for x in near_gpus.news([port], 40)] == [["G1"]] * 3
    assert [(x.port, x.up) for x in near_gpus.news([], 50)] == [("eth0", False), ("mlx5_0", False), ("aa:bb", False)]
