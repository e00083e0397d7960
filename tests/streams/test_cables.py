"""What files say and what LLDP sees are one cable, in whatever order they come."""

from itertools import permutations

from collectors.contract.fabric import Link, PortScrape
from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.job import JobEvent, Placement
from collectors.contract.message import Message
from streams.contract import Subject
from streams.incident_words import place
from streams.world import World
from tests.streams.story import found

T0 = 1_800_000_000_000_000
FILE = Link(
    ts_us=T0,
    device="leaf1",
    port="e1",
    far_device="n1",
    far_port="mlx5_0",
    far_kind="nic",
    node="n1",
    gpu_uuids=["G1"],
    rail=0,
)
PLACED = JobEvent(
    ts_us=T0,
    job="train",
    kind="placed",
    placement=[Placement(rank=0, node="n1", gpu_uuid="G1"), Placement(rank=1, node="n2", gpu_uuid="G2")],
)
GPUS = [GpuScrape(ts_us=T0, node=f"n{n}", gpus=[Gpu(uuid=f"G{n}", index=0)]) for n in (1, 2)]


def lldp(far_device: str, ts_us: int = T0 + 1, *, port: str = "e1", up: bool = True, far_port: str = "b8:ce") -> Link:
    return Link(ts_us=ts_us, device="leaf1", port=port, far_device=far_device, far_port=far_port, source="lldp", up=up)


def after(*messages: Message) -> World:
    """The world, the same after every order of its messages."""
    worlds = []
    for order in permutations(messages):
        world = World()
        for message in order:
            world.learn(message)
        worlds.append(world)
    answers = [
        (w.link("default", "leaf1", "e1"), [w.ports_behind("default", f"G{n}", f"n{n}") for n in (1, 2)])
        for w in worlds
    ]
    assert answers == [answers[0]] * len(worlds)
    return worlds[0]


def cable(world: World, port: str = "e1") -> Link:
    link = world.link("default", "leaf1", port)
    assert link is not None
    return link


def test_lldp_that_agrees_keeps_what_only_the_file_knows() -> None:
    for name in ("n1", "N1", "n1.hall2.example.com"):
        world = after(FILE, lldp(name))
        link = cable(world)
        assert (link.node, link.gpu_uuids, link.rail, link.far_port, link.up) == ("n1", ["G1"], 0, "mlx5_0", True)
        assert world.planned("default", "leaf1", "e1") is None


def test_a_neighbour_that_is_not_heard_leaves_the_cable_where_it_was_and_down() -> None:
    link = cable(after(FILE, lldp("n1", up=False)))
    assert (link.node, link.gpu_uuids, link.up) == ("n1", ["G1"], False)
    alone = cable(after(lldp("n1", up=False), *GPUS))
    assert (alone.node, alone.up) == ("n1", False)


def test_a_cable_that_was_moved_is_where_lldp_sees_it_and_the_plan_is_kept() -> None:
    world = after(FILE, lldp("n2"), *GPUS)
    link = cable(world)
    assert (link.node, link.far_device, link.gpu_uuids, link.rail) == ("n2", "n2", [], None)
    assert world.ports_behind("default", "G2", "n2") == {"leaf1/e1"}
    assert world.ports_behind("default", "G1", "n1") == set()
    assert world.planned("default", "leaf1", "e1") == FILE
    words = place(found("lossless_drop", Subject(kind="port", id="x", device="leaf1", port="e1"), 0, "drop"), world)
    assert words == ("leaf1 port e1, cabled to n2 b8:ce, which LLDP sees where the cable map says n1")


def test_a_file_written_after_a_moved_cable_went_silent_is_believed_again() -> None:
    moved_and_gone = lldp("n2", T0 + 5, up=False)
    assert cable(after(FILE, moved_and_gone)).far_device == "n2"
    later = Link(ts_us=T0 + 9, device="leaf1", port="e1", far_device="n3", node="n3")
    assert cable(after(later, moved_and_gone)).far_device == "n3"
    # While the neighbour is heard it is there, whatever the file says and when.
    assert cable(after(later, lldp("n2", T0 + 5))).far_device == "n2"


def test_lldp_alone_gives_port_node_and_job() -> None:
    for name in ("n1", "n1.example.com"):
        world = after(lldp(name), PLACED)
        assert (cable(world).node, cable(world).far_kind) == ("n1", "nic")
        assert world.jobs_on_port("default", "leaf1", "e1") == {"train"}
        assert world.ports_behind("default", "G1", "n1") == {"leaf1/e1"}
    assert cable(after(lldp("n1"), GPUS[0])).node == "n1"


def test_lldp_names_a_nic_that_is_read_on_its_own() -> None:
    nic = PortScrape(ts_us=T0, device="n1-bf3", kind="nic", node="n1", ports=[])
    assert cable(after(lldp("n1-bf3"), nic)).node == "n1"


def test_a_name_that_could_be_two_nodes_is_none() -> None:
    nodes = [GpuScrape(ts_us=T0, node=name, gpus=[]) for name in ("n1.east", "n1.west")]
    assert cable(after(lldp("n1"), *nodes)).node is None
    assert cable(after(lldp("n1.west"), *nodes)).node == "n1.west"
    assert cable(after(lldp("10.0.0.1"), GpuScrape(ts_us=T0, node="10.0.0.12", gpus=[]))).node is None


def test_a_switch_behind_a_cable_is_known_by_what_it_tells_itself() -> None:
    spine = PortScrape(ts_us=T0, device="spine1", kind="switch", ports=[])
    for known in (spine, Link(ts_us=T0, device="spine1", port="e9", far_device="leaf1", source="lldp")):
        link = cable(after(lldp("spine1.example.com", far_port="e9"), known))
        assert (link.far_device, link.far_kind, link.far_port, link.node) == ("spine1", "switch", "e9", None)


def test_cables_between_switches_are_found_by_lldp_alone() -> None:
    world = World()
    for leaf, node in (("leaf1", "n1"), ("leaf2", "n2")):
        world.learn(Link(ts_us=T0, device=leaf, port="e1", far_device=node, source="lldp"))
        world.learn(Link(ts_us=T0, device=leaf, port="up", far_device="spine", source="lldp"))
    world.learn(Link(ts_us=T0, device="spine", port="e1", far_device="leaf1", source="lldp"))
    world.learn(PLACED)
    assert world.jobs_on_port("default", "leaf1", "up") == {"train"}
    assert world.jobs_below("default", "leaf2") == {"train"}


def test_a_cable_that_left_the_file_is_none() -> None:
    gone = Link(ts_us=T0 + 1, device="leaf1", port="e1", far_device="n1", node="n1", gpu_uuids=["G1"], up=False)
    world = after(FILE, gone)
    assert world.link("default", "leaf1", "e1") is None
    assert world.ports_behind("default", "G1", "n1") == set()
    assert cable(after(FILE, gone, lldp("n2"))).far_device == "n2"


def test_gpus_told_by_index_are_those_that_the_node_has_now() -> None:
    by_index = Link(ts_us=T0, device="leaf1", port="e1", far_device="n1", node="n1", gpu_index=[1])
    both = GpuScrape(ts_us=T0, node="n1", gpus=[Gpu(uuid="G0", index=0), Gpu(uuid="G1", index=1)])
    world = after(by_index, both)
    assert cable(world).gpu_uuids == ["G1"]
    world.learn(GpuScrape(ts_us=T0 + 1, node="n1", gpus=[Gpu(uuid="G0", index=0), Gpu(uuid="G9", index=1)]))
    assert cable(world).gpu_uuids == ["G9"]
    assert world.ports_behind("default", "G9", "n1") == {"leaf1/e1"}


def test_a_node_is_called_as_the_fleet_calls_it_and_not_as_the_file_does() -> None:
    world = after(FILE, GpuScrape(ts_us=T0, node="n1.example.com", gpus=[Gpu(uuid="G1", index=0)]))
    assert cable(world).node == "n1.example.com"


def test_an_inventory_and_a_file_are_both_plans_and_the_newer_counts() -> None:
    inventory = Link(ts_us=T0 + 1, device="leaf1", port="e1", far_device="n2", node="n2", source="inventory")
    assert cable(after(FILE, inventory)).node == "n2"


def test_news_that_changes_no_answer_changes_no_version() -> None:
    world = after(FILE, lldp("n1"), *GPUS)
    before = world.version
    for again in (lldp("n1", T0 + 9), lldp("n1.example.com", T0 + 10), lldp("n2", T0), FILE, *GPUS):
        world.learn(again)
    assert world.version == before
    world.learn(lldp("n2", T0 + 11))
    assert world.version > before


def own(name: str, node: str = "n1", gpu: str = "G1", *, up: bool = True) -> Link:
    """What a host says of its NIC eth0 under one of the NIC's names."""
    return Link(
        ts_us=T0,
        device=node,
        port=name,
        far_device=node,
        far_port="eth0",
        far_kind="nic",
        node=node,
        gpu_uuids=[gpu],
        source="inventory",
        up=up,
    )


def test_a_cable_knows_the_gpu_from_what_the_host_says_of_its_nic() -> None:
    for said in ("eth0", "B8:CE"):
        link = cable(after(lldp("n1.hall2.example.com", far_port=said), own("eth0"), own("b8:ce"), *GPUS[:1]))
        assert (link.node, link.far_device, link.far_port, link.gpu_uuids) == ("n1", "n1", "eth0", ["G1"])


def test_a_nic_known_to_its_host_alone_leads_to_its_ranks() -> None:
    world = after(own("eth0"), own("mlx5_0"), PLACED)
    assert world.jobs_on_port("default", "n1", "mlx5_0") == {"train"}
    assert world.ports_behind("default", "G1", "n1") == {"n1/eth0", "n1/mlx5_0"}
    assert world.ports_behind("default", "G2", "n2") == set()
    subject = Subject(kind="port", id="n1/eth0", device="n1", port="eth0", node="n1")
    said = place(found("lossless_drop", subject, 0, "drop"), world)
    assert "cabled" not in said


def test_a_cable_that_names_no_nic_stays_behind_every_gpu_of_its_node() -> None:
    world = after(own("eth0"), lldp("n1", far_port="b8:ce"), *GPUS)
    assert world.ports_behind("default", "G1", "n1") == {"n1/eth0", "leaf1/e1"}


def test_a_nic_that_left_tells_nothing() -> None:
    link = cable(after(lldp("n1", far_port="eth0"), own("eth0", up=False), *GPUS[:1]))
    assert link.gpu_uuids == []
