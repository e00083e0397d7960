"""Parts inside a node that stand for more than themselves: its NVSwitch, and the collectors that read it."""

from msgspec import structs

from streams.contract import Subject
from tests.streams.story import cleared, found, gpu, node, silent, slow
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


def nvswitch(name: str, n: int = 0) -> Subject:
    return Subject(kind="device", id=f"n{n}/{name}", device=f"n{n}/{name}", node=f"n{n}")


def test_a_fatal_error_of_an_nvswitch_is_one_incident_with_what_dcgm_and_the_gpus_behind_it_show() -> None:
    fatal = found("xid", nvswitch("0000:c2:00"), 0, "sxid_24007", severity="critical")
    asks = found("gpu_link", nvswitch("nvswitch0"), 30, "nvswitch_reset_required", severity="critical")
    for shown in ("xid_74", "nvlink_down", "nvlink_errors"):
        detector = "xid" if shown == "xid_74" else "gpu_link"
        early, late = (found(detector, gpu("G00"), at_s, shown) for at_s in (0, 31))
        whole = Run().feed(fatal, early).tick(10).feed(asks).tick(120)
        unlogged = Run().feed(asks).tick(31).feed(late).tick(120)
        for run, cause in ((whole, "sxid_24007"), (unlogged, "nvswitch_reset_required")):
            assert len({i.id for i in run.told}) == 1, shown
            assert {i.cause_word for i in run.told} == {cause}


def test_an_nvswitch_explains_no_other_fault_of_its_gpus_and_nothing_on_another_node() -> None:
    fatal = found("xid", nvswitch("0000:c2:00"), 0, "sxid_24007", severity="critical")
    for apart in (found("memory", gpu("G00"), 1, "row_remap_pending"), found("xid", gpu("G10"), 1, "xid_74")):
        run = Run().feed(fatal, apart).tick(120)
        assert {i.cause_word for i in run.told} == {"sxid_24007", apart.cause}


def test_an_error_of_an_nvswitch_that_is_not_fatal_explains_no_nvlink_that_is_down() -> None:
    minor = found("xid", nvswitch("0000:c2:00"), 0, "sxid_12028")
    run = Run().feed(minor, found("gpu_link", gpu("G00"), 1, "nvlink_down", severity="critical")).tick(120)
    assert {i.cause_word for i in run.told} == {"sxid_12028", "nvlink_down"}


def test_what_the_driver_asks_for_is_no_cause_beside_the_fault_that_it_asks_it_for() -> None:
    asks = found("xid", gpu("G00"), 0, "xid_154", severity="critical")
    for detector, cause in (("gpu_link", "nvlink_failed"), ("memory", "row_remap_exhausted"), ("xid", "xid_119")):
        run = Run().feed(asks, found(detector, gpu("G00"), 1, cause, severity="critical")).tick(60)
        assert len({i.id for i in run.told}) == 1
        assert run.told[-1].cause_word == cause


def test_a_recovery_that_the_driver_asks_for_pages_alone_and_explains_that_the_node_is_restarted() -> None:
    asks = found("xid", gpu("G00"), 0, "xid_154", severity="critical")
    run = Run().feed(asks, silent(node("n0"), 20)).tick(60)
    assert {(i.cause_word, i.severity) for i in run.told} == {("xid_154", "critical")}
    assert len({i.id for i in run.told}) == 1
    soft = found("xid", gpu("G00"), 0, "xid_154")
    run = Run().feed(soft, silent(node("n0"), 20)).tick(60)
    assert {i.cause_word for i in run.told} == {"xid_154", "node_silent"}
