"""The JSON answer (NCCL 2.28.7 and later): every rank of every communicator, with its counts.

Form: NVIDIA/nccl src/ras/client_support.cc.
"""

import msgspec
from msgspec import Struct, field

from collectors.contract.job import MemberState
from collectors.nccl_ras.report import ERRORS, IN_PROGRESS, SUCCESS, Comm, Rank, Report, ReportError

MOST_RANK = 1 << 24
MOST_TABLES = 3_000_000
"""A rank of a communicator is three: 16,384 ranks in ten communicators are half a million."""


class _Status(Struct):
    init_state: int = 0
    async_error: int = 0
    finalize_called: bool = False
    destroy_flag: bool = False
    abort_flag: bool = False
    unresponsive: bool = False
    considered_dead: bool = False


class _Rank(Struct):
    rank: int
    host: str = ""
    pid: int = -1
    cuda_dev: int = -1
    nvml_dev: int = -1
    status: _Status = field(default_factory=_Status)
    collective_counts: dict[str, int] = field(default_factory=dict)


class _Comm(Struct):
    hash: str
    size: int
    ranks: list[_Rank] = field(default_factory=list)
    missing_ranks: list[_Rank] = field(default_factory=list)


class _Ras(Struct):
    timeouts_count: int = 0


class _Document(Struct):
    communicators: list[_Comm]
    ras: _Ras
    """Written last: without it the answer ended early."""
    nccl_version: str | None = None


_decoder = msgspec.json.Decoder(_Document)


def read_document(raw: bytes) -> Report:
    """Raises `ReportError`."""
    if raw.count(b"{") > MOST_TABLES:
        raise ReportError(f"more than {MOST_TABLES // 3} ranks")
    try:
        document = _decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as why:
        raise ReportError(f"not the JSON of RAS: {why}") from why
    comms = [_comm(one) for one in document.communicators]
    return Report(
        form="json",
        comms=comms,
        communicators=len(comms),
        version=document.nccl_version,
        timeouts=max(0, document.ras.timeouts_count),
    )


def _comm(one: _Comm) -> Comm:
    digits = one.hash.lower().removeprefix("0x")
    if not 0 < len(digits) <= 16 or set(digits) - set("0123456789abcdef"):
        raise ReportError(f"hash {one.hash[:40]!r} is not that of a communicator")
    ranks = {rank.rank: _rank(rank, _state(rank.status)) for rank in one.ranks}
    ranks |= {rank.rank: _rank(rank, _missing(rank.status)) for rank in one.missing_ranks}
    hosts = {rank.host for rank in ranks.values()}
    nodes = len(hosts) if None not in hosts and len(ranks) == one.size else None
    if not 0 <= one.size < MOST_RANK:
        raise ReportError(f"size {one.size} of communicator {digits} is not possible")
    return Comm(digits.rjust(16, "0"), one.size, nodes, ranks)


def _rank(one: _Rank, state: MemberState) -> Rank:
    wrong = [value for value in one.collective_counts.values() if not 0 <= value < 1 << 63]
    if wrong or not 0 <= one.rank < MOST_RANK:
        raise ReportError(f"rank {one.rank}: a count of {wrong[0]}" if wrong else f"no rank can be {one.rank}")
    return Rank(
        rank=one.rank,
        host=one.host if one.host not in ("", "unknown") else None,
        pid=_known(one.pid),
        gpu=_known(one.cuda_dev),
        nvml=_known(one.nvml_dev),
        state=state,
        error=_error(one.status),
        counts=one.collective_counts,
    )


def _known(value: int) -> int | None:
    return value if 0 <= value < 1 << 31 else None


def _state(status: _Status) -> MemberState:
    """In the order in which RAS itself judges, errors first."""
    if _error(status) is not None:
        return "error"
    if status.abort_flag:
        return "abort"
    if status.finalize_called or status.destroy_flag:
        return "finalize"
    return "ready" if status.init_state == SUCCESS else "init"


def _missing(status: _Status) -> MemberState:
    if status.considered_dead:
        return "dead"
    return "silent" if status.unresponsive else "left"


def _error(status: _Status) -> str | None:
    for number in (status.async_error, status.init_state):
        if number not in (SUCCESS, IN_PROGRESS):
            return ERRORS.get(number, f"error {number}")
    return None
