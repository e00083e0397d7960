"""What a device hears, told once and when it changes."""

from collectors.contract.fabric import Link
from collectors.fabric.cables import Cables


def shown(links: list[Link]) -> list[tuple[str, str, str | None, bool]]:
    return [(link.port, link.far_device, link.far_port, link.up) for link in links]


def test_a_neighbour_is_told_once_then_when_it_changes_and_when_it_goes() -> None:
    cables = Cables()
    told = [
        shown(cables.changes("leaf", 1, "c", heard))
        for heard in ({"p1": ("node1", "eth0")}, {"p1": ("node1", "eth0")}, {"p1": ("node2", None)}, {})
    ]
    assert told == [[("p1", "node1", "eth0", True)], [], [("p1", "node2", None, True)], [("p1", "node2", None, False)]]


def test_of_an_incomplete_hearing_only_the_named_ports_are_down() -> None:
    cables = Cables()
    cables.changes("leaf", 1, "c", {"p1": ("node1", None), "p2": ("node2", None)})
    assert shown(cables.changes("leaf", 2, "c", {}, complete=False, gone={"p2"})) == [("p2", "node2", None, False)]
    assert shown(cables.changes("leaf", 3, "c", {})) == [("p1", "node1", None, False)]
