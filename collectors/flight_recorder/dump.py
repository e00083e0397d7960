"""One rank's dump: its process groups and the operations it remembers.

Form: pytorch/pytorch torch/csrc/distributed/c10d/FlightRecorderDetail.hpp, versions 2.x, as a pickle or as JSON.
The JSON form writes numbers of `pg_status` as text, and 0 where the pickle has None for a time that has not come.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, get_args

import msgspec

from collectors.contract.job import OperationState
from collectors.flight_recorder.bounds import CutError, DumpError
from collectors.flight_recorder.recorded import Dump, Entry, Group
from collectors.flight_recorder.unpickle import BOUNDS, load
from collectors.nccl.operation import operation

MOST_ENTRIES = 200_000
MOST_JSON_BYTES = 32 << 20
"""20,000 entries are 14 MB."""
MOST_RANKS = 1 << 20
MOST_NAMED = 8 * MOST_RANKS
"""Ranks in all groups together. A pickle may point at one list a million times: what is walked is counted."""
MOST_TENSORS = 2_000_000
"""In all entries together."""
MOST_DIMS = 16
MOST_NAME = 1024
_WIDTHS = {
    **dict.fromkeys(("Double", "Long", "UInt64", "ComplexFloat"), 8),
    **dict.fromkeys(("Float", "Int", "UInt32", "ComplexHalf"), 4),
    **dict.fromkeys(("Half", "BFloat16", "Short", "UInt16"), 2),
    **dict.fromkeys(("Byte", "Char", "Bool", "Float8_e5m2", "Float8_e4m3fn", "Float8_e5m2fnuz", "Float8_e4m3fnuz"), 1),
    "ComplexDouble": 16,
}
"""Bytes an element, by PyTorch's name of the type (c10/core/ScalarType.h)."""
_STATES: frozenset[str] = frozenset(get_args(OperationState))
_PEER = re.compile(r"([0-9]{1,9})(->|<-)([0-9]{1,9})")


def read_dump(raw: bytes) -> Dump:
    """Raises `DumpError`; `CutError` where the end is missing."""
    whole = _json(raw) if raw[:64].lstrip()[:1] == b"{" else load(raw)
    if not isinstance(whole, dict) or ("entries" not in whole and "pg_config" not in whole):
        raise DumpError("no flight recorder's: neither entries nor pg_config in it")
    groups = _groups(whole.get("pg_config"))
    entries = whole.get("entries", [])
    if not isinstance(entries, list) or len(entries) > MOST_ENTRIES:
        raise DumpError(f"entries is not a list of up to {MOST_ENTRIES}")
    read, ids, tensors = [], dict[str, str](), 0
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise DumpError(f"entry {number} is not a table")
        sizes = entry.get("input_sizes")
        tensors += len(sizes) if isinstance(sizes, list) else 0
        if tensors > MOST_TENSORS:
            raise DumpError(f"more than {MOST_TENSORS} tensors")
        read.append(_entry(entry, number, groups, ids))
    for key, status in _table(whole.get("pg_status")).items():
        # Its keys are ids, which the entries lead to names; without entries an id is the name in most jobs.
        group = groups.get(ids.get(_name(key), _name(key)))
        if group is not None:
            group.status = _status(_table(status))
    version = whole.get("version")
    return Dump(version if isinstance(version, str) else None, groups, read)


def _json(raw: bytes) -> Any:
    if len(raw) > MOST_JSON_BYTES:
        raise DumpError(f"JSON of more than {MOST_JSON_BYTES >> 20} MB")
    if raw.count(b"{") + raw.count(b"[") > BOUNDS.containers:
        raise DumpError(f"more than {BOUNDS.containers} containers")
    try:
        return msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as why:
        if "truncated" in str(why):
            raise CutError(f"cut off after {len(raw)} bytes") from why
        raise DumpError(f"not JSON: {why}") from why


def _groups(config: Any) -> dict[str, Group]:
    out: dict[str, Group] = {}
    named = 0
    for key, told in _table(config).items():
        found, name = _table(told), _name(key)
        desc = found.get("desc")
        out[name] = Group(name, _name(desc) if isinstance(desc, str) else None, _ranks(found.get("ranks"), name))
        named += len(out[name].ranks or ())
        if named > MOST_NAMED:
            raise DumpError(f"groups of more than {MOST_NAMED} ranks")
    return out


def _ranks(told: Any, group: str) -> list[int] | None:
    """PyTorch writes `"[0, 1]"`; a list is taken too."""
    if told in (None, "", []):
        return None
    try:
        ranks = msgspec.json.decode(told) if isinstance(told, str) else told
        ranks = msgspec.convert(ranks, list[int])
    except (msgspec.MsgspecError, RecursionError) as why:
        raise DumpError(f"ranks of group {group[:40]!r}: {why}") from why
    if len(ranks) > MOST_RANKS or not all(0 <= rank < MOST_RANKS for rank in ranks):
        raise DumpError(f"ranks of group {group[:40]!r}: not those of a job")
    return ranks


def _status(told: Mapping[Any, Any]) -> dict[str, int]:
    """-1, before the first, is left out."""
    out = {}
    for name in ("enqueued", "started", "completed"):
        value = _whole(told.get(f"last_{name}_collective"))
        if value is not None and value >= 0:
            out[name] = value
    return out


def _entry(told: dict[Any, Any], number: int, groups: dict[str, Group], ids: dict[str, str]) -> Entry:
    pair = told.get("process_group")
    desc = None
    if isinstance(pair, list | tuple) and pair:
        name, desc = _name(pair[0]), pair[1] if len(pair) > 1 else None
    else:
        name = _name(told.get("pg_id", ""))
    ids.setdefault(_name(told.get("pg_id", "")), name)
    if name not in groups:
        groups[name] = Group(name, _name(desc) if isinstance(desc, str) else None)
    words = _name(told.get("profiling_name", "")).partition(":")[2].split(" ")
    alone = told.get("is_p2p") is True
    seq = _whole(told.get("p2p_seq_id" if alone else "collective_seq_id", told.get("seq_id")))
    if seq is None or seq < 0:
        raise DumpError(f"entry {number} has no sequence number")
    dtype, size = _size(told.get("input_sizes"), told.get("input_dtypes"))
    state = told.get("state")
    return Entry(
        group=name,
        seq=seq,
        coll=operation(words[0]) or words[0][:80] or "unknown",
        op_id=_positive(told.get("op_id")),
        bytes=size,
        dtype=dtype,
        exec_us=_exec_us(told.get("duration_ms")),
        peer=_peer(words[0], words[1]) if len(words) > 1 else None,
        state=state if isinstance(state, str) and state in _STATES else None,  # type: ignore[arg-type]
        created_us=_micros(told.get("time_created_ns")),
        started_us=_micros(told.get("time_discovered_started_ns")),
        completed_us=_micros(told.get("time_discovered_completed_ns")),
    )


def _exec_us(ms: Any) -> float | None:
    known = type(ms) in (int, float) and 0 <= ms < 1e12
    return ms * 1e3 if known else None


def _size(sizes: Any, dtypes: Any) -> tuple[str | None, int | None]:
    """Type of the first tensor and bytes of all: None where a type or a size is not known."""
    if not isinstance(sizes, list) or not isinstance(dtypes, list) or not sizes:
        return None, None
    total = 0
    for i, dims in enumerate(sizes):
        width = _WIDTHS.get(dtypes[i]) if i < len(dtypes) and isinstance(dtypes[i], str) else None
        if width is None or not isinstance(dims, list) or len(dims) > MOST_DIMS:
            return _text(dtypes), None
        if not all(type(dim) is int and 0 <= dim < 1 << 48 for dim in dims):
            return _text(dtypes), None
        total += math.prod(dims) * width
    return _text(dtypes), total if total < 1 << 63 else None


def _text(dtypes: list[Any]) -> str | None:
    return _name(dtypes[0]) if dtypes and isinstance(dtypes[0], str) else None


def _peer(kind: str, way: str) -> int | None:
    """Of `send 1->2` the 2, of `recv 3<-0` the 0: ranks inside the group."""
    found = _PEER.fullmatch(way)
    if found is None or kind not in ("send", "recv"):
        return None
    return int(found[3])


def _micros(ns: Any) -> int | None:
    """0, as JSON writes it, is a time that has not come."""
    value = _whole(ns)
    return None if value is None or not 0 < value < 1 << 62 else value // 1000


def _positive(value: Any) -> int | None:
    number = _whole(value)
    return number if number is not None and number >= 0 else None


def _whole(value: Any) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value):
        value = int(value)
    return value if type(value) is int and -(1 << 63) <= value < 1 << 63 else None


def _name(value: Any) -> str:
    """Text or a number, as text."""
    if isinstance(value, str) and len(value) <= MOST_NAME:
        return value
    if type(value) is int and abs(value) < 1 << 64:
        return str(value)
    raise DumpError(f"a name that is neither text of up to {MOST_NAME} characters nor a number")


def _table(value: Any) -> Mapping[Any, Any]:
    return value if isinstance(value, dict) else {}
