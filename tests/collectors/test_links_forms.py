"""Every form of a cable map, and what is said of one with a mistake."""

import pytest

from collectors.contract.envelope import write
from collectors.contract.fabric import Link
from collectors.contract.topic import encode
from collectors.contract.topics import FABRIC_LINKS
from collectors.links.forms import MapError, read_map

T = 1_800_000_000_000_000
A = "GPU-00000000-0000-0000-0000-00000000000a"
B = "GPU-00000000-0000-0000-0000-00000000000b"

LEAF = Link(
    cluster="east",
    ts_us=T,
    device="leaf1",
    port="Ethernet0",
    far_device="n1",
    far_port="mlx5_0",
    far_kind="nic",
    node="n1",
    gpu_uuids=[A, B],
    rail=0,
)
SPINE = Link(
    cluster="east", ts_us=T, device="leaf1", port="Ethernet8", far_device="spine1", far_port="e1", far_kind="switch"
)


def read(text: str, name: str = "cables.csv") -> list[Link]:
    return list(read_map(text, name, "east", T).values())


def mistakes(text: str, name: str = "cables.csv") -> str:
    with pytest.raises(MapError) as told:
        read(text, name)
    return str(told.value)


def test_csv_has_a_header_and_lists_with_semicolons() -> None:
    text = (
        "# cables of hall 2\n"
        "device,port,far_device,far_port,far_kind,node,gpu_uuids,rail\n"
        f"leaf1,Ethernet0,n1,mlx5_0,nic,n1,{A};{B},0\n"
        "\n"
        "leaf1,Ethernet8,spine1,e1,switch,,,\n"
    )
    assert read(text) == [LEAF, SPINE]


def test_a_host_port_needs_no_more_than_node_and_rail_and_gpus_may_be_told_by_index() -> None:
    assert read("device,port,node,rail,gpu_index\nleaf1,e1,n1,3,6; 7\n") == [
        Link(
            cluster="east",
            ts_us=T,
            device="leaf1",
            port="e1",
            far_device="n1",
            far_kind="nic",
            node="n1",
            gpu_index=[6, 7],
            rail=3,
        )
    ]


def test_json_lines_are_links_or_envelopes_and_keep_their_own_time_and_cluster() -> None:
    told = Link(cluster="west", ts_us=T - 5, device="l", port="p", far_device="f", source="inventory")
    bare = Link(ts_us=1, device="k", port="c", far_device="at")
    lines = [
        encode(
            {"device": "leaf1", "port": "Ethernet8", "far_device": "spine1", "far_port": "e1", "far_kind": "switch"}
        ),
        encode(told),
        write(FABRIC_LINKS, LEAF),
        encode({"topic": FABRIC_LINKS.name, "payload": FABRIC_LINKS.encode(bare).decode()}),
    ]
    assert read(b"\n".join(lines).decode(), "stdin") == [
        SPINE,
        told,
        LEAF,
        bare,
    ]


def test_toml_has_a_table_a_cable() -> None:
    text = (
        '[[link]]\ndevice = "leaf1"\nport = "Ethernet0"\nfar_port = "mlx5_0"\nnode = "n1"\n'
        f'gpu_uuids = ["{A}", "{B}"]\nrail = 0\n'
    )
    assert read(text, "cables.toml") == [LEAF]


def test_of_a_recorded_topic_the_newest_statement_of_a_port_counts() -> None:
    old = Link(ts_us=1, device="l", port="p", far_device="a")
    new = Link(ts_us=2, device="l", port="p", far_device="b")
    for order in ((old, new), (new, old)):
        assert read("\n".join(write(FABRIC_LINKS, link).decode() for link in order), "x.jsonl") == [new]


def test_every_mistake_is_told_with_its_line_and_the_rest_is_counted() -> None:
    head = "device,port,far_device,node,gpu_uuids,rail,far_kind\n"
    bad = [
        ",e1,n1,,,,",
        "leaf1,,n1,,,,",
        "leaf1,e1,,,,,",
        "leaf1,e1,n1,,3,,",
        "leaf1,e1,n1,,,three,",
        "leaf1,e1,n1,,,,router",
        "leaf1,e1,n1",
    ]
    assert mistakes(head + "\n".join(bad)).splitlines() == [
        "cables.csv:2: no device",
        "  cables.csv:3: no port",
        "  cables.csv:4: neither far_device nor node: what is it plugged into?",
        "  cables.csv:5: gpu_uuids: '3' is no UUID such as GPU-...; a GPU's index goes into gpu_index",
        "  cables.csv:6: Expected `int | null`, got `str` - at `$.rail`",
        "  and 2 more",
    ]


def test_a_column_that_is_none_is_told_with_those_that_are() -> None:
    assert mistakes("switch,port,far_device\nleaf1,e1,n1\n").startswith(
        "cables.csv:1: no column 'switch'; there are cluster, ts_us, device, port, far_device"
    )


def test_a_port_told_twice_in_two_ways_is_a_mistake_and_in_one_way_is_none() -> None:
    head = "device,port,far_device\nleaf1,e1,a\n"
    assert mistakes(head + "leaf1,e1,b\n") == "cables.csv:3: leaf1 e1 is told otherwise at cables.csv:2"
    assert len(read(head + "leaf1,e1,a\n")) == 1


@pytest.mark.parametrize(
    ("text", "name", "says"),
    [
        ("", "a.csv", "a.csv: no link in it"),
        ("device,port,far_device\n", "a.csv", "a.csv: no link in it"),
        ("{\n", "a", "a:1: not a JSON object: Input data was truncated"),
        ("[1]\n", "a.jsonl", "a.jsonl:1: not a JSON object: Expected `object`, got `array`"),
        ('{"device":"l","port":"p","far_device":"f","gpu":"x"}', "a", "a:1: no field 'gpu'; there are "),
        (
            '{"topic":"kernel.events.v1","value":{}}',
            "a",
            "a:1: unknown topic 'kernel.events.v1'; known: ",
        ),
        ('{"topic":"fabric.links.v1","value":{}}', "a", "a:1: fabric.links.v1: Object missing required field `ts_us`"),
        ("link = 1", "a.toml", "a.toml: write one [[link]] table a cable and nothing else"),
        ("[[link]]\nport = 'p'", "a.toml", "a.toml: [[link]] number 1: no device"),
        ("[[link", "a.toml", "a.toml: not TOML: "),
    ],
)
def test_a_file_that_says_nothing_is_told_so(text: str, name: str, says: str) -> None:
    assert mistakes(text, name).startswith(says)
