"""Every GPU-second in exactly one bucket, by hand-computed fleets."""

from datetime import UTC, datetime, timedelta

import msgspec

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.job import Coords, JobEvent, Phase, Placement, StepReport
from collectors.contract.topics import GPU_SCRAPES, JOB_EVENTS, JOB_PLACEMENTS, JOB_STEPS
from pipelines.rollup import GPU_DAYS, JOB_DAYS, USABLE_DAILY, USABLE_HOURLY
from streams.contract import NODE_HEALTH, HealthReason, HealthState, NodeHealth
from tests.pipelines.conftest import Lake

DAY = datetime(2026, 3, 2, tzinfo=UTC)
HOUR = DAY + timedelta(hours=5)
T = int(HOUR.timestamp()) * 1_000_000
S = 1_000_000
H = 3600 * S


def scrapes(
    node: str, gpus: list[str], start_s: int, end_s: int, every_s: int = 10, active: float = 0.9
) -> list[GpuScrape]:
    return [
        GpuScrape(
            ts_us=T + second * S,
            node=node,
            gpus=[Gpu(uuid=uuid, index=i, model="NVIDIA H100 80GB HBM3") for i, uuid in enumerate(gpus)],
            columns={"1001": [active] * len(gpus)},
        )
        for second in range(start_s, end_s, every_s)
    ]


def steps(
    job: str, attempt: int, first: int, last: int, start_s: float, step_s: float = 10.0, **columns: float
) -> list[StepReport]:
    """Steps first..last of one rank, one after another."""
    phase: Phase = "train"
    n = last - first + 1
    return [
        StepReport(
            ts_us=T + int((start_s + n * step_s) * S),
            job=job,
            attempt=attempt,
            node="n1",
            rank=[0] * n,
            step=list(range(first, last + 1)),
            phase=[phase] * n,
            start_us=[T + int((start_s + i * step_s) * S) for i in range(n)],
            step_s=[step_s] * n,
            **{name: [value] * n for name, value in columns.items()},  # type: ignore[arg-type]
        )
    ]


def event(kind: str, at_s: float, attempt: int = 0, uuids: tuple[str, ...] = ("g0",), node: str = "n1") -> JobEvent:
    return JobEvent(
        ts_us=T + int(at_s * S),
        job="j",
        attempt=attempt,
        kind=kind,  # type: ignore[arg-type]
        placement=[Placement(rank=r, node=node, gpu_uuid=u, coords=Coords(dp=r)) for r, u in enumerate(uuids)]
        if kind == "placed"
        else [],
    )


def buckets(lake: Lake) -> dict[str, int]:
    """Seconds by bucket of the hour."""
    for inventory in (GPU_DAYS, JOB_DAYS):
        lake.roll(inventory, DAY, DAY + timedelta(days=1))
    lake.roll(USABLE_HOURLY, HOUR, HOUR + timedelta(hours=1))
    rows = lake.ask("select bucket, sum(gpu_us) as us from usable_compute_hourly group by bucket")
    return {row["bucket"]: int(row["us"]) for row in rows}


def seconds(**expected: float) -> dict[str, int]:
    return {name: round(value * S) for name, value in expected.items()}


def test_a_free_gpu_is_idle(lake: Lake) -> None:
    lake.fill((GPU_SCRAPES, scrapes("n1", ["g0", "g1"], 0, 3600, active=0.0)))
    assert buckets(lake) == seconds(idle=7200)


def test_the_goodput_example_comes_out(lake: Lake) -> None:
    # Steps 1..50, a crash, restart at 41 after 120 s, steps 41..100; 10 s each after 60 s of start-up: of 1280 s
    # 1000 s are kept, 100 s lost.
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0"], 0, 3600)),
        (JOB_PLACEMENTS, [event("placed", 0), event("placed", 560, attempt=1)]),
        (JOB_EVENTS, [event("restarted", 560, attempt=1), event("ended", 1280, attempt=1)]),
        (JOB_STEPS, steps("j", 0, 1, 50, 60) + steps("j", 1, 41, 100, 680)),
    )
    found = buckets(lake)
    assert found == seconds(productive=1000, lost=100, startup=180, idle=2320)
    assert found["productive"] / (1280 * S) == 0.78125


def test_a_node_that_falls_silent_is_no_data_and_a_gpu_that_vanishes_is_down(lake: Lake) -> None:
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0", "g1"], 0, 1800)),
        (GPU_SCRAPES, scrapes("n1", ["g0"], 1800, 3600)),
        (GPU_SCRAPES, scrapes("n2", ["g2"], 0, 600)),
    )
    # The last sample holds for one interval.
    assert buckets(lake) == seconds(idle=3600 + 1800 + 600, down=1800, no_data=3000)


def test_a_gap_of_three_intervals_is_bridged_and_a_longer_one_is_not(lake: Lake) -> None:
    rows = scrapes("n1", ["g0"], 0, 3600)
    kept = [m for m in rows if not (600 < (m.ts_us - T) // S < 630) and not (1200 < (m.ts_us - T) // S < 1300)]
    lake.fill((GPU_SCRAPES, kept))
    assert buckets(lake) == seconds(idle=3600 - 90, no_data=90)


def test_health_comes_before_use(lake: Lake) -> None:
    def health(at_s: int, state: HealthState, schedulable: bool) -> NodeHealth:
        reason = HealthReason(cause="xid_79", points=100, part="g0", since_us=T, finding="f")
        return NodeHealth(
            ts_us=T + at_s * S, node="n1", score=0, schedulable=schedulable, state=state, reasons=[reason]
        )

    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0"], 0, 3600)),
        (NODE_HEALTH, [health(600, "suspect", True), health(900, "cordoned", False), health(1500, "healthy", True)]),
    )
    assert buckets(lake) == seconds(idle=600 + 2100, unhealthy_in_pool=300, out_of_service=600)


def test_a_straggler_costs_every_rank_the_same_share(lake: Lake) -> None:
    # One rank computes 8 s, the other 4 s: without the excess over the median the step would take 10 - (8 - 6) s.
    def both(rank: int, compute_s: float) -> StepReport:
        base = steps("j", 0, 1, 100, 0)[0]
        n = len(base.rank)
        return StepReport(
            ts_us=base.ts_us, job="j", node="n1", rank=[rank] * n, step=base.step, phase=base.phase,
            start_us=base.start_us, step_s=base.step_s, compute_s=[compute_s] * n,
        )  # fmt: skip

    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0", "g1"], 0, 3600)),
        (JOB_PLACEMENTS, [event("placed", 0, uuids=("g0", "g1"))]),
        (JOB_EVENTS, [event("ended", 1000)]),
        (JOB_STEPS, [both(0, 8.0), both(1, 4.0)]),
    )
    assert buckets(lake) == seconds(productive=1600, straggled=400, idle=5200)


def test_a_job_without_step_reports_is_not_called_productive(lake: Lake) -> None:
    lake.fill((GPU_SCRAPES, scrapes("n1", ["g0"], 0, 3600)), (JOB_PLACEMENTS, [event("placed", 600)]))
    assert buckets(lake) == seconds(idle=600, allocated_uninstrumented=3000)


def test_an_allocation_without_work_for_half_an_hour_is_reserved_idle(lake: Lake) -> None:
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0"], 0, 600)),
        (GPU_SCRAPES, scrapes("n1", ["g0"], 600, 3600, active=0.0)),
        (JOB_PLACEMENTS, [event("placed", 0)]),
    )
    # From the first to the last sample without work.
    assert buckets(lake) == seconds(allocated_uninstrumented=610, reserved_idle=2990)


def test_a_hang_is_stalled_and_a_checkpoint_is_a_checkpoint(lake: Lake) -> None:
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0"], 0, 3600)),
        (JOB_PLACEMENTS, [event("placed", 0)]),
        (JOB_EVENTS, [event("ended", 3600)]),
        (JOB_STEPS, steps("j", 0, 1, 100, 0, checkpoint_s=1.0)),
        (JOB_STEPS, steps("j", 0, 101, 200, 2600)),
    )
    assert buckets(lake) == seconds(productive=900 + 1000, checkpoint=100, stalled=1600)


def test_a_step_that_hangs_is_a_stall_beyond_the_usual_and_a_first_step_is_startup_beyond_it(lake: Lake) -> None:
    first = msgspec.structs.replace(steps("j", 0, 1, 1, 0, step_s=100.0)[0], phase=["warmup"])
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0"], 0, 3600)),
        (JOB_PLACEMENTS, [event("placed", 0)]),
        (JOB_EVENTS, [event("ended", 1510)]),
        (JOB_STEPS, [first]),
        (JOB_STEPS, steps("j", 0, 2, 41, 100)),
        (JOB_STEPS, steps("j", 0, 42, 42, 500, step_s=1010.0)),
    )
    assert buckets(lake) == seconds(productive=10 + 400 + 10, startup=90, stalled=1000, idle=2090)


def test_buckets_sum_to_installed_whatever_is_in_them_and_twice_changes_nothing(lake: Lake) -> None:
    lake.fill(
        (GPU_SCRAPES, scrapes("n1", ["g0", "g1"], 3, 3550, every_s=7)),
        (GPU_SCRAPES, scrapes("n2", ["g2"], 0, 3600, every_s=13)),
        (JOB_PLACEMENTS, [event("placed", 11.3, uuids=("g0", "g1"))]),
        (JOB_STEPS, steps("j", 0, 1, 333, 40.1, step_s=3.3333, checkpoint_s=0.11, data_s=0.5)),
    )
    first = buckets(lake)
    assert sum(first.values()) == 3 * H - 2 * 3 * S
    assert buckets(lake) == first
    lake.roll(USABLE_DAILY, DAY, DAY + timedelta(days=1))
    daily = lake.ask("select sum(gpu_us) as us, count(*) as n from usable_compute_daily")
    assert (daily[0]["us"], daily[0]["n"]) == (sum(first.values()), len(first))
