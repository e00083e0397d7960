"""Answers of RAS, text and JSON."""

from collections.abc import Hashable, Mapping

from collectors.contract.topics import NCCL_WINDOWS
from collectors.nccl_ras.answer import read_answer
from collectors.nccl_ras.report import ReportError
from collectors.nccl_ras.window import windows
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.ras_answers import GONE, LATE, OLD, OLD_MISSING, answer
from tests.fuzz.parser import Parser


def _parse(data: bytes) -> ListOutlet:
    outlet = ListOutlet()
    try:
        report = read_answer(data)
    except ReportError as why:
        outlet.reject("nccl-ras:h", data, str(why))
    else:
        for window in windows(report, cluster="c", job="j", node="n", ts_us=1):
            outlet.publish(NCCL_WINDOWS, window)
    return outlet


def _numbers(outlet: ListOutlet) -> Mapping[Hashable, float | None]:
    out: dict[Hashable, float | None] = {}
    for window in outlet.of(NCCL_WINDOWS):
        for rank, coll, seq in zip(window.rank, window.coll, window.seq, strict=True):
            out[window.comm, rank, coll] = seq
        for member in window.members:
            out[window.comm, member.rank, "pid"] = member.pid
    return out


PARSERS = (
    Parser("nccl-ras-text", tuple(text.encode() for text in (LATE, OLD, GONE)), _parse, _numbers),
    Parser("nccl-ras-text-missing", (OLD_MISSING.encode(),), _parse),
    Parser("nccl-ras-json", (answer(),), _parse, _numbers),
)
