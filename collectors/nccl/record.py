"""One line of an Inspector file.

Form: NVIDIA/nccl plugins/profiler/inspector, inspector_json.cc. Releases say version v4.0 whatever their keys, so a
line is read by the keys that it has: `coll_perf` (all), `p2p_perf` (2.30 and later) or `dump_stats` (what the plug-in's
own buffer lost; after 2.30).
"""

from dataclasses import dataclass

import msgspec
from msgspec import Struct, field

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


class _Kernel(Struct):
    kernel_start_ts: float = 0
    kernel_stop_ts: float = 0


class _Trace(Struct):
    coll_start_ts: float = 0
    p2p_start_ts: float = 0
    kernel_events: list[_Kernel] = field(default_factory=list)


class _Coll(Struct):
    coll: str
    coll_sn: float
    coll_msg_size_bytes: float | None = None
    coll_exec_time_us: float | None = None
    coll_timing_source: str | None = None
    coll_algobw_gbs: float | None = None
    coll_busbw_gbs: float | None = None
    coll_algo: str | None = None
    coll_proto: str | None = None
    event_trace_ts: _Trace | None = None


class _P2p(Struct):
    p2p: str
    p2p_sn: float
    p2p_peer: float | None = None
    p2p_msg_size_bytes: float | None = None
    p2p_exec_time_us: float | None = None
    p2p_timing_source: str | None = None
    p2p_algobw_gbs: float | None = None
    p2p_busbw_gbs: float | None = None
    event_trace_ts: _Trace | None = None


class _Stats(Struct):
    coll_dropped_since_last_dump: float | None = None
    p2p_dropped_since_last_dump: float | None = None


class _Line(Struct):
    header: _Header
    metadata: _Metadata
    coll_perf: _Coll | None = None
    p2p_perf: _P2p | None = None
    dump_stats: _Stats | None = None


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
    algo: str | None = None
    created_us: int | None = None
    """When this rank called; these three only with NCCL_INSPECTOR_DUMP_VERBOSE."""
    started_us: int | None = None
    """When its first kernel started: when this rank arrived."""
    completed_us: int | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """How many operations of a communicator the plug-in dropped since it last wrote, for its buffer was full."""

    of: Communicator
    ts_us: int
    dropped: int


_decoder = msgspec.json.Decoder(_Line)


def read_record(raw: bytes) -> Record | Lost:
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
        called_us, started_us, stopped_us = _times(coll.event_trace_ts)
        size = _maybe(coll.coll_msg_size_bytes, "coll_msg_size_bytes")
        return Record(
            of=of,
            ts_us=ts_us,
            rank=rank,
            seq=_whole(coll.coll_sn, "coll_sn"),
            coll=coll.coll,
            bytes=size,
            exec_us=coll.coll_exec_time_us,
            algbw_gbs=_bandwidth(coll.coll_algobw_gbs, size),
            busbw_gbs=_bandwidth(coll.coll_busbw_gbs, size),
            timing=coll.coll_timing_source,
            peer=None,
            algo=_algo(coll.coll_algo, coll.coll_proto),
            created_us=called_us,
            started_us=started_us,
            completed_us=stopped_us,
        )
    if p2p is not None:
        called_us, started_us, stopped_us = _times(p2p.event_trace_ts)
        size = _maybe(p2p.p2p_msg_size_bytes, "p2p_msg_size_bytes")
        return Record(
            of=of,
            ts_us=ts_us,
            rank=rank,
            seq=_whole(p2p.p2p_sn, "p2p_sn"),
            coll=p2p.p2p,
            bytes=size,
            exec_us=p2p.p2p_exec_time_us,
            algbw_gbs=_bandwidth(p2p.p2p_algobw_gbs, size),
            busbw_gbs=_bandwidth(p2p.p2p_busbw_gbs, size),
            timing=p2p.p2p_timing_source,
            peer=_maybe(p2p.p2p_peer, "p2p_peer"),
            created_us=called_us,
            started_us=started_us,
            completed_us=stopped_us,
        )
    if line.dump_stats is not None:
        lost = (line.dump_stats.coll_dropped_since_last_dump, line.dump_stats.p2p_dropped_since_last_dump)
        return Lost(of, ts_us, sum(_whole(count or 0, "dropped_since_last_dump") for count in lost))
    raise RecordError("none of coll_perf, p2p_perf and dump_stats in it")


def communicator_id(text: str) -> str:
    """`0x9e7a479f95a66c` as sixteen lower-case hex digits: NCCL prints it without leading zeros."""
    digits = text.lower().removeprefix("0x")
    if not 0 < len(digits) <= 16 or set(digits) - set("0123456789abcdef"):
        raise RecordError(f"header.id {text[:40]!r} is not a communicator hash")
    return digits.rjust(16, "0")


def _bandwidth(value: float | None, size: int | None) -> float | None:
    """The plug-in writes 0 for an operation whose formula it does not know."""
    return None if value == 0 and size != 0 else value


def _algo(algo: str | None, proto: str | None) -> str | None:
    known = [word for word in (algo, proto) if word not in (None, "", "unknown")]
    return "_".join(map(str, known)) or None


def _times(trace: _Trace | None) -> tuple[int | None, int | None, int | None]:
    """The call, of all channels the first start, and the last stop; 0 is a time that was not taken."""
    if trace is None:
        return None, None, None
    starts = [kernel.kernel_start_ts for kernel in trace.kernel_events if kernel.kernel_start_ts]
    stops = [kernel.kernel_stop_ts for kernel in trace.kernel_events if kernel.kernel_stop_ts]
    return (
        _maybe(trace.coll_start_ts or trace.p2p_start_ts or None, "start_ts"),
        _maybe(min(starts, default=None), "kernel_start_ts"),
        _maybe(max(stops, default=None), "kernel_stop_ts"),
    )


def _maybe(value: float | None, name: str) -> int | None:
    return None if value is None else _whole(value, name)


def _whole(value: float, name: str) -> int:
    if not 0 <= value < WHOLE or value != int(value):
        raise RecordError(f"{name} {value} is not a whole number")
    return int(value)
