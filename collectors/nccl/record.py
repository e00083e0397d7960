"""One line of an Inspector file.

Form: NVIDIA/nccl plugins/profiler/inspector, inspector_json.cc. Every release says version v4.0 whatever its
keys, so a line is read by the keys that it has: `coll_perf` (all) or `p2p_perf` (2.30 and later).
"""

from dataclasses import dataclass

import msgspec
from msgspec import Struct

WHOLE = float(1 << 53)


class RecordError(Exception):
    """A line that is no record; the text says why."""


class _Header(Struct):
    id: str
    rank: float
    n_ranks: float
    nnodes: float | None = None
    comm_name: str | None = None


class _Metadata(Struct):
    dump_timestamp_us: float
    hostname: str | None = None
    pid: float | None = None


class _Coll(Struct):
    coll: str
    coll_sn: float
    coll_msg_size_bytes: float | None = None
    coll_exec_time_us: float | None = None
    coll_timing_source: str | None = None
    coll_algobw_gbs: float | None = None
    coll_busbw_gbs: float | None = None


class _P2p(Struct):
    p2p: str
    p2p_sn: float
    p2p_peer: float | None = None
    p2p_msg_size_bytes: float | None = None
    p2p_exec_time_us: float | None = None
    p2p_timing_source: str | None = None
    p2p_algobw_gbs: float | None = None
    p2p_busbw_gbs: float | None = None


class _Line(Struct):
    header: _Header
    metadata: _Metadata
    coll_perf: _Coll | None = None
    p2p_perf: _P2p | None = None


@dataclass(frozen=True, slots=True)
class Communicator:
    """One communicator as one process sees it."""

    comm: str
    size: int
    nodes: int | None
    name: str | None
    host: str | None
    pid: int | None


@dataclass(frozen=True, slots=True)
class Record:
    """One finished operation. `rank` is the rank inside the communicator; `peer` only for Send and Recv."""

    of: Communicator
    ts_us: int
    rank: int
    seq: int
    coll: str
    bytes: int | None
    exec_us: float | None
    algbw_gbs: float | None
    busbw_gbs: float | None
    timing: str | None
    peer: int | None


_decoder = msgspec.json.Decoder(_Line)


def read_record(raw: bytes) -> Record:
    """Parse one line. Numbers may be written as floats (`5663.0`). Raises `RecordError`."""
    try:
        line = _decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as why:
        raise RecordError(str(why)) from why
    header, metadata, coll, p2p = line.header, line.metadata, line.coll_perf, line.p2p_perf
    of = Communicator(
        comm=communicator_id(header.id),
        size=_whole(header.n_ranks, "n_ranks"),
        nodes=_maybe(header.nnodes, "nnodes"),
        name=header.comm_name if header.comm_name not in (None, "", "unknown") else None,
        host=metadata.hostname or None,
        pid=_maybe(metadata.pid, "pid"),
    )
    ts_us, rank = _whole(metadata.dump_timestamp_us, "dump_timestamp_us"), _whole(header.rank, "rank")
    if coll is not None:
        return Record(
            of=of,
            ts_us=ts_us,
            rank=rank,
            seq=_whole(coll.coll_sn, "coll_sn"),
            coll=coll.coll,
            bytes=_maybe(coll.coll_msg_size_bytes, "coll_msg_size_bytes"),
            exec_us=coll.coll_exec_time_us,
            algbw_gbs=coll.coll_algobw_gbs,
            busbw_gbs=coll.coll_busbw_gbs,
            timing=coll.coll_timing_source,
            peer=None,
        )
    if p2p is not None:
        return Record(
            of=of,
            ts_us=ts_us,
            rank=rank,
            seq=_whole(p2p.p2p_sn, "p2p_sn"),
            coll=p2p.p2p,
            bytes=_maybe(p2p.p2p_msg_size_bytes, "p2p_msg_size_bytes"),
            exec_us=p2p.p2p_exec_time_us,
            algbw_gbs=p2p.p2p_algobw_gbs,
            busbw_gbs=p2p.p2p_busbw_gbs,
            timing=p2p.p2p_timing_source,
            peer=_maybe(p2p.p2p_peer, "p2p_peer"),
        )
    raise RecordError("neither coll_perf nor p2p_perf in it")


def communicator_id(text: str) -> str:
    """`0x9e7a479f95a66c` as sixteen lower-case hex digits: NCCL prints it without leading zeros."""
    digits = text.lower().removeprefix("0x")
    if not 0 < len(digits) <= 16 or set(digits) - set("0123456789abcdef"):
        raise RecordError(f"header.id {text[:40]!r} is not a communicator hash")
    return digits.rjust(16, "0")


def _maybe(value: float | None, name: str) -> int | None:
    return None if value is None else _whole(value, name)


def _whole(value: float, name: str) -> int:
    if not 0 <= value < WHOLE or value != int(value):
        raise RecordError(f"{name} {value} is not a whole number")
    return int(value)
