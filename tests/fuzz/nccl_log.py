"""Lines of NCCL's log."""

from collections.abc import Hashable, Mapping

from collectors.contract.topics import JOB_PLACEMENTS, NCCL_WINDOWS
from collectors.nccl_log.line import read_line
from collectors.nccl_log.membership import Membership
from tests.collectors.list_outlet import ListOutlet
from tests.collectors.test_nccl_log import line
from tests.fuzz.parser import Parser


def _parse(data: bytes) -> ListOutlet:
    outlet, membership = ListOutlet(), Membership(cluster="c", job="j")
    for raw in data.split(b"\n"):
        found = read_line(raw.decode("utf-8", "replace"))
        if found is not None:
            membership.add(found)
    for window in membership.news(1):
        outlet.publish(NCCL_WINDOWS, window)
    placed = membership.placement(1)
    if placed is not None:
        outlet.publish(JOB_PLACEMENTS, placed)
    return outlet


def _numbers(outlet: ListOutlet) -> Mapping[Hashable, float | None]:
    return {
        (window.comm, member.rank, name): getattr(member, name)
        for window in outlet.of(NCCL_WINDOWS)
        for member in window.members
        for name in ("pid", "gpu", "nvml")
    }


LOG = "\n".join([line(0, 2, "77"), "x", *(line(n, head="[default0]:") for n in range(4)), ""]).encode()
PARSERS = (Parser("nccl-log", (LOG,), _parse, _numbers),)
