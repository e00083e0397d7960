import msgspec

from collectors.contract.job import JobEvent, Placement
from collectors.contract.topics import GPU_SCRAPES, JOB_PLACEMENTS
from streams.contract import FINDINGS, INCIDENTS, NODE_HEALTH, Incident
from streams.pipeline import Pipeline
from tests.streams.toy import HotDetector, scrape

S = 1_000_000
T0 = 1_800_000_000 * S


def test_a_message_comes_out_as_finding_incident_and_health_in_this_order() -> None:
    pipeline = Pipeline([HotDetector()])
    out = pipeline.feed(GPU_SCRAPES, scrape("n1", T0, [50.0, 95.0]))
    assert [t.name for t, _ in out] == [FINDINGS.name, INCIDENTS.name, NODE_HEALTH.name]


def test_a_piece_of_a_scrape_is_passed_over_and_the_whole_of_the_same_time_is_judged() -> None:
    pipeline, whole = Pipeline([HotDetector()]), scrape("n1", T0, [50.0, 95.0])
    assert pipeline.feed(GPU_SCRAPES, msgspec.structs.replace(whole, part=True)) == []
    assert [t.name for t, _ in pipeline.feed(GPU_SCRAPES, whole)] == [FINDINGS.name, INCIDENTS.name, NODE_HEALTH.name]


def test_what_comes_out_is_ignored_when_it_comes_in() -> None:
    pipeline = Pipeline([HotDetector()])
    out = pipeline.feed(GPU_SCRAPES, scrape("n1", T0, [95.0]))
    assert [x for t, m in out for x in pipeline.feed(t, m)] == []


def test_a_placement_makes_the_incident_critical() -> None:
    pipeline = Pipeline([HotDetector()])
    placed = JobEvent(ts_us=T0, job="train", kind="placed", placement=[Placement(rank=0, node="n1", gpu_uuid="n1-0")])
    pipeline.feed(JOB_PLACEMENTS, placed)
    out = pipeline.feed(GPU_SCRAPES, scrape("n1", T0 + S, [95.0]))
    assert [m.severity for _, m in out if isinstance(m, Incident)] == ["critical"]


def test_ticks_end_a_cleared_incident() -> None:
    pipeline = Pipeline([HotDetector()])
    pipeline.feed(GPU_SCRAPES, scrape("n1", T0, [95.0]))
    pipeline.feed(GPU_SCRAPES, scrape("n1", T0 + 10 * S, [60.0]))
    out = pipeline.tick(T0 + 71 * S)
    assert [(m.state, m.cleared_us) for _, m in out if isinstance(m, Incident)] == [("cleared", T0 + 10 * S)]
