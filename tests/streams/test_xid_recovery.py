"""XID 154: the driver's own word on what to do reaches the page by name, whatever the catalogue says of the fault."""

from collections.abc import Sequence

import pytest

from collectors.contract.job import JobEvent, Placement
from collectors.contract.message import Message
from collectors.contract.topics import GPU_SCRAPES, JOB_PLACEMENTS, KERNEL_EVENTS
from streams.contract import Incident
from streams.correlation import Output
from streams.pipeline import Pipeline
from tests.streams.scrapes import SECOND, T0
from tests.streams.test_xid import edges, judge, running, xid

WORDS = ("None", "GPU Reset Required", "Node Reboot Required", "Drain P2P", "Drain and Reset")


def asks(at: float, action: int, before: int = 0) -> Message:
    words = WORDS[action] if action < len(WORDS) else "Unknown"
    text = f"GPU recovery action changed from {before:#x} ({WORDS[before]}) to {action:#x} ({words})"
    return xid(at, 154, text)


@pytest.mark.parametrize(
    ("action", "told"),
    [
        (1, "drain the GPU, reset it, return it (XID 154 asks: GPU reset)"),
        (2, "drain the node and reboot it (XID 154 asks: node reboot)"),
        (3, "take no new jobs on the node, run diagnostics, then decide (XID 154 asks: drain P2P)"),
        (4, "drain the GPU, reset it, return it (XID 154 asks: drain and reset)"),
        (9, "take no new jobs on the node, run diagnostics, then decide (XID 154 asks: recovery action 9)"),
    ],
)
@pytest.mark.parametrize("first", ["fault", "word"])
def test_the_action_is_the_drivers_and_says_so(action: int, told: str, first: str) -> None:
    lines = [xid(10, 119), asks(11, action)]
    found = judge([running(0), *(lines if first == "fault" else reversed(lines))])
    assert (found[-1].cause, found[-1].action) == ("xid_119", told)
    assert found[-1].severity == "critical"


def test_of_two_wishes_the_graver_stands() -> None:
    found = judge([running(0), xid(10, 79), asks(11, 1), asks(12, 2, before=1)])
    assert [f.action for f in found] == [
        "drain the node and reboot it",
        "drain the GPU, reset it, return it (XID 154 asks: GPU reset)",
        "drain the node and reboot it (XID 154 asks: node reboot)",
    ]


def test_a_wish_without_a_fault_is_a_fault_of_its_own_and_names_what_is_asked() -> None:
    (found,) = judge([running(0), asks(10, 2)])
    assert edges([found]) == [(10, "opened", "critical", "xid_154")]
    assert found.summary == "GPU 3 of n1: XID 154, the driver asks for a recovery: node reboot"


def test_a_gauge_alone_names_what_is_asked_too() -> None:
    (found,) = judge([running(0), running(120, recovery=4.0)])
    assert (found.cause, found.confidence) == ("xid_154", "medium")
    assert found.action == "drain the GPU, reset it, return it (XID 154 asks: drain and reset)"


def played(messages: Sequence[Message]) -> list[Incident]:
    """What on-call is told, with a tick a second for two minutes."""
    pipeline = Pipeline()
    out: list[Output] = []
    for message in messages:
        topic = next(t for t in (GPU_SCRAPES, KERNEL_EVENTS, JOB_PLACEMENTS) if isinstance(message, t.type))
        out += pipeline.feed(topic, message)
    for second in range(120):
        out += pipeline.tick(T0 + (20 + second) * SECOND)
    return [m for _, m in out if isinstance(m, Incident)]


def test_the_page_of_a_memory_fault_names_the_part_the_job_and_what_the_driver_asks() -> None:
    """48, 63, 94, 45 and 154, as real GPUs print them: one page."""
    placed = JobEvent(ts_us=T0, job="train", kind="placed", placement=[Placement(rank=3, node="n1", gpu_uuid="GPU-3")])
    chain = [xid(10, 48), xid(10.1, 63), xid(10.2, 94), xid(10.3, 45), asks(10.9, 2)]
    told = played([placed, running(0), *chain])
    assert [(i.state, i.severity) for i in told if i.state == "opened"] == [("opened", "critical")]
    page = told[-1]
    assert (page.subject.id, page.subject.gpu_index, page.jobs) == ("GPU-3", 3, ["train"])
    assert page.cause_word == "uncorrectable_ecc"
    assert (page.action or "").endswith("; XID 154 asks: node reboot")
