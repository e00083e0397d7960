"""Lines of the Inspector's files, and pages of its Prometheus mode."""

import json
from collections.abc import Hashable, Mapping
from pathlib import Path

from collectors.nccl.folder import BadLine, read_raw
from collectors.nccl.intake import Intake
from collectors.nccl.prom import read_page
from collectors.tail import NumberedLine
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.test_nccl_prom import PAGE
from tests.collectors.test_nccl_record import line, lost_line
from tests.fuzz.nccl_tests import window_numbers
from tests.fuzz.parser import Parser


def _intake(outlet: ListOutlet) -> Intake:
    return Intake(outlet, "c", "j", None, "here", Path("d"))


def _parse(data: bytes) -> ListOutlet:
    outlet = ListOutlet()
    intake = _intake(outlet)
    lines = [NumberedLine(number, raw) for number, raw in enumerate(data.split(b"\n"), start=1)]
    intake.add([found for one in lines if (found := read_raw(Path("f"), one)) is not None])
    intake.flush()
    return outlet


def _parse_page(data: bytes) -> ListOutlet:
    outlet = ListOutlet()
    page = read_page(data.decode("utf-8", "replace"), ts_us=1, gpu_uuid=None)
    _intake(outlet).add([page, *(BadLine(raw.encode(), why) for _, raw, why in page.bad)])
    return outlet


def _numbers(outlet: ListOutlet) -> Mapping[Hashable, float | None]:
    return window_numbers(outlet, "seq", "bytes", "exec_us", "algbw_gbs", "busbw_gbs", "started_us")


def _file(*lines: object) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in lines)


TRACE = {"coll_start_ts": 5, "kernel_events": [{"channel_id": 0, "kernel_start_ts": 7, "kernel_stop_ts": 9}]}
PARSERS = (
    Parser(
        "nccl-inspector", (_file(line(), lost_line(1, 2), line(coll_perf__event_trace_ts=TRACE)),), _parse, _numbers
    ),
    Parser("nccl-inspector-prom", (PAGE.encode(),), _parse_page, _numbers),
)
