"""What jobs and their schedulers tell of one job, in any order."""

from itertools import permutations
from typing import Any

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.job import JobEvent, Placement
from streams.world import World

T0 = 1_800_000_000_000_000
OWN = JobEvent(ts_us=T0 + 30, job="llm", kind="placed", aliases=["77"], placement=[Placement(rank=0, node="n2")])
GIVEN = JobEvent(
    ts_us=T0,
    job="77",
    kind="placed",
    source="slurm",
    placement=[Placement(rank=-1, node="n1", gpu_index=3), Placement(rank=-2, node="n1", gpu_index=5)],
)


def world(*messages: Any) -> World:
    out = World()
    for message in messages:
        out.learn(message)
    return out


def scrape(*gpus: Gpu) -> GpuScrape:
    return GpuScrape(node="n1", ts_us=T0, gpus=list(gpus))


def test_a_gpu_that_a_scheduler_gave_away_by_number_is_that_jobs_and_no_other_is() -> None:
    seen = scrape(Gpu(uuid="G3", index=3), Gpu(uuid="G4", index=4))
    for order in permutations((GIVEN, seen)):
        told = world(*order)
        assert [told.jobs_on_gpu("default", uuid) for uuid in ("G3", "G4")] == [{"77"}, set()]


def test_a_job_is_known_by_the_name_it_gives_itself_whatever_the_order() -> None:
    seen = scrape(Gpu(uuid="G3", index=3, hpc_job="77"))
    for order in permutations((GIVEN, OWN, seen)):
        told = world(*order)
        assert told.jobs_on_gpu("default", "G3") == {"llm"}
        assert told.jobs_on_node("default", "n1") == {"llm"}
        assert told.rank("default", "llm", 0) == OWN.placement[0]


def test_a_schedulers_end_ends_a_job_that_could_not_say_so() -> None:
    end = JobEvent(ts_us=T0 + 60, job="77", kind="ended", state="node_fail", source="slurm")
    for order in permutations((GIVEN, OWN, end)):
        assert not world(*order).is_running("default", "llm")


def test_what_the_job_tells_of_its_ranks_is_believed_until_it_ends() -> None:
    own = JobEvent(ts_us=T0 + 30, job="77", kind="placed", placement=[Placement(rank=0, node="n1", gpu_uuid="G3")])
    again = JobEvent(ts_us=T0 + 90, job="77", kind="placed", source="slurm", placement=[Placement(rank=-1, node="n9")])
    for order in permutations((GIVEN, own, again)):
        assert world(*order).rank("default", "77", 0) == own.placement[0]
    end = JobEvent(ts_us=T0 + 60, job="77", kind="ended", source="slurm")
    told = world(GIVEN, own, end, again)
    assert told.jobs_on_node("default", "n9") == {"77"}
    assert told.jobs_on_node("default", "n1") == set()


def test_a_pod_holds_only_the_gpus_that_its_node_says_it_holds() -> None:
    held = JobEvent(
        ts_us=T0,
        job="ml/bert",
        kind="placed",
        source="kubernetes",
        aliases=["ml/bert-0"],
        placement=[Placement(rank=-1, node="n1", pod="ml/bert-0")],
    )
    seen = scrape(
        Gpu(uuid="G0", index=0, namespace="ml", pod="bert-0"), Gpu(uuid="G1", index=1, namespace="ml", pod="other")
    )
    for order in permutations((held, seen)):
        told = world(*order)
        assert [told.jobs_on_gpu("default", uuid) for uuid in ("G0", "G1")] == [{"ml/bert"}, {"ml/other"}]


def test_a_job_in_pods_is_one_with_what_kubernetes_calls_it_by_any_pod_that_both_tell() -> None:
    held = JobEvent(
        ts_us=T0,
        job="ml/bert",
        kind="placed",
        source="kubernetes",
        aliases=["ml/bert-0", "ml/bert-1"],
        placement=[Placement(rank=-1, node="n1", pod="ml/bert-0"), Placement(rank=-2, node="n1", pod="ml/bert-1")],
    )
    begun = JobEvent(ts_us=T0 + 10, job="llm", kind="started", aliases=["ml/bert-0"])
    seen = scrape(
        Gpu(uuid="G0", index=0, namespace="ml", pod="bert-0"), Gpu(uuid="G1", index=1, namespace="ml", pod="bert-1")
    )
    for order in permutations((held, begun, seen)):
        told = world(*order)
        assert [told.jobs_on_gpu("default", uuid) for uuid in ("G0", "G1")] == [{"llm"}, {"llm"}]
        assert told.jobs_on_node("default", "n1") == {"llm"}
    end = JobEvent(ts_us=T0 + 60, job="ml/bert", kind="ended", state="failed", source="kubernetes")
    for order in permutations((held, begun, end)):
        assert not world(*order).is_running("default", "llm")


def test_a_pods_name_that_is_used_again_belongs_to_the_later_job() -> None:
    def begun(job: str, ts_us: int) -> JobEvent:
        return JobEvent(ts_us=ts_us, job=job, kind="started", aliases=["ml/bert-0"])

    held = JobEvent(ts_us=T0, job="ml/bert", kind="placed", source="kubernetes", aliases=["ml/bert-0"])
    for order in permutations((held, begun("llm", T0 + 1))):
        told = world(*order, begun("llm-2", T0 + 90))
        assert {told.placements.own_name("default", name) for name in ("ml/bert", "ml/bert-0")} == {"llm-2"}
        assert told.placements.own_name("default", "llm") == "llm"


def test_a_number_that_ended_before_the_job_began_under_it_again_ends_nothing() -> None:
    end = JobEvent(ts_us=T0 + 10, job="77", kind="ended", state="node_fail", source="slurm")
    begun = JobEvent(ts_us=T0 + 60, job="llm", kind="restarted", attempt=1000, aliases=["77"])
    assert world(GIVEN, end, begun).is_running("default", "llm")


def test_a_job_that_was_never_placed_runs_again_when_it_restarts() -> None:
    end = JobEvent(ts_us=T0 + 10, job="llm", kind="ended", state="failed")
    again = JobEvent(ts_us=T0 + 20, job="llm", kind="restarted", attempt=1)
    for order in permutations((end, again)):
        assert world(*order).is_running("default", "llm")
    assert not world(again, JobEvent(ts_us=T0 + 30, job="llm", kind="ended")).is_running("default", "llm")
