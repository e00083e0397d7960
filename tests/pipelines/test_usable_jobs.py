"""What jobs held and did, where what was told of them is odd: attempts, sharing, silence, clocks, late reports."""

import itertools
from datetime import timedelta

import msgspec

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.job import Coords, JobEvent, Phase, Placement, StepReport
from collectors.contract.topics import GPU_SCRAPES, JOB_EVENTS, JOB_PLACEMENTS, JOB_STEPS
from pipelines.rollup import GPU_DAYS, JOB_DAYS, MFU_HOURLY, USABLE_HOURLY
from pipelines.rollup import HOUR as ONE_HOUR
from tests.pipelines.conftest import Lake
from tests.pipelines.test_usable_compute import DAY, HOUR, S, buckets, event, scrapes, seconds, steps


def named(job: str, *events: JobEvent) -> list[JobEvent]:
    """The same events of another job."""
    return [msgspec.structs.replace(one, job=job) for one in events]


def told(reports: list[StepReport], **changes: object) -> list[StepReport]:
    """The same reports, changed."""
    return [msgspec.structs.replace(one, **changes) for one in reports]


def by_hour(lake: Lake, hours: int, *, one_by_one: bool) -> dict[tuple[int, str], int]:
    """(hour after HOUR, bucket) -> GPU-microseconds, built hour by hour or in one range."""
    end = HOUR + hours * ONE_HOUR
    for inventory in (GPU_DAYS, JOB_DAYS):
        lake.roll(inventory, DAY - timedelta(days=1), DAY + timedelta(days=1))
    for rollup in (MFU_HOURLY, USABLE_HOURLY):
        bounds = [HOUR + n * ONE_HOUR for n in range(hours + 1)] if one_by_one else [HOUR, end]
        for start, stop in itertools.pairwise(bounds):
            lake.roll(rollup, start, stop)
    rows = lake.ask("select hour, bucket, gpu_us from usable_compute_hourly")
    return {((row["hour"] - HOUR) // ONE_HOUR, row["bucket"]): row["gpu_us"] for row in rows}


def test_a_late_end_of_an_earlier_attempt_does_not_end_the_next(lake: Lake) -> None:
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0"], 0, 3600)),
        (JOB_PLACEMENTS, [event("placed", 0), event("placed", 1000, attempt=1)]),
        (JOB_EVENTS, [event("ended", 1010, attempt=0), event("ended", 3600, attempt=1)]),
        (JOB_STEPS, steps("j", 0, 1, 100, 0) + steps("j", 1, 101, 360, 1000)),
    )
    assert buckets(lake) == seconds(productive=3600)


def test_of_two_jobs_on_one_gpu_the_later_has_it_and_a_dead_one_does_not_come_back(lake: Lake) -> None:
    # j never says that it ended; k is placed on its GPU and ends.
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0"], 0, 3600)),
        (JOB_PLACEMENTS, [event("placed", 0), *named("k", event("placed", 1500))]),
        (JOB_EVENTS, named("k", event("ended", 2500))),
        (JOB_STEPS, steps("j", 0, 1, 100, 0) + steps("k", 0, 1, 100, 1500)),
    )
    # After its last step j gets a pause of three steps, then it is stalled.
    assert buckets(lake) == seconds(productive=1000 + 30 + 1000, stalled=470, idle=1100)


def test_a_job_that_still_steps_gets_its_gpu_back_from_a_guest(lake: Lake) -> None:
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0"], 0, 3600)),
        (JOB_PLACEMENTS, [event("placed", 0), *named("guest", event("placed", 1000))]),
        (JOB_EVENTS, [*named("guest", event("ended", 2000)), event("ended", 3600)]),
        (JOB_STEPS, steps("j", 0, 1, 360, 0)),
    )
    assert buckets(lake) == seconds(productive=2600, allocated_uninstrumented=1000)


def test_a_job_that_told_of_itself_is_over_after_a_day_of_silence(lake: Lake) -> None:
    yesterday = -25 * 3600
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0", "g1"], 0, 3600)),
        # k never told anything but its placement: it is held as long as nobody says otherwise.
        (JOB_PLACEMENTS, [event("placed", yesterday), *named("k", event("placed", yesterday, uuids=("g1",)))]),
        (JOB_EVENTS, [event("heartbeat", yesterday + 60)]),
    )
    lake.roll(JOB_DAYS, DAY - timedelta(days=2), DAY)
    assert buckets(lake) == seconds(idle=3600, allocated_uninstrumented=3600)


def test_a_hang_of_many_hours_stays_stalled(lake: Lake) -> None:
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0"], 0, 6 * 3600, every_s=60)),
        (JOB_PLACEMENTS, [event("placed", 0)]),
        (JOB_STEPS, steps("j", 0, 1, 360, 0)),
    )
    found = by_hour(lake, 6, one_by_one=True)
    assert found[5, "stalled"] == 3600 * S
    assert found == by_hour(lake, 6, one_by_one=False)


def test_an_hour_built_alone_and_in_a_range_is_the_same(lake: Lake) -> None:
    crash = [event("restarted", 9400, attempt=1), event("ended", 14_000, attempt=1)]
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0"], -600, 5 * 3600, every_s=30)),
        # Idle for 50 minutes around the third hour's end; scraped more seldom from then on.
        (GPU_SCRAPES, scrapes("n2", ["g1"], 0, 9300, every_s=10)),
        (GPU_SCRAPES, scrapes("n2", ["g1"], 9300, 12_300, every_s=60, active=0.0)),
        (GPU_SCRAPES, scrapes("n2", ["g1"], 12_300, 5 * 3600, every_s=60)),
        (JOB_PLACEMENTS, [event("placed", 100), event("placed", 9400, attempt=1)]),
        (JOB_PLACEMENTS, named("k", event("placed", 50, uuids=("g1",)))),
        (JOB_EVENTS, crash),
        (JOB_STEPS, steps("j", 0, 1, 700, 200.5, step_s=13.0) + steps("j", 1, 650, 900, 9500, step_s=13.0)),
    )
    alone = by_hour(lake, 5, one_by_one=True)
    assert alone == by_hour(lake, 5, one_by_one=False)
    assert {bucket for _, bucket in alone} >= {"reserved_idle", "lost", "startup", "productive", "idle"}
    for hour in range(5):
        assert sum(us for (at, _), us in alone.items() if at == hour) == 2 * 3600 * S


def test_a_change_of_the_scrape_interval_makes_no_gap(lake: Lake) -> None:
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0"], 0, 1800, every_s=60)),
        (GPU_SCRAPES, scrapes("n1", ["g0"], 1800, 3600, every_s=5)),
    )
    assert buckets(lake) == seconds(idle=3600)


def test_a_step_counts_in_each_hour_by_what_lies_in_it(lake: Lake) -> None:
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0"], -3600, 3600)),
        (JOB_PLACEMENTS, [event("placed", -700)]),
        (JOB_EVENTS, [event("ended", 1100)]),
        # From 700 s before the hour to 500 s into it, then to its end.
        (JOB_STEPS, steps("j", 0, 1, 1, -700, step_s=1200) + steps("j", 0, 2, 2, 500, step_s=600)),
    )
    assert buckets(lake) == seconds(productive=1100, idle=2500)


def test_a_checkpoint_within_a_step_leaves_the_rest_of_it_productive(lake: Lake) -> None:
    phase: Phase = "checkpoint"
    saving = told(steps("j", 0, 1, 100, 0, checkpoint_s=4.0), phase=[phase] * 100)
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0"], 0, 3600)),
        (JOB_PLACEMENTS, [event("placed", 0)]),
        (JOB_EVENTS, [event("ended", 2000)]),
        # The second hundred does not say how long saving took: all of it.
        (JOB_STEPS, saving + told(steps("j", 0, 101, 200, 1000), phase=[phase] * 100)),
    )
    assert buckets(lake) == seconds(productive=600, checkpoint=400 + 1000, idle=1600)


def test_steps_done_again_within_an_attempt_are_lost(lake: Lake) -> None:
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0"], 0, 3600)),
        (JOB_PLACEMENTS, [event("placed", 0)]),
        (JOB_EVENTS, [event("ended", 2000)]),
        (JOB_STEPS, steps("j", 0, 1, 100, 0) + steps("j", 0, 81, 180, 1000)),
    )
    assert buckets(lake) == seconds(productive=1800, lost=200, idle=1600)


def test_steps_that_were_done_but_not_told_are_no_stall(lake: Lake) -> None:
    # Steps 101 to 160 got lost on their way, and nothing of rank 1 ever came.
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0", "g1"], 0, 3600)),
        (JOB_PLACEMENTS, [event("placed", 0, uuids=("g0", "g1"))]),
        (JOB_EVENTS, [event("ended", 3600)]),
        (JOB_STEPS, steps("j", 0, 1, 100, 0) + steps("j", 0, 161, 360, 1600)),
    )
    assert buckets(lake) == seconds(productive=7200)


def test_the_clock_of_a_rank_that_runs_ahead_is_set_right(lake: Lake) -> None:
    ahead = 7200 * S
    reports = steps("j", 0, 1, 100, 0)
    late = told(reports, start_us=[at + ahead for at in reports[0].start_us if at is not None])
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0"], 0, 3600)),
        (JOB_PLACEMENTS, [event("placed", 0)]),
        (JOB_EVENTS, [event("ended", 1000)]),
        (JOB_STEPS, late),
    )
    assert buckets(lake) == seconds(productive=1000, idle=2600)


def test_a_job_whose_attempt_number_the_scheduler_does_not_know_is_compared_within_its_pipeline_stage(
    lake: Lake,
) -> None:
    """An imbalanced stage is no straggler: the slow rank has a stage of its own."""
    placed = msgspec.structs.replace(
        event("placed", 0),
        placement=[
            Placement(rank=rank, node="n1", gpu_uuid=f"g{rank}", coords=Coords(pp=rank // 2)) for rank in range(4)
        ],
    )
    reports = [
        msgspec.structs.replace(one, rank=[rank] * 360, compute_s=[8.0 if rank >= 2 else 4.0] * 360)
        for rank in range(4)
        for one in steps("j", 3, 1, 360, 0)
    ]
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0", "g1", "g2", "g3"], 0, 3600)),
        (JOB_PLACEMENTS, [placed]),
        (JOB_EVENTS, [event("ended", 3600, attempt=3)]),
        (JOB_STEPS, reports),
    )
    assert buckets(lake) == seconds(productive=4 * 3600)


def labelled(start_s: int, end_s: int, holder: str | None, active: float = 0.9) -> list[GpuScrape]:
    """Samples of g0 with the label of the pod that holds it."""
    return [
        msgspec.structs.replace(one, gpus=[Gpu(uuid="g0", index=0, pod=holder)])
        for one in scrapes("n1", ["g0"], start_s, end_s, active=active)
    ]


def test_a_gpu_that_a_pod_holds_is_not_free_though_nobody_placed_it(lake: Lake) -> None:
    lake.fill(
        (GPU_SCRAPES, labelled(0, 600, None) + labelled(600, 1200, "notebook") + labelled(1200, 3600, "notebook", 0.0))
    )
    # Without work from its first idle sample to the last one.
    assert buckets(lake) == seconds(idle=600, allocated_uninstrumented=600 + 10, reserved_idle=2390)


def test_between_two_attempts_a_job_that_keeps_its_pod_is_starting(lake: Lake) -> None:
    lake.fill(
        (GPU_SCRAPES, labelled(0, 3600, "trainer-0")),
        (JOB_PLACEMENTS, [event("placed", 0), event("placed", 1300, attempt=1)]),
        (JOB_EVENTS, [event("ended", 1000), event("ended", 3600, attempt=1)]),
        (JOB_STEPS, steps("j", 0, 1, 100, 0) + steps("j", 1, 101, 320, 1400)),
    )
    assert buckets(lake) == seconds(productive=1000 + 2200, startup=300 + 100)
