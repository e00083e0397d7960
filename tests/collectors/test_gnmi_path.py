"""gNMI paths."""

import pytest

from collectors.gnmi import wire
from collectors.gnmi.path import Elem, GnmiPath, PathSyntax, elem, parse_path, read_path, write_path


@pytest.mark.parametrize(
    "text",
    [
        "/interfaces/interface[name=Ethernet1/1]/state",
        "/qos/interfaces/interface[interface-id=et-0/0/1]/output/queues/queue[name=a b]",
        "/tx-queue[index=3][queue-type=UNICAST]/state",
        "/COUNTERS/Ethernet*/Queues",
        "/",
    ],
)
def test_a_path_is_the_same_as_text_and_as_bytes(text: str) -> None:
    assert str(read_path(write_path(parse_path(text)))) == text


def test_module_prefixes_are_cut_and_port_names_are_not() -> None:
    names = ("openconfig-platform:components", "Ethernet68:3", "oid:0x1000000000002", "plain")
    assert [elem(name).name for name in names] == ["components", "Ethernet68:3", "oid:0x1000000000002", "plain"]


def test_the_deprecated_form_is_read() -> None:
    raw = wire.Path(element=[b"interfaces", b"interface[name=eth0]", b"state"]).SerializeToString()
    assert read_path(raw).elems == (Elem("interfaces"), Elem("interface", (("name", "eth0"),)), Elem("state"))


def test_keys_in_another_order_are_the_same_path() -> None:
    forms = []
    for keys in ((b"index", b"type"), (b"type", b"index")):
        path = wire.Path()
        step = path.elem.add(name=b"tx-queue")
        for key in keys:
            step.key.add(key=key, value=b"1")
        forms.append(path.SerializeToString())
    assert forms[0] != forms[1]
    assert read_path(forms[0]) == read_path(forms[1])


def test_an_origin_in_front_is_no_element() -> None:
    assert parse_path("openconfig:/a/b") == GnmiPath((Elem("a"), Elem("b")), "openconfig")


@pytest.mark.parametrize("text", ["/a[b", "/a[b=c", "/a]b[/c"])
def test_text_that_is_no_path_says_where(text: str) -> None:
    with pytest.raises(PathSyntax, match="is no gNMI path"):
        parse_path(text)


def test_bytes_that_are_not_utf8_are_read_all_the_same() -> None:
    path = wire.Path()
    path.elem.add(name=b"\xff\xfe")
    assert read_path(path.SerializeToString()).elems == (Elem("\ufffd\ufffd"),)
