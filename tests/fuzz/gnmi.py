"""A gNMI stream as gRPC frames it, and recordings in every form."""

import json
import struct
from collections.abc import Hashable, Iterator, Mapping

from collectors.contract.fabric import PortScrape
from collectors.contract.topics import FABRIC_LINKS, FABRIC_SCRAPES
from collectors.fabric.series import Site
from collectors.gnmi.decoder import Decoder
from collectors.gnmi.intake import take
from collectors.gnmi.recorded import RecordedError
from collectors.gnmi.replay import play
from tests.collectors.gnmi_bytes import IN_OCTETS, response, sync
from tests.collectors.list_outlet import ListOutlet
from tests.fuzz.parser import Parser

T0 = 1_700_000_000_000_000_000
_PFC = "/interfaces/interface[name=Ethernet1]/ethernet/pfc/priorities/priority[index=3]/state/dropped-pkts"
_LLDP = "/lldp/interfaces/interface[name=Ethernet1]/neighbors/neighbor[id=1]/state/system-name"
_SONIC = {"Ethernet0": {"SAI_PORT_STAT_IF_IN_OCTETS": "18446744073709551615", "SAI_PORT_STAT_PFC_3_RX_PKTS": "2"}}
_QUEUES = {"Ethernet0:3": {"SAI_QUEUE_STAT_DROPPED_PACKETS": "4", "PFC_WD_STATUS": "stormed"}, "Ethernet0:4": {}}


def _framed(*raws: bytes) -> bytes:
    return b"".join(struct.pack(">BI", 0, len(raw)) + raw for raw in raws)


def _frames(data: bytes) -> Iterator[bytes]:
    at = 0
    while at + 5 <= len(data):
        (length,) = struct.unpack_from(">I", data, at + 1)
        if at + 5 + length > len(data):
            return
        yield data[at + 5 : at + 5 + length]
        at += 5 + length


def _stream(data: bytes) -> ListOutlet:
    outlet, decoder = ListOutlet(), Decoder("leaf1", interval_us=1_000_000)
    for raw in _frames(data):
        scrape, _ = take(decoder, raw, T0 // 1000, reject=lambda raw, why: outlet.reject("gnmi:leaf1", raw, why))
        if scrape is not None:
            outlet.publish(FABRIC_SCRAPES, scrape)
            for link in decoder.links():
                outlet.publish(FABRIC_LINKS, link)
    return outlet


def _one(data: bytes) -> ListOutlet:
    """One message, whole or not: what is in the cells afterwards."""
    outlet, decoder = ListOutlet(), Decoder("leaf1", keep_ignored=True)
    take(decoder, data, T0 // 1000, reject=lambda raw, why: outlet.reject("gnmi:leaf1", raw, why))
    scrape = decoder.cut(T0 // 1000)
    if scrape is not None:
        outlet.publish(FABRIC_SCRAPES, scrape)
    return outlet


def _recorded(data: bytes) -> ListOutlet:
    outlet = ListOutlet()
    try:
        play(data.decode(), "recording", outlet, device=None, site=Site(), cluster="default")
    except (RecordedError, UnicodeDecodeError) as why:
        outlet.reject("gnmi:recording", data, str(why))
    return outlet


def numbers(outlet: ListOutlet) -> Mapping[Hashable, float | None]:
    """Every cell of every scrape."""
    scrapes: list[PortScrape] = outlet.of(FABRIC_SCRAPES)
    return {
        (number, scrape.ports[row].name, name): value
        for number, scrape in enumerate(scrapes)
        for name, column in scrape.columns.items()
        for row, value in enumerate(column)
    }


_SNAPSHOT = response(T0, {IN_OCTETS: 5, _PFC: 2**60, _LLDP: "node1"})
_DELETED = response(T0 + 3_000_000_000, {IN_OCTETS: 9}, deletes=(_PFC, "/lldp/interfaces"))
_JSON = response(T0, {"COUNTERS/Ethernet*": _SONIC, "COUNTERS/Ethernet*/Queues": _QUEUES}, target="COUNTERS_DB")
_TEXTS = (
    {"update": {"timestamp": str(T0), "update": [{"path": {"elem": []}, "val": {"uintVal": "5"}}]}},
    {
        "name": "default",
        "timestamp": T0,
        "tags": {"interface_name": "Ethernet1", "source": "leaf1:6030"},
        "values": {"/interfaces/interface/state/counters/in-octets": "65382630"},
    },
    {
        "source": "leaf1:6030",
        "timestamp": T0,
        "updates": [{"Path": "interfaces/interface[name=Ethernet1]/state/counters/in-octets", "values": {"x": 7}}],
    },
)

PARSERS = (
    Parser(
        "gnmi-stream",
        (
            _framed(_SNAPSHOT, sync(), response(T0 + 1_000_000_000, {IN_OCTETS: 6}), _DELETED, sync()),
            _framed(_JSON, sync()),
        ),
        _stream,
        numbers,
    ),
    Parser("gnmi-response", (_SNAPSHOT, _DELETED, _JSON), _one, numbers),
    Parser(
        "gnmi-recorded",
        (
            json.dumps(_TEXTS[1]).encode(),
            json.dumps([_TEXTS[1], _TEXTS[2]]).encode(),
            b"".join(json.dumps(text).encode() + b"\n" for text in _TEXTS),
        ),
        _recorded,
        numbers,
    ),
)
