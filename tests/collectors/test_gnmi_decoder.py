"""Bytes of a stream -> scrapes."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.contract.fabric import PortScrape
from collectors.contract.topics import FABRIC_SCRAPES
from collectors.fabric.series import Every, Site
from collectors.gnmi import wire
from collectors.gnmi.decoder import Decoder, StreamError
from collectors.gnmi.mapping import Subscribed
from collectors.gnmi.neighbours import Neighbours
from collectors.gnmi.path import parse_path, write_path
from tests.collectors.gnmi_bytes import IN_OCTETS, response, sync

COUNTERS = "/interfaces/interface[name=Ethernet1]/state/counters"
QUEUE = "/qos/interfaces/interface[interface-id=Ethernet1]/output/queues/queue[name={}]/state/dropped-pkts"
PFC = "/interfaces/interface[name=Ethernet1]/ethernet/pfc/priorities/priority[index=3]/state/dropped-pkts"
S = 1_000_000_000
T0 = 1_700_000_000 * S


def decoded(*raws: bytes, **options: Any) -> PortScrape:
    """One cut of everything."""
    decoder = Decoder("leaf1", **options)
    for raw in raws:
        assert decoder.feed(raw) is None
    scrape = decoder.cut()
    assert scrape is not None
    return scrape


def valued(**arm: Any) -> bytes:
    """One update whose value has the given arm."""
    out = wire.SubscribeResponse()
    out.update.timestamp = T0
    out.update.update.add(path=write_path(parse_path(IN_OCTETS)), val=wire.TypedValue(**arm))
    return bytes(out.SerializeToString())


@pytest.mark.parametrize(
    ("arm", "value"),
    [
        ({"uint_val": 2**64 - 1}, 2**64 - 1),
        ({"uint_val": 0}, 0),
        ({"int_val": 5678}, 5678),
        ({"int_val": -1}, -1),
        ({"string_val": b"18446744073709551615"}, 2**64 - 1),
        ({"ascii_val": b"17"}, 17),
        ({"json_ietf_val": b'"9007199254740993"'}, 9007199254740993),
        ({"json_val": b"9007199254740993"}, 9007199254740993),
        ({"decimal_val": {"digits": 204, "precision": 1}}, 20.4),
        ({"decimal_val": {"digits": 204, "precision": 0}}, 204),
        ({"double_val": 3e9}, 3_000_000_000),
        ({"float_val": 0.5}, 0.5),
        ({"bool_val": True}, 1),
        ({"string_val": b"N/A"}, None),
        ({"json_ietf_val": b"null"}, None),
        ({"json_ietf_val": b"[1,2]"}, None),
        ({"any_val": b"\x01"}, None),
        ({"json_val": b"{broken"}, None),
        ({}, None),
    ],
)
def test_each_arm_of_a_value_is_read_as_itself(arm: dict[str, Any], value: float | None) -> None:
    first = decoded(valued(**arm)).columns.get("port_rx_bytes", [None])
    again = decoded(valued(uint_val=7), valued(**arm)).columns["port_rx_bytes"]
    assert first == again == [value]
    assert type(first[0]) is type(again[0]) is type(value)


def test_a_value_of_the_deprecated_form_is_read() -> None:
    out = wire.SubscribeResponse()
    out.update.timestamp = T0
    out.update.update.add(path=write_path(parse_path(IN_OCTETS))).value.value = b'"12"'
    assert decoded(out.SerializeToString()).columns == {"port_rx_bytes": [12]}


def test_the_prefix_and_the_path_are_one() -> None:
    split = response(T0, {"counters/in-octets": 5}, prefix="/interfaces/interface[name=Ethernet1]/state")
    assert decoded(split).columns == decoded(response(T0, {IN_OCTETS: 5})).columns == {"port_rx_bytes": [5]}


def test_queues_keep_their_number_and_a_name_is_mapped_by_the_site() -> None:
    raw = response(T0, {QUEUE.format(q): n for n, q in enumerate(("3", "UC4", "RDMA", "MC0"))})
    assert decoded(raw, site=Site(queues={"RDMA": "5"})).columns == {
        "queue_drop_packets.3": [0],
        "queue_drop_packets.4": [1],
        "queue_drop_packets.5": [2],
        "queue_drop_packets.MC0": [3],
    }


def test_arista_headroom_drops_stand_under_their_priority() -> None:
    assert decoded(response(T0, {PFC: 9})).columns == {"pg_drop_packets.3": [9]}


def test_an_unknown_leaf_keeps_its_own_name_with_its_keys() -> None:
    path = "/interfaces/interface[name=Ethernet1]/new/things/thing[id=4]/state/level"
    assert decoded(response(T0, {path: 9})).named == {"/interfaces/interface/new/things/thing[id=4]/state/level": [9]}


def test_a_json_container_is_the_same_as_its_leaves() -> None:
    held = {"in-octets": "5", "openconfig-interfaces:out-octets": 6}
    assert decoded(response(T0, {COUNTERS: held})).columns == {"port_rx_bytes": [5], "port_tx_bytes": [6]}


def test_a_json_list_finds_its_rows_by_their_keys() -> None:
    held = {
        "interface": [
            {"name": port, "state": {"name": port, "counters": {"in-octets": str(n)}}}
            for n, port in enumerate(("Ethernet1", "Ethernet2"))
        ]
    }
    scrape = decoded(response(T0, {"/interfaces": held}))
    assert ([p.name for p in scrape.ports], scrape.columns["port_rx_bytes"]) == (["Ethernet1", "Ethernet2"], [0, 1])


def test_sonic_answers_all_ports_in_one_message() -> None:
    held = {
        "Ethernet0": {"SAI_PORT_STAT_IF_IN_OCTETS": "18446744073709551615", "SAI_PORT_STAT_PFC_3_RX_PKTS": "2"},
        "Ethernet4": {"SAI_PORT_STAT_IF_IN_OCTETS": "7", "SAI_PORT_STAT_IP_IN_OCTETS": "1"},
    }
    queues = {"Ethernet0:3": {"SAI_QUEUE_STAT_DROPPED_PACKETS": "4"}, "Ethernet0:4": {}}
    scrape = decoded(
        response(T0, {"COUNTERS/Ethernet*": held, "COUNTERS/Ethernet*/Queues": queues}, target="COUNTERS_DB")
    )
    assert scrape.columns == {
        "port_rx_bytes": [2**64 - 1, 7],
        "pfc_rx_frames.3": [2, None],
        "queue_drop_packets.3": [4, None],
    }
    assert scrape.named == {}


def test_one_sonic_field_is_a_bare_string() -> None:
    raw = response(T0, {"COUNTERS/Ethernet68/SAI_PORT_STAT_PFC_7_RX_PKTS": "2"}, target="COUNTERS_DB")
    scrape = decoded(raw)
    assert (scrape.ports[0].name, scrape.columns) == ("Ethernet68", {"pfc_rx_frames.7": [2]})


def test_what_the_table_ignores_is_left_out_unless_it_is_wanted() -> None:
    path = "/interfaces/interface[name=Ethernet1]/state/description"
    raw = response(T0, {path: "uplink", IN_OCTETS: 1})
    assert decoded(raw).named == {}
    assert decoded(raw, keep_ignored=True).named == {"/interfaces/interface/state/description": ["uplink"]}


def test_a_repeat_begins_a_new_round_and_only_the_first_scrape_is_a_baseline() -> None:
    decoder = Decoder("leaf1", interval_us=1_000_000)
    cuts = [decoder.feed(response(T0 + n * S, {IN_OCTETS: n})) for n in range(3)]
    seen = [(c.ts_us, c.columns["port_rx_bytes"], c.baseline) for c in cuts if c is not None]
    assert seen == [(T0 // 1000, [0], True), (T0 // 1000 + 1_000_000, [1], False)]


def test_the_end_of_the_snapshot_is_the_baseline() -> None:
    decoder = Decoder("leaf1")
    assert decoder.feed(sync()) is None
    decoder.feed(response(T0, {IN_OCTETS: 5}))
    scrape = decoder.feed(sync())
    assert scrape is not None
    assert scrape.baseline


def test_ports_of_one_round_with_times_that_cross_are_one_scrape() -> None:
    decoder = Decoder("leaf1", interval_us=1_000_000)
    for n, port in enumerate(("Ethernet1", "Ethernet2", "Ethernet3")):
        assert decoder.feed(response(T0 - n * 1000, {IN_OCTETS.replace("Ethernet1", port): n})) is None
    scrape = decoder.cut()
    assert scrape is not None
    assert scrape.columns == {"port_rx_bytes": [0, 1, 2]}


def test_a_late_or_repeated_value_changes_nothing() -> None:
    decoder = Decoder("leaf1", interval_us=1_000_000)
    for raw in (response(T0 + 5, {IN_OCTETS: 50}), response(T0, {IN_OCTETS: 10}), response(T0 + 5, {IN_OCTETS: 50})):
        assert decoder.feed(raw) is None
    scrape = decoder.cut()
    assert scrape is not None
    assert (scrape.columns, scrape.ts_us, decoder.late) == ({"port_rx_bytes": [50]}, T0 // 1000, 1)


def test_a_device_whose_clock_was_set_back_is_still_read_by_the_time_of_receipt() -> None:
    decoder = Decoder("leaf1", interval_us=1_000_000)
    now_us = T0 // 1000
    decoder.feed(response(T0, {IN_OCTETS: 1}), now_us)
    decoder.feed(response(T0 - 60 * S, {IN_OCTETS: 2}), now_us + 1_000_000)
    scrape = decoder.cut(now_us + 1_000_000)
    assert scrape is not None
    assert (scrape.columns, scrape.ts_us, list(scrape.errors)) == (
        {"port_rx_bytes": [2]},
        now_us + 1_000_000,
        ["clock"],
    )


def test_a_clock_that_is_far_off_is_not_believed() -> None:
    decoder = Decoder("leaf1")
    decoder.feed(response(5, {IN_OCTETS: 1}), T0 // 1000)
    scrape = decoder.cut(T0 // 1000)
    assert scrape is not None
    assert (scrape.ts_us, list(scrape.errors)) == (T0 // 1000, ["clock"])


def test_a_deleted_port_is_absent_and_not_zero() -> None:
    decoder = Decoder("leaf1")
    decoder.feed(response(T0, {IN_OCTETS: 1, IN_OCTETS.replace("Ethernet1", "Ethernet2"): 2}))
    decoder.feed(response(T0 + S, {}, deletes=("/interfaces/interface[name=Ethernet1]",)))
    scrape = decoder.cut()
    assert scrape is not None
    assert ([p.name for p in scrape.ports], scrape.columns) == (["Ethernet2"], {"port_rx_bytes": [2]})


def test_a_deleted_leaf_leaves_a_hole_and_comes_back() -> None:
    decoder = Decoder("leaf1", interval_us=1)
    other = COUNTERS + "/out-octets"
    decoder.feed(response(T0, {IN_OCTETS: 1, other: 2, IN_OCTETS.replace("Ethernet1", "Ethernet2"): 3}))
    decoder.feed(response(T0 + S, {}, deletes=(IN_OCTETS,)))
    gone = decoder.cut()
    decoder.feed(response(T0 + 2 * S, {IN_OCTETS: 9}))
    back = decoder.cut()
    assert gone is not None
    assert back is not None
    assert (gone.columns["port_rx_bytes"], back.columns["port_rx_bytes"]) == ([None, 3], [9, 3])


def test_two_byte_forms_of_a_path_are_one_series() -> None:
    decoder = Decoder("leaf1")
    for n, keys in enumerate(((b"index", b"queue-type"), (b"queue-type", b"index"))):
        path = wire.Path()
        for name in (b"interfaces", b"interface", b"ethernet", b"pfc", b"watchdog", b"tx-queues", b"tx-queue"):
            step = path.elem.add(name=name)
            if name == b"interface":
                step.key.add(key=b"name", value=b"Ethernet1")
        for key in keys:
            step.key.add(key=key, value=b"3" if key == b"index" else b"UNICAST")
        path.elem.add(name=b"state")
        path.elem.add(name=b"stuck-count")
        out = wire.SubscribeResponse()
        out.update.timestamp = T0 + n
        out.update.update.add(path=path.SerializeToString()).val.uint_val = n + 1
        decoder.feed(out.SerializeToString())
    scrape = decoder.cut()
    assert scrape is not None
    assert (scrape.columns, scrape.forms["pfcwd_storm_detected.3"].bits) == ({"pfcwd_storm_detected.3": [2]}, 32)


def test_the_epoch_changes_with_the_boot_time_and_with_a_clear() -> None:
    boot, clear = "/system/state/boot-time", COUNTERS + "/last-clear"
    epochs = [decoded(response(T0, {IN_OCTETS: 1, boot: b, clear: c})).epoch for b, c in ((1, 5), (2, 5), (2, 6))]
    assert epochs == ["boot:1/clear:5", "boot:2/clear:5", "boot:2/clear:6"]


def test_a_queue_that_is_sampled_more_slowly_says_so() -> None:
    subscribed = (
        Subscribed(parse_path("COUNTERS/Ethernet*/Queues"), Every(10_000_000, 10_000_000)),
        Subscribed(parse_path("COUNTERS/Ethernet*"), Every(1_000_000, 1_000_000)),
    )
    raw = response(
        T0,
        {
            "COUNTERS/Ethernet*": {"Ethernet0": {"SAI_PORT_STAT_IF_IN_OCTETS": "1"}},
            "COUNTERS/Ethernet*/Queues": {"Ethernet0:3": {"SAI_QUEUE_STAT_PACKETS": "1"}},
        },
        target="COUNTERS_DB",
    )
    forms = decoded(raw, subscribed=subscribed, interval_us=1_000_000).forms
    assert {name: form.refresh_us for name, form in forms.items()} == {"queue_tx_packets.3": 10_000_000}


def test_a_neighbour_becomes_a_link_once_and_its_loss_too() -> None:
    decoder = Decoder("leaf1")
    leaf = "/lldp/interfaces/interface[name=Ethernet1]/neighbors/neighbor[id=7]/state/{}"
    told = {leaf.format("system-name"): "node1", leaf.format("port-id"): "eth0"}
    seen = []
    for n, raw in enumerate(
        (
            response(T0, {**told, IN_OCTETS: 1}),
            response(T0 + S, {IN_OCTETS: 2}),
            response(T0 + 2 * S, {IN_OCTETS: 3}, deletes=("/lldp/interfaces/interface[name=Ethernet1]/neighbors",)),
        )
    ):
        decoder.feed(raw)
        decoder.cut()
        seen += [(n, link.port, link.far_device, link.far_port, link.up) for link in decoder.links()]
    assert seen == [(0, "Ethernet1", "node1", "eth0", True), (2, "Ethernet1", "node1", "eth0", False)]


def test_bytes_that_are_no_response_are_refused() -> None:
    with pytest.raises(wire.DecodeError):
        Decoder("leaf1").feed(b"\xff\xff\xff")


def test_a_message_of_many_megabytes_is_read() -> None:
    fields = {f"SAI_PORT_STAT_PFC_{p}_{w}_PKTS": str(2**60 + p) for p in range(8) for w in ("RX", "TX")}
    held = {f"Ethernet{n}": fields for n in range(0, 4096, 2)}
    raw = response(T0, {"COUNTERS/Ethernet*": held}, target="COUNTERS_DB")
    scrape = decoded(raw)
    assert (len(raw) > 1_000_000, len(scrape.ports), scrape.columns["pfc_rx_frames.7"][-1]) == (True, 2048, 2**60 + 7)


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_as_bytes_that_cannot_be_read(raw: bytes) -> None:
    decoder = Decoder("leaf1")
    with suppress(wire.DecodeError, StreamError, ValueError, LookupError, TypeError):
        decoder.feed(raw)
    decoder.cut()


@settings(deadline=None)
@given(
    st.dictionaries(
        st.text(max_size=8),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
            max_leaves=10,
        ),
        max_size=4,
    ),
    st.sampled_from(["/interfaces", "/COUNTERS/Ethernet*", "/lldp", "/components/component[name=a]"]),
)
def test_json_of_any_shape_makes_a_message_that_can_be_sent(held: dict[str, Any], path: str) -> None:
    decoder = Decoder("leaf1")
    for n in range(2):
        decoder.feed(response(T0 + n, {path: held}))
    scrape = decoder.cut()
    if scrape is not None:
        assert FABRIC_SCRAPES.decode(FABRIC_SCRAPES.encode(scrape)).ports == scrape.ports


def test_a_link_is_not_down_because_a_new_snapshot_is_not_in_yet() -> None:
    neighbours = Neighbours()
    leaf = "/lldp/interfaces/interface[name=Ethernet1]/neighbors/neighbor[id=7]/state/system-name"
    first = Decoder("leaf1", neighbours=neighbours)
    first.feed(response(T0, {leaf: "node1"}))
    first.feed(sync())
    told = [first.links()]
    neighbours.clear()
    second = Decoder("leaf1", neighbours=neighbours)
    second.feed(response(T0 + S, {IN_OCTETS: 1}))
    second.cut()
    told.append(second.links())
    second.feed(response(T0 + 2 * S, {IN_OCTETS: 2}))
    second.feed(sync())
    told.append(second.links())
    assert [[link.up for link in links] for links in told] == [[True], [], [False]]
