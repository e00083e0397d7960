"""SONiC over gNMI: object ids with their name maps, neighbours, ports, virtual output queues."""

from typing import Any

from collectors.contract.fabric import PortScrape
from collectors.gnmi.decoder import Decoder
from collectors.gnmi.presets import presets
from tests.collectors.gnmi_bytes import response, sync

S = 1_000_000_000
T0 = 1_700_000_000 * S
ROOT = "/COUNTERS_DB/localhost/"
PORTS, QUEUES = ROOT + "COUNTERS_PORT_NAME_MAP", ROOT + "COUNTERS_QUEUE_NAME_MAP"
COUNTERS = ROOT + "COUNTERS"
VALUES = {
    "oid:0x1": {"SAI_PORT_STAT_IF_IN_OCTETS": "18446744073709551615"},
    "oid:0x2": {"SAI_QUEUE_STAT_DROPPED_PACKETS": "4", "PFC_WD_STATUS": "stormed"},
    "oid:0x9": {"SAI_ROUTER_INTERFACE_STAT_IN_OCTETS": "1"},
}


def fed(decoder: Decoder, *raws: bytes) -> list[PortScrape]:
    return [scrape for raw in raws if (scrape := decoder.feed(raw)) is not None]


def by_oid(ts: int, updates: dict[str, Any]) -> bytes:
    return response(T0 + ts * S, updates)


def decoder(**options: Any) -> Decoder:
    return Decoder("leaf1", subscribed=presets(None)["sonic-oid"].subscribed(1.0), interval_us=1_000_000, **options)


def test_objects_are_called_by_the_name_maps() -> None:
    (scrape,) = fed(
        decoder(),
        by_oid(0, {PORTS: {"Ethernet0": "oid:0x1"}}),
        by_oid(0, {QUEUES: {"Ethernet0:3": "oid:0x2"}}),
        by_oid(0, {COUNTERS: VALUES}),
        sync(),
    )
    assert [port.name for port in scrape.ports] == ["Ethernet0"]
    assert scrape.columns == {"port_rx_bytes": [2**64 - 1], "queue_drop_packets.3": [4], "pfcwd_state.3": [1]}
    assert scrape.named == {}


def test_counters_that_come_before_their_names_wait_for_the_next_round() -> None:
    made = decoder()
    maps = by_oid(0, {PORTS: {"Ethernet0": "oid:0x1"}, QUEUES: {"Ethernet0:3": "oid:0x2"}})
    assert fed(made, by_oid(0, {COUNTERS: VALUES}), maps, sync()) == []
    (scrape,) = fed(made, by_oid(1, {COUNTERS: VALUES}), by_oid(2, {COUNTERS: VALUES}))
    assert (scrape.baseline, scrape.columns["queue_drop_packets.3"]) == (True, [4])


def test_a_port_that_was_split_is_called_by_its_new_object() -> None:
    made = decoder()
    fed(made, by_oid(0, {PORTS: {"Ethernet0": "oid:0x1"}}), by_oid(0, {COUNTERS: VALUES}), sync())
    moved = {"oid:0x1": {"SAI_PORT_STAT_IF_IN_OCTETS": "5"}, "oid:0x7": {"SAI_PORT_STAT_IF_IN_OCTETS": "6"}}
    fed(made, by_oid(1, {PORTS: {"Ethernet4": "oid:0x7"}}), by_oid(1, {COUNTERS: moved}))
    scrape = made.cut()
    assert scrape is not None
    assert ([p.name for p in scrape.ports], scrape.columns) == (["Ethernet4"], {"port_rx_bytes": [6]})


def test_the_preset_for_object_ids_asks_in_the_dialect_of_its_own() -> None:
    preset = presets(None)["sonic-oid"]
    assert (preset.origin, preset.target, preset.encoding) == ("sonic-db", "", "JSON_IETF")
    assert {wanted.path for wanted in preset.subscribe} >= {PORTS, QUEUES, COUNTERS}
    assert all(preset.call_of(wanted) == ("", False) for wanted in preset.subscribe)


def test_a_whole_neighbour_table_without_a_port_says_that_it_is_heard_no_more() -> None:
    preset = presets(None)["sonic"]
    made = Decoder("leaf1", subscribed=preset.subscribed(1.0))
    told = []
    for n, table in enumerate(({"Ethernet0": {"lldp_rem_sys_name": "node1"}}, {"Ethernet4": {"lldp_rem_mgmt": "x"}})):
        made.feed(response(T0 + n * S, {"LLDP_ENTRY_TABLE": table}, target="APPL_DB"), side=True)
        made.feed(sync(), side=True)
        told += [(n, link.port, link.far_device, link.up) for link in made.links()]
    assert told == [(0, "Ethernet0", "node1", True), (1, "Ethernet0", "node1", False)]


def test_speed_and_state_of_ports_come_from_the_application_database() -> None:
    table = {
        "Ethernet0": {"oper_status": "up", "speed": "400000", "lanes": "1,2", "mtu": "9100"},
        "PortInitDone": {"lanes": "0"},
    }
    made = Decoder("leaf1")
    made.feed(response(T0, {"PORT_TABLE": table}, target="APPL_DB"))
    scrape = made.cut()
    assert scrape is not None
    assert [(p.name, p.speed_gbps, p.oper_up) for p in scrape.ports] == [("Ethernet0", 400.0, True)]
    assert scrape.named == {}


def test_virtual_output_queues_stand_under_the_port_that_they_lead_to() -> None:
    held = {"lc1|Asic0|Ethernet0:3": {"SAI_QUEUE_STAT_DROPPED_PACKETS": "4"}}
    made = Decoder("leaf1")
    made.feed(response(T0, {"COUNTERS/*/VoQs": held}, target="COUNTERS_DB"))
    scrape = made.cut()
    assert scrape is not None
    assert ([p.name for p in scrape.ports], scrape.columns) == (
        ["voq:lc1|Asic0|Ethernet0"],
        {"voq_drop_packets.3": [4]},
    )


def test_openconfig_virtual_output_queues_stand_at_the_port_they_begin_with_the_far_one_in_the_name() -> None:
    path = (
        "/qos/interfaces/interface[interface-id=Ethernet1]/input/virtual-output-queues/voq-interface[name=Ethernet9]"
        "/queues/queue[name=3]/state/dropped-pkts"
    )
    made = Decoder("leaf1")
    made.feed(response(T0, {path: 7}))
    scrape = made.cut()
    assert scrape is not None
    assert ([p.name for p in scrape.ports], scrape.columns) == (["Ethernet1"], {"voq_drop_packets.3@Ethernet9": [7]})
