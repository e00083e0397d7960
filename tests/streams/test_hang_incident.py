"""A hang as on-call sees it: one page that gets better, and one with what hung the job."""

from collections.abc import Sequence
from typing import Any

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.job import CollectiveWindow, JobEvent, StepReport
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import GPU_SCRAPES, JOB_EVENTS, JOB_STEPS, KERNEL_EVENTS, NCCL_WINDOWS
from streams.contract import Incident
from streams.detector import Tick
from streams.detectors.all import detectors
from streams.pipeline import Pipeline
from tests.streams.collectives import START_US, S
from tests.streams.stories_collectives import step
from tests.streams.story_form import Item
from tests.streams.test_hang_ras import by_time, healthy, hung, tick
from tests.streams.test_hang_recorder import BEFORE, dump, inside

TOPICS: dict[type[Message], Topic[Any]] = {
    StepReport: JOB_STEPS,
    JobEvent: JOB_EVENTS,
    CollectiveWindow: NCCL_WINDOWS,
    KernelEvent: KERNEL_EVENTS,
    GpuScrape: GPU_SCRAPES,
}


def incidents(items: Sequence[Item]) -> list[Incident]:
    """All messages of incidents about the job or what it runs on; collectors are not what this is about."""
    names = ("hang", "xid", "lost", "comm")
    pipeline = Pipeline([d for d in detectors() if d.name in names])
    out: list[Message] = []
    for item in items:
        told = pipeline.tick(item.ts_us) if isinstance(item, Tick) else pipeline.feed(TOPICS[type(item)], item)
        out += [message for _, message in told]
    return [message for message in out if isinstance(message, Incident)]


def test_one_page_gets_better_from_suspicion_to_the_absent_rank() -> None:
    dumps = [dump(r, inside() if r != 3 else BEFORE, at_s=420) for r in range(4)]
    found = incidents([*healthy(), *by_time([*hung([101, 101, 101, 100], 265, 600), *dumps])])
    assert [(i.state, i.cause_word) for i in found] == [
        ("opened", "job_hang_suspected"),
        ("updated", "job_hang_confirmed"),
        ("updated", "rank_absent"),
    ]
    assert len({i.id for i in found}) == 1
    last = found[-1]
    assert (last.severity, last.jobs, last.gpus) == ("critical", ["j"], ["GPU-3"])
    assert last.runbook == "docs/runbooks/rank_absent.md"
    assert "rank 3 (n1 GPU 1) did not enter AllReduce 7 of dp" in last.summary


def test_a_gpu_that_fell_off_the_bus_is_the_cause_and_the_hang_its_symptom() -> None:
    gpus = [Gpu(uuid=f"GPU-{r}", index=r % 2, pci=f"0000:{r % 2}a:00") for r in (2, 3)]
    lost = KernelEvent(
        node="n1",
        ts_us=START_US + 203 * S,
        kind="xid",
        code=79,
        pci="0000:1a:00",
        raw="NVRM: Xid (PCI:0000:1a:00): 79, GPU has fallen off the bus.",
    )
    scrape = GpuScrape(node="n1", ts_us=START_US + S, gpus=gpus, columns={})
    found = incidents([scrape, *healthy(), lost, *hung([101, 101, 101, 100], 211, 600)])
    assert [i.state for i in found if i.state == "opened"] == ["opened"]
    assert {i.cause_word for i in found} == {"xid_79"}
    assert any("hang|default/job/j" in key for key in found[-1].symptoms)


def test_a_hang_that_ends_is_cleared_once() -> None:
    again = [item for at in range(410, 500, 10) for item in step(at, at // 10)]
    found = incidents([*healthy(), *hung([101, 101, 101, 100], 211, 400), *again, tick(500)])
    assert [i.state for i in found] == ["opened", "cleared"]
