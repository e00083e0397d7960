"""A storm of driver lines through the whole pipeline: one incident, one page, nothing else late."""

import pytest

from collectors.contract.topics import GPU_SCRAPES, JOB_EVENTS, KERNEL_EVENTS
from streams.contract import Finding, Incident
from streams.pipeline import Pipeline
from tests.streams.scrapes import SECOND, T0, scrape
from tests.streams.xid_storm import LINES, SPAN_US, START_US, line, placed, storm, struck_us


def play(real: int, lines: int) -> tuple[list[Finding], list[Incident]]:
    """A storm on n1 with scrapes and ticks between its lines; halfway a GPU of n2 falls off its bus."""
    pipeline, out = Pipeline(), []
    out += pipeline.feed(JOB_EVENTS, placed())
    second, elsewhere = 0, START_US + SPAN_US // 2
    for event in storm(real, lines):
        if event.ts_us > elsewhere:
            out += pipeline.feed(KERNEL_EVENTS, line(elsewhere, 79, 0, node="n2"))
            elsewhere = event.ts_us + 2 * SPAN_US
        while T0 + second * SECOND <= event.ts_us:
            for node in ("n1", "n2"):
                healthy = {"156": 1e9 + second, "100": 1900.0, "1002": 0.9}
                out += pipeline.feed(GPU_SCRAPES, scrape(second, healthy, node=node))
            out += pipeline.tick(T0 + second * SECOND)
            second += 1
        out += pipeline.feed(KERNEL_EVENTS, event)
    for later in range(second, second + 60):
        out += pipeline.tick(T0 + later * SECOND)
    return [m for _, m in out if isinstance(m, Finding)], [m for _, m in out if isinstance(m, Incident)]


@pytest.mark.parametrize(
    ("real", "lines", "cause"), [(79, LINES, {"xid_79"}), (95, LINES // 10, {"xid_95", "uncontained_ecc"})]
)
def test_a_storm_of_lines_is_one_incident_and_nothing_else_is_late(real: int, lines: int, cause: set[str]) -> None:
    findings, incidents = play(real, lines)
    here = [i for i in incidents if i.subject.node == "n1"]
    opened = [i for i in here if i.state == "opened"]
    assert [(i.severity, i.jobs, i.subject.gpu_index) for i in opened] == [("critical", ["train"], 3)]
    assert {i.id for i in here} == {opened[0].id}
    assert here[-1].cause_word in cause
    assert opened[0].ts_us == struck_us(lines)
    assert len(here) <= 3
    assert len([f for f in findings if f.subject.node == "n1"]) <= 40
    (elsewhere,) = [i for i in incidents if i.subject.node == "n2" and i.state == "opened"]
    assert elsewhere.ts_us == START_US + SPAN_US // 2
