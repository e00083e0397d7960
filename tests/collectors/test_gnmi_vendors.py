"""Native models: each vendor's way to say what a port, a queue and a pause is."""

from typing import Any

import pytest

from collectors.contract.fabric import PortScrape
from collectors.gnmi.decoder import Decoder
from collectors.gnmi.mapping import covers
from collectors.gnmi.path import parse_path
from collectors.gnmi.presets import presets
from tests.collectors.gnmi_bytes import response

T0 = 1_700_000_000 * 1_000_000_000


def decoded(updates: dict[str, Any]) -> PortScrape:
    decoder = Decoder("leaf1")
    decoder.feed(response(T0, updates))
    scrape = decoder.cut()
    assert scrape is not None
    return scrape


def test_nokia_sr_linux_tells_numbers_as_strings_in_containers() -> None:
    scrape = decoded(
        {
            "/interface[name=ethernet-1/1]/statistics": {
                "srl_nokia-interfaces:in-octets": "18446744073709551615",
                "in-discarded-packets": "18",
                "out-mirror-packets": "0",
                "carrier-transitions": "1",
            },
            "/interface[name=ethernet-1/1]/ethernet/statistics": {"in-mac-pause-frames": "7", "in-64b-frames": "1"},
            "/interface[name=ethernet-1/1]/oper-state": "up",
            "/interface[name=ethernet-1/1]/ethernet/port-speed": "400G",
            "/qos/interfaces/interface[interface-id=ethernet-1/1]/output/queues/queue[queue-name=unicast-3]"
            "/queue-statistics/aggregate-statistics": {"transmitted-packets": "5", "dropped-packets": "2"},
        }
    )
    assert [(p.name, p.speed_gbps, p.oper_up) for p in scrape.ports] == [("ethernet-1/1", 400.0, True)]
    assert scrape.columns == {
        "port_rx_bytes": [2**64 - 1],
        "port_rx_discard_packets": [18],
        "port_link_transitions": [1],
        "pause_rx_frames": [7],
        "port_oper_state": [1],
        "queue_tx_packets.3": [5],
        "queue_drop_packets.3": [2],
    }
    assert (scrape.named, scrape.errors) == ({"port_speed_id": ["400G"]}, {})


def test_nokia_sr_os_ports_of_both_statistics_are_one() -> None:
    scrape = decoded(
        {
            "/state/port[port-id=1/1/1]/statistics": {"in-octets": "5", "in-discards": "1"},
            "/state/port[port-id=1/1/1]/ethernet/statistics": {
                "in-octets": "5",
                "crc-align-errors": "3",
                "ethernet-like-medium": {"frame-too-long": "2", "collision": {"late": "0"}},
            },
        }
    )
    assert [p.name for p in scrape.ports] == ["1/1/1"]
    assert scrape.columns == {
        "port_rx_bytes": [5],
        "port_rx_discard_packets": [1],
        "port_rx_crc_error_frames": [3],
        "port_rx_too_long_frames": [2],
    }
    assert scrape.named == {}


def test_cisco_nx_os_queues_tell_drops_marks_pauses_and_storms() -> None:
    queue = {
        "cmapName": "c-out-8q-q3",
        "txPackets": 100,
        "dropPackets": 4,
        "randEcnMarkedPackets": 9,
        "pfcRxPpp": 7,
        "pfcTxPpp": 8,
        "pfcwdShutdownCount": 1,
        "ucTxPackets": 100,
    }
    other = {"cmapName": "c-out-8q-q-default", "txPackets": 50}
    ports = {"If-list": [{"name": "eth1/1", "queCmap-items": {"QueuingStats-list": [queue, other]}}]}
    scrape = decoded({"/System/ipqos-items/queuing-items/policy-items/out-items": {"intf-items": ports}})
    assert [p.name for p in scrape.ports] == ["eth1/1"]
    assert scrape.columns == {
        "queue_tx_packets.0": [50],
        "queue_tx_packets.3": [100],
        "queue_drop_packets.3": [4],
        "queue_ecn_marked_packets.3": [9],
        "pfc_rx_frames.3": [7],
        "pfc_tx_frames.3": [8],
        "pfcwd_storm_detected.3": [1],
    }
    assert scrape.named == {}


def test_cisco_ios_xr_pause_and_buffer_drops_stand_at_the_port() -> None:
    root = "/ethernet-interface/statistics/statistic[interface-name=HundredGigE0/0/0/0]"
    held = {"received-pause-frames": "3", "number-of-buffer-overrun-packets-dropped": 2, "received-good-bytes": 9}
    scrape = decoded({root: held})
    assert ([p.name for p in scrape.ports], scrape.columns, scrape.named) == (
        ["HundredGigE0/0/0/0"],
        {"pause_rx_frames": [3], "port_rx_buffer_drop_packets": [2]},
        {},
    )


def test_juniper_queues_lie_below_the_counters_of_the_port() -> None:
    counters = "/interfaces/interface[name=et-0/0/1]/state/counters"
    scrape = decoded({f"{counters}/in-pause-pkts": 6, f"{counters}/out-queue[queue-number=3]/tail-drop-pkts": 2})
    assert scrape.columns == {"pause_rx_frames": [6], "queue_tail_drop_packets.3": [2]}


def test_cumulus_counts_pfc_by_switch_priority() -> None:
    root = "/qos/interfaces/interface[interface-id=swp1]"
    scrape = decoded(
        {
            f"{root}/switch-priority[priority=3]/state": {
                "counters": {"in-pause-pkts": 4, "in-discards": 1},
                "in-pause-duration": 250,
            },
            f"{root}/output/queues/queue[name=3]/state/no-buffer-uc-dropped-pkts": 2,
            f"{root}/input/priority-group[pg-id=3]/state/counters/in-pkts": 11,
        }
    )
    assert scrape.columns == {
        "pfc_rx_frames.3": [4],
        "prio_rx_discard_packets.3": [1],
        "pfc_rx_pause_us.3": [250],
        "queue_tail_drop_packets.3": [2],
        "pg_rx_packets.3": [11],
    }


@pytest.mark.parametrize(
    ("system", "far_port"),
    [
        ("/system/lldp/interface[name=p1]/neighbor[id=00:11]/system-name", "port-id"),
        (
            "/state/port[port-id=p1]/ethernet/lldp/dest-mac[mac-type=nearest-bridge]/remote-system[index=1]/system-name",
            "remote-port-id",
        ),
        ("/lldp/interfaces/interface[name=p1]/neighbors/neighbor[id=1]/state/system-name", "port-id"),
    ],
)
def test_every_model_of_neighbours_becomes_a_link(system: str, far_port: str) -> None:
    decoder = Decoder("leaf1")
    other = "/interface[name=p1]/statistics/in-octets"
    decoder.feed(response(T0, {system: "node1", system.replace("system-name", far_port): "eth0", other: 1}))
    decoder.cut()
    assert [(link.port, link.far_device, link.far_port) for link in decoder.links()] == [("p1", "node1", "eth0")]


def test_a_neighbour_that_comes_as_one_object_becomes_a_link() -> None:
    decoder = Decoder("leaf1")
    held = {"system-name": "node1", "port-id": "eth0", "port-description": "x"}
    decoder.feed(response(T0, {"/system/lldp/interface[name=p1]/neighbor[id=00:11]": held}))
    assert [(link.port, link.far_device, link.far_port) for link in decoder.links()] == [("p1", "node1", "eth0")]


def test_a_list_of_neighbours_keeps_the_port_of_each() -> None:
    decoder = Decoder("leaf1")
    held = {"interface": [{"name": "p1", "neighbor": [{"id": "1", "system-name": "node1", "port-id": "eth0"}]}]}
    decoder.feed(response(T0, {"/system/lldp": held}))
    assert [(link.port, link.far_device, link.far_port) for link in decoder.links()] == [("p1", "node1", "eth0")]


def test_every_vendor_preset_subscribes_to_ports_and_is_named_in_the_help() -> None:
    import argparse

    from collectors.gnmi.source import add_arguments

    parser = argparse.ArgumentParser()
    add_arguments(parser)
    told = " ".join(parser.format_help().split())
    for name in presets(None):
        assert name in told, name


def test_a_counter_of_each_native_system_is_covered_by_its_preset() -> None:
    wanted = {
        "nokia-srlinux": "/interface[name=x]/statistics/in-octets",
        "nokia-sros": "/state/port[port-id=x]/ethernet/statistics/crc-align-errors",
        "cisco-nxos": "/System/ipqos-items/queuing-items/policy-items/out-items/intf-items",
        "cisco-iosxr": "/ethernet-interface/statistics/statistic[interface-name=x]/symbol-errors",
        "juniper": "/interfaces/interface[name=x]/state/counters/out-queue[queue-number=1]/pkts",
        "cumulus": "/qos/interfaces/interface[interface-id=x]/switch-priority[priority=1]/state/in-pause-duration",
    }
    for name, path in wanted.items():
        elems = parse_path(path).elems
        assert any(covers(s.path.elems, elems) for s in presets(None)[name].subscribed(1.0)), name
