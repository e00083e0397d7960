"""JSON objects that come again: what the quick way reads is what the slow way reads."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from collectors.contract.fabric import PortScrape
from collectors.fabric.cell import Cell
from collectors.fabric.grid import Grid
from collectors.fabric.series import Every, Site
from collectors.gnmi import wire
from collectors.gnmi.decoder import Decoder
from collectors.gnmi.layout import Layouts
from collectors.gnmi.mapping import Mapping, Subscribed
from collectors.gnmi.objects import JsonObject
from collectors.gnmi.path import GnmiPath, parse_path, write_path
from collectors.gnmi.tree import Container, Tree
from tests.collectors.gnmi_bytes import response

S = 1_000_000_000
T0 = 1_700_000_000 * S
ALL = "COUNTERS/Ethernet*"
IN, OUT = "SAI_PORT_STAT_IF_IN_OCTETS", "SAI_PORT_STAT_IF_OUT_OCTETS"

NUMBERS = (
    *('"5"', '"0"', '"-7"', '"18446744073709551615"', '"9007199254740993"', '"9223372036854775808"'),
    *("5", "0", "-7", "18446744073709551615", "9007199254740993", "36893488147419103232", "1.5", "1e3", "2.0"),
    *('"1.5"', '"1e3"', '"2.0"', '"9007199254740993.0"', '"1e16"', '"-0"', '"0.0"', '"1e400"', "-0.0", "1e18"),
)
OTHERS = (
    *('"N/A"', '""', "null", "true", "false", '"true"', "[1,2]", "[]", "{}", '{"x":"1"}', '[{"name":"a","x":"1"}]'),
    *('"+5"', '" 5"', '"007"', '"1_0"', '"\\u0035"', '"５"', '"NaN"', '"inf"', '"up"', '"0x10"', '"5\\n"'),
    *(f'"{"9" * 40}"', "9" * 40, f'"{"9" * 5000}"'),
)
FIELDS = (IN, OUT, "SAI_PORT_STAT_PFC_3_RX_PKTS", "SAI_PORT_STAT_IP_IN_OCTETS", "oper_status", "NEW", 'with "quote"')

Fields = dict[str, str]
"""Key -> the bytes of its value."""


def text(held: dict[str, Any]) -> bytes:
    inner = ((key, text(value) if isinstance(value, dict) else value.encode()) for key, value in held.items())
    return b"{" + b",".join(msgspec.json.encode(key) + b":" + value for key, value in inner) + b"}"


def sent(ts_ns: int, raw: bytes, path: str = ALL, *, target: str = "COUNTERS_DB") -> bytes:
    out = wire.SubscribeResponse()
    out.update.timestamp = ts_ns
    out.update.prefix = write_path(GnmiPath(target=target))
    out.update.update.add(path=write_path(parse_path(path))).val.json_ietf_val = raw
    return bytes(out.SerializeToString())


def both(**options: Any) -> tuple[Decoder, Decoder]:
    """One that makes layouts, one that reads everything the slow way."""
    made = {"interval_us": 1_000_000, **options}
    return Decoder("leaf1", **made), Decoder("leaf1", layouts=Layouts(most_keys=-1), **made)


def told(decoder: Decoder, raws: Sequence[bytes]) -> list[PortScrape | None]:
    return [*(decoder.feed(raw) for raw in raws), decoder.cut()]


def exact(scrapes: Sequence[PortScrape | None]) -> str:
    """1 and 1.0 are two. Of several ports with an unreadable value either may be named, as the order of keys goes."""
    return repr([replace(s, errors=dict.fromkeys(sorted(s.errors), "")) if s is not None else None for s in scrapes])


def same(raws: Sequence[bytes], **options: Any) -> list[PortScrape | None]:
    quick, slow = both(**options)
    scrapes = told(quick, raws)
    assert exact(scrapes) == exact(told(slow, raws))
    assert (quick.late, quick.taken) == (slow.late, slow.taken)
    return scrapes


values = st.sampled_from(NUMBERS) | st.sampled_from(OTHERS)
steps = st.lists(
    st.tuples(
        st.sampled_from((-20, -1, 0, 1, 1, 1, 4)),
        st.dictionaries(st.tuples(st.integers(0, 2), st.sampled_from(FIELDS)), values | st.none(), max_size=3),
        st.booleans(),
        st.sampled_from((ALL, ALL, ALL, ALL, "COUNTERS/Ethernet4", "COUNTERS/*", "COUNTERS/Ethernet4/" + IN, "-")),
    ),
    min_size=2,
    max_size=16,
)


def streamed(first: Fields, changes: list[Any]) -> list[bytes]:
    """Three ports of the same fields, changed step by step: a value, or None for a key that goes.

    Sent as one object, by another path, as one port, as one field; or a port is deleted.
    """
    held: dict[str, dict[str, str]] = {f"Ethernet{4 * n}": dict(first) for n in range(3)}
    ts, out = T0, [sent(T0 - 1, text(held)), sent(T0, text(held))]
    for seconds, changed, turned, path in changes:
        ts += seconds * S
        for (port, field), value in changed.items():
            fields = held[f"Ethernet{4 * port}"]
            if value is None:
                fields.pop(field, None)
            else:
                fields[field] = value
        if turned:
            held = dict(reversed(held.items()))
        if path == "-":
            out.append(response(ts, {}, target="COUNTERS_DB", deletes=("COUNTERS/*/Ethernet8",)))
        elif path.endswith(IN):
            out.append(sent(ts, held["Ethernet4"].get(IN, "null").encode(), path))
        else:
            out.append(sent(ts, text(held["Ethernet4"] if path.endswith("4") else held), path))
    return out


fields = st.dictionaries(st.sampled_from(FIELDS), st.sampled_from(NUMBERS), max_size=5)


@settings(deadline=None, max_examples=300)
@given(fields, steps, st.booleans(), st.booleans())
def test_a_stream_of_objects_makes_the_same_scrapes_either_way(
    first: Fields, changes: Any, keep: bool, sampled: bool
) -> None:
    every = Subscribed(parse_path("COUNTERS"), Every(1_000_000, 1_000_000))
    same(streamed(first, changes), keep_ignored=keep, subscribed=(every,) if sampled else ())


trees = st.recursive(
    st.sampled_from(NUMBERS + OTHERS),
    lambda inner: st.dictionaries(
        st.sampled_from(("state", "counters", "in-octets", "out-octets", "x:in-octets", "oper-status", "port-speed")),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)


@settings(deadline=None, max_examples=200)
@given(st.lists(trees, min_size=1, max_size=3), st.lists(st.integers(0, 2), min_size=4, max_size=14))
def test_objects_of_any_depth_make_the_same_scrapes_either_way(held: list[Any], order: list[int]) -> None:
    path = "/interfaces/interface[name=Ethernet1]"
    raws = [text(tree) if isinstance(tree, dict) else tree.encode() for tree in held]
    same([sent(T0 + n * S, raws[at % len(raws)], path, target="") for n, at in enumerate((0, 0, 0, *order))])


@pytest.mark.parametrize("value", NUMBERS + OTHERS)
@pytest.mark.parametrize("first", ['"5"', "5"])
def test_a_value_of_any_form_is_read_the_same_in_place_of_a_number(first: str, value: str) -> None:
    seen = [{"Ethernet0": {IN: v, OUT: '"3"'}} for v in (first, first, first, value, first, value, value, first)]
    same([sent(T0 + n * S, text(held)) for n, held in enumerate(seen)])


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_an_object_that_is_cut_off_is_broken_either_way(cut: int) -> None:
    raw = text({"Ethernet0": {IN: '"5"', OUT: "6"}, "Ethernet4": {IN: '"5"', OUT: "7"}})
    scrapes = same([*(sent(T0 + n * S, raw) for n in range(3)), sent(T0 + 3 * S, raw[:-cut]), sent(T0 + 4 * S, raw)])
    assert [list(scrape.errors) for scrape in scrapes if scrape is not None] == [[], [], [], ["/COUNTERS/Ethernet*"]]


def test_a_key_that_comes_twice_counts_as_it_came_last() -> None:
    twice = b'{"Ethernet0":{"' + IN.encode() + b'":"1","' + IN.encode() + b'":"%d"}}'
    scrapes = same([sent(T0 + n * S, twice % n) for n in range(6)])
    assert [scrape.columns["port_rx_bytes"] for scrape in scrapes if scrape is not None] == [[n] for n in range(6)]


def test_a_port_that_is_gone_is_stale_after_three_intervals() -> None:
    every = Subscribed(parse_path(ALL), Every(1_000_000, 1_000_000))
    both_ports, one = ({f"Ethernet{p}": {IN: '"5"'} for p in range(n)} for n in (2, 1))
    held = [both_ports] * 4 + [one] * 6
    scrapes = same([sent(T0 + n * S, text(h)) for n, h in enumerate(held)], subscribed=(every,))
    gone = [scrape.columns["port_rx_bytes"][1] for scrape in scrapes if scrape is not None]
    assert gone == [5] * 7 + [None] * 3


class Object:
    """One object of a device, fed by hand: which way was taken."""

    def __init__(self, most_keys: int = 100) -> None:
        self.grid = Grid(site=Site())
        self.layouts = Layouts(most_keys)
        self.tree = Tree(self.cell, self.grid.put, keep_ignored=False)
        self.held = JsonObject(Container(parse_path(ALL)))
        self.seen = 0

    def cell(self, path: GnmiPath) -> Cell:
        return self.grid.cell(Mapping(Site()).series(path))

    def quick(self, raw: bytes) -> bool:
        self.seen += 1
        stamp = (self.seen, self.grid.round)
        if self.held.take(raw, stamp, self.grid, self.grid.put) is not None:
            return True
        self.grid.settle()
        told = msgspec.json.decode(raw)
        self.tree.walk(self.held.container, told, stamp)
        self.held.learn(told, self.grid, self.layouts)
        return False


def test_an_object_is_read_by_its_layout_from_the_third_time_on() -> None:
    made = Object()
    assert [made.quick(text({"Ethernet0": {IN: f'"{n}"', "oper_status": '"up"'}})) for n in range(5)] == [
        *(False, False, True, True, True)
    ]


def test_the_order_of_keys_and_text_that_changes_cost_no_layout() -> None:
    made = Object()
    for _ in range(2):
        made.quick(text({"Ethernet0": {IN: '"1"', OUT: '"N/A"', "oper_status": '"up"'}}))
    held = {"Ethernet0": {"oper_status": '"down"', OUT: '"7"', IN: '"2"'}}
    assert [made.quick(text(held)) for _ in range(2)] == [True, True]
    assert made.grid.cut("leaf1", 1, cluster="c").columns["port_rx_bytes"] == [2]


def test_a_field_that_was_no_number_once_costs_no_second_layout() -> None:
    made = Object()
    raws = [text({"Ethernet0": {IN: value, OUT: '"1"'}}) for value in ('"5"', '"N/A"')]
    ways = [made.quick(raws[n % 20 == 19]) for n in range(100)]
    assert [n for n, way in enumerate(ways) if not way] == [0, 1, 19]


def test_an_object_that_never_keeps_its_keys_is_left_to_the_slow_way() -> None:
    made = Object()
    ways = [made.quick(text({"Ethernet0": {IN: "1", **{f"new{n // 3}": "1"}}})) for n in range(300)]
    assert sum(ways) < 20


def test_objects_of_too_many_keys_or_of_keys_that_no_type_can_have_are_left_to_the_slow_way() -> None:
    many, quoted = Object(most_keys=2), Object()
    assert not any([many.quick(text({f"Ethernet{n}": {IN: "1"} for n in range(3)})) for _ in range(9)])
    assert not any([quoted.quick(text({"Ethernet0": {'"': "1"}})) for _ in range(9)])
