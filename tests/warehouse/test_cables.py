"""The view of cables: the last statement of each source, merged as the stream jobs merge them."""

import duckdb

from collectors.contract.fabric import Link
from collectors.contract.topics import FABRIC_LINKS
from tests.warehouse.messages import T0
from warehouse.loader import write
from warehouse.place import Place

Lake = duckdb.DuckDBPyConnection
FILE = Link(
    ts_us=T0,
    device="leaf1",
    port="e1",
    far_device="n1-nic0",
    far_port="mlx5_0",
    far_kind="nic",
    node="n1",
    gpu_uuids=["GPU-a"],
    gpu_index=[3],
    rail=3,
)


def lldp(far_device: str, after: int = 1, *, up: bool = True, port: str = "e1") -> Link:
    return Link(
        ts_us=T0 + after, device="leaf1", port=port, far_device=far_device, far_port="b8:ce", source="lldp", up=up
    )


def cables(lake: Lake, place: Place, *links: Link) -> list[tuple[object, ...]]:
    write(lake, [(FABRIC_LINKS, list(links))], place=place)
    return lake.execute(
        "select port, far_device, far_port, node, gpu_index, rail, up, source, moved, planned_far_device"
        " from cables order by port"
    ).fetchall()


def test_a_file_alone_and_lldp_alone_stand_as_they_are(lake: Lake, place: Place) -> None:
    assert cables(lake, place, FILE, lldp("n2", port="e2")) == [
        ("e1", "n1-nic0", "mlx5_0", "n1", [3], 3, True, "file", False, None),
        ("e2", "n2", "b8:ce", None, [], None, True, "lldp", False, None),
    ]


def test_lldp_that_agrees_keeps_what_only_the_file_knows_and_says_whether_it_is_up(lake: Lake, place: Place) -> None:
    assert cables(lake, place, FILE, lldp("N1.example.com", up=False)) == [
        ("e1", "n1-nic0", "mlx5_0", "n1", [3], 3, False, "file", False, None)
    ]


def test_a_moved_cable_is_where_lldp_sees_it(lake: Lake, place: Place) -> None:
    assert cables(lake, place, FILE, lldp("n1", 1), lldp("n2", 2)) == [
        ("e1", "n2", "b8:ce", None, [], None, True, "lldp", True, "n1-nic0")
    ]


def test_a_file_newer_than_a_moved_cable_that_went_silent_is_believed(lake: Lake, place: Place) -> None:
    later = Link(ts_us=T0 + 9, device="leaf1", port="e1", far_device="n3", node="n3")
    assert cables(lake, place, FILE, lldp("n2", 5, up=False), later) == [
        ("e1", "n3", None, "n3", [], None, True, "file", False, None)
    ]


def test_a_cable_that_left_the_file_is_none(lake: Lake, place: Place) -> None:
    gone = Link(ts_us=T0 + 1, device="leaf1", port="e1", far_device="n1", up=False)
    assert cables(lake, place, FILE, gone) == []


def test_ports_between_switches_are_called_as_the_switch_calls_them(lake: Lake, place: Place) -> None:
    planned = Link(ts_us=T0, device="leaf1", port="e1", far_device="spine", far_port="Eth1/1", far_kind="switch")
    assert cables(lake, place, planned, lldp("spine")) == [
        ("e1", "spine", "b8:ce", None, [], None, True, "file", False, None)
    ]
