"""Dumps of the flight recorder, pickled and as JSON."""

from collections.abc import Hashable, Mapping

from collectors.contract.topics import NCCL_WINDOWS
from collectors.flight_recorder.bounds import DumpError
from collectors.flight_recorder.dump import read_dump
from collectors.flight_recorder.window import windows
from tests.collectors.fr_dumps import as_json, pickled
from tests.collectors.list_outlet import ListOutlet
from tests.fuzz.nccl_tests import window_numbers
from tests.fuzz.parser import Parser


def _parse(data: bytes) -> ListOutlet:
    outlet = ListOutlet()
    try:
        dump = read_dump(data)
    except DumpError as why:
        outlet.reject("flight-recorder:f", data, str(why))
        return outlet
    for window in windows(dump, cluster="c", job="j", node="n", job_rank=1, ts_us=1, last=200):
        outlet.publish(NCCL_WINDOWS, window)
    return outlet


def _numbers(outlet: ListOutlet) -> Mapping[Hashable, float | None]:
    return window_numbers(outlet, "seq", "bytes", "exec_us", "created_us", "started_us", "completed_us", "peer")


PARSERS = (
    Parser("flight-recorder-pickle", (pickled(1), pickled(3), pickled(3, 5)), _parse, _numbers),
    Parser("flight-recorder-json", (as_json(1), as_json(3)), _parse, _numbers),
)
