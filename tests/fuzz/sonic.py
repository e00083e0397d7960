"""SONiC: dumps of COUNTERS_DB, and what a redis answers."""

import json

import msgspec

from collectors.contract.topics import FABRIC_SCRAPES
from collectors.fabric.grid import Grid
from collectors.fabric.series import Site
from collectors.sonic.database import DatabaseError, Replies
from collectors.sonic.dump import DumpForm, read_dump
from collectors.sonic.learn import COMMANDS, read_learned
from collectors.sonic.names import owners
from collectors.sonic.plan import Plan, hashes, plan
from tests.collectors.list_outlet import ListOutlet
from tests.fuzz.gnmi import numbers
from tests.fuzz.parser import Parser

_MAPS = {"COUNTERS_PORT_NAME_MAP": {"Ethernet0": "oid:0x1"}, "COUNTERS_QUEUE_NAME_MAP": {"Ethernet0:3": "oid:0x2"}}
_PORT = {"SAI_PORT_STAT_IF_IN_OCTETS": "18446744073709551615", "SAI_PORT_STAT_PFC_3_RX_PKTS": "2"}
_QUEUE = {"SAI_QUEUE_STAT_DROPPED_PACKETS": "4", "PFC_WD_STATUS": "stormed"}
_FIELDS = {"COUNTERS:oid:0x1": sorted(_PORT), "COUNTERS:oid:0x2": sorted(_QUEUE)}


def _dump(data: bytes) -> ListOutlet:
    outlet, grid = ListOutlet(), Grid(site=Site(), keep_ignored=True)
    try:
        for series, value in read_dump(msgspec.json.decode(data), "Ethernet9"):
            grid.put(grid.cell(series), value, (1, grid.round))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, DumpForm) as why:
        outlet.reject("sonic", data, str(why))
        return outlet
    if len(grid):
        outlet.publish(FABRIC_SCRAPES, grid.cut("switch", 1, cluster="default"))
    return outlet


def _plan(grid: Grid) -> Plan:
    found = [(hash_, _FIELDS[hash_.key]) for hash_ in hashes(owners(_MAPS)) if hash_.key in _FIELDS]
    return plan(found, ["Ethernet0"], grid, {}, interval_us=1_000_000, keep_ignored=False)


def _answers(data: bytes) -> ListOutlet:
    """As a sweep: nothing is taken before every answer is in."""
    outlet, grid = ListOutlet(), Grid(site=Site())
    asked = _plan(grid)
    try:
        replies = Replies().feed(data)
        if len(replies) == asked.replies:
            asked.take(replies, grid, (1, grid.round))
            outlet.publish(FABRIC_SCRAPES, grid.cut("switch", 1, cluster="default"))
    except DatabaseError as why:
        outlet.reject("sonic", data, str(why))
    return outlet


def _learned(data: bytes) -> ListOutlet:
    outlet = ListOutlet()
    try:
        replies = Replies().feed(data)
        if len(replies) == len(COMMANDS):
            hashes(read_learned(replies).owned)
    except DatabaseError as why:
        outlet.reject("sonic", data, str(why))
    return outlet


def _bulk(*texts: str | None) -> bytes:
    heads = (b"$-1\r\n" if text is None else b"$%d\r\n%s\r\n" % (len(text), text.encode()) for text in texts)
    return b"*%d\r\n" % len(texts) + b"".join(heads)


_TIME, _OK = _bulk("1700000000", "12"), b"+OK\r\n"
_SWEEP = (
    _TIME
    + _OK
    + _bulk("up", "400000", "rs", None)
    + _OK
    + _bulk(*(_PORT[name] for name in sorted(_PORT)))
    + _bulk(*(_QUEUE[name] for name in sorted(_QUEUE)))
    + _OK
    + _bulk("node1", "mlx5_0")
)
_LEARN = (
    b"$14\r\nrun_id:abcdef\n\r\n"
    + _OK
    + b"$5\r\nleaf7\r\n"
    + _OK
    + _bulk("POLL_INTERVAL", "1000", "FLEX_COUNTER_STATUS", "enable") * 10
    + _OK
    + _bulk("Ethernet0", "oid:0x1")
    + b"*0\r\n" * 6
)

PARSERS = (
    Parser(
        "sonic-dump",
        (
            json.dumps(_PORT).encode(),
            json.dumps({"Ethernet0": _PORT, "Ethernet0:3": _QUEUE, "Ethernet0:4": {}}).encode(),
            json.dumps(
                {**_MAPS, "COUNTERS:oid:0x1": _PORT, "COUNTERS:oid:0x2": {"type": "hash", "value": _QUEUE}}
            ).encode(),
        ),
        _dump,
        numbers,
    ),
    Parser("sonic-redis", (_SWEEP,), _answers, numbers),
    Parser("sonic-redis-names", (_LEARN,), _learned),
)
