"""What nccl-tests printed, and its reports."""

from argparse import Namespace
from collections.abc import Hashable, Mapping
from pathlib import Path

from collectors.contract.topics import NCCL_WINDOWS
from collectors.nccl_tests.source import publish
from collectors.source import SourceError
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.test_nccl_tests import NEW, report
from tests.fuzz.parser import Parser

ARGS = Namespace(job="j", node="n", collective=None)


def _parse(data: bytes) -> ListOutlet:
    outlet = ListOutlet()
    try:
        publish(data, 1, Path("f"), ARGS, outlet)
    except SourceError as why:
        outlet.reject("nccl-tests:f", data, str(why))
    return outlet


def window_numbers(outlet: ListOutlet, *names: str) -> Mapping[Hashable, float | None]:
    """Every number of the windows' columns of these names."""
    return {
        (i, row, name): value
        for i, window in enumerate(outlet.of(NCCL_WINDOWS))
        for name in names
        for row, value in enumerate(getattr(window, name))
    }


def _numbers(outlet: ListOutlet) -> Mapping[Hashable, float | None]:
    return window_numbers(outlet, "bytes", "exec_us", "algbw_gbs", "busbw_gbs", "wrong")


PARSERS = (
    Parser("nccl-tests", (NEW.encode(), NEW.encode() * 2), _parse, _numbers),
    Parser("nccl-tests-report", (report(),), _parse, _numbers),
)
