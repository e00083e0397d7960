"""Parts inside a node that stand for more than themselves: its NVSwitch, and the collectors that read it."""

from msgspec import structs

from streams.contract import Subject
from tests.streams.story import cleared, found, gpu, slow
from tests.streams.test_correlator import Run

TRAIN = Subject(kind="job", id="train", job="train")


def test_an_incident_that_ends_says_why() -> None:
    lost = found("gpu_lost", gpu("G01"), 0, "gpu_lost", severity="critical")
    swapped = structs.replace(cleared(lost, 60), summary="GPU 1 (G01) of n0 is gone, replaced by G99")
    run = Run().feed(lost, swapped).tick(200)
    assert [i.state for i in run.told] == ["opened", "cleared"]
    assert run.told[-1].summary.endswith(" (60 s); over: GPU 1 (G01) of n0 is gone, replaced by G99")


def collector(name: str) -> Subject:
    return Subject(kind="collector", id=name)


def test_an_nvswitch_hurts_the_jobs_on_its_node() -> None:
    switch = Subject(kind="device", id="n0/0000:c2:00", device="n0/0000:c2:00", node="n0", pci="0000:c2:00")
    run = Run().feed(found("xid", switch, 0, "sxid_20034", severity="critical")).tick(30)
    assert [(i.state, i.severity, i.jobs) for i in run.told] == [("opened", "critical", ["train"])]


def test_reports_that_are_missing_are_a_symptom_of_their_collector() -> None:
    gone = found("silence", collector("steps@n1"), 0, "collector_silent")
    run = Run().feed(gone, found("hang", TRAIN, 34, "rank_silent")).tick(90)
    assert {i.cause_word for i in run.told} == {"collector_silent"}
    assert len({i.id for i in run.told}) == 1


def test_a_collector_of_other_things_or_elsewhere_explains_no_missing_reports() -> None:
    for name in ("kernel@n1", "steps@n3"):
        gone = found("silence", collector(name), 0, "collector_silent")
        run = Run().feed(gone, found("hang", TRAIN, 34, "rank_silent")).tick(90)
        assert {i.cause_word for i in run.told} == {"collector_silent", "rank_silent"}, name


def test_a_slow_rank_that_its_counters_show_too_is_one_incident() -> None:
    counted = found("counter_straggler", gpu("G01"), 40, "gpu_slow_by_counters")
    run = Run().feed(slow(1, 0)).tick(15).feed(counted).tick(120)
    assert {i.cause_word for i in run.told} == {"gpu_slow"}
    assert len({i.id for i in run.told}) == 1


def test_another_gpu_that_only_its_counters_show_is_an_incident_of_its_own() -> None:
    counted = found("counter_straggler", gpu("G10"), 40, "gpu_slow_by_counters")
    run = Run().feed(slow(1, 0)).tick(15).feed(counted).tick(120)
    assert {i.cause_word for i in run.told} == {"gpu_slow", "gpu_slow_by_counters"}
