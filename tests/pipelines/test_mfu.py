"""MFU of jobs by hand."""

from datetime import timedelta
from typing import Any

import pytest

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.job import Coords, JobEvent, ModelShape, Placement, StepReport
from collectors.contract.topics import GPU_SCRAPES, JOB_EVENTS, JOB_PLACEMENTS, JOB_STEPS
from pipelines.rollup import EFFECTIVE_DAILY, GPU_DAYS, JOB_DAYS, MFU_DAILY, MFU_HOURLY, USABLE_DAILY, USABLE_HOURLY
from tests.pipelines.conftest import Lake
from tests.pipelines.test_usable_compute import DAY, HOUR, S, T

H100 = "NVIDIA H100 80GB HBM3"
PEAK = 989.5e12
SHAPE = ModelShape(params=8e9, layers=32, heads=32, head_dim=128, seq_len=4096, dtype="bf16")
FLOP = 6 * 8e9 + 12 * 32 * 32 * 128 * 4096


def placed(tp: int, ranks: int, model: str = H100, shape: ModelShape | None = SHAPE, **other: Any) -> JobEvent:
    return JobEvent(
        ts_us=T,
        job="j",
        kind="placed",
        model=shape,
        placement=[
            Placement(rank=r, node="n1", gpu_uuid=f"g{r}", gpu_model=model, coords=Coords(dp=r // tp, tp=r % tp))
            for r in range(ranks)
        ],
        **other,
    )


def report(ranks: int, n: int = 10, step_s: float = 2.0, tokens: int | None = 40_000, **other: Any) -> StepReport:
    columns: dict[str, Any] = {name: [value] * (n * ranks) for name, value in other.items()}
    return StepReport(
        ts_us=T + 100 * S,
        job="j",
        node="n1",
        rank=[r for r in range(ranks) for _ in range(n)],
        step=[i for _ in range(ranks) for i in range(n)],
        phase=["train"] * (n * ranks),
        start_us=[T + int(i * step_s * S) for _ in range(ranks) for i in range(n)],
        step_s=[step_s] * (n * ranks),
        tokens=[tokens] * (n * ranks),
        **columns,
    )


def rolled(lake: Lake) -> dict[str, Any]:
    for inventory in (GPU_DAYS, JOB_DAYS):
        lake.roll(inventory, DAY, DAY + timedelta(days=1))
    lake.roll(MFU_HOURLY, HOUR, HOUR + timedelta(hours=1))
    (row,) = lake.ask("select * from mfu_hourly")
    return row


def test_ranks_that_share_a_replica_share_its_tokens(lake: Lake) -> None:
    # Two replicas of two ranks: 2 x 40,000 tokens a step of 2 s on 4 GPUs.
    lake.fill((JOB_PLACEMENTS, [placed(tp=2, ranks=4)]), (JOB_STEPS, [report(4)]))
    row = rolled(lake)
    assert row["tokens"] == pytest.approx(10 * 2 * 40_000)
    assert row["gpu_s"] == pytest.approx(10 * 4 * 2.0)
    assert row["model_flop"] / row["peak_flop"] == pytest.approx(2 * 40_000 / 2.0 * FLOP / (4 * PEAK))
    assert (row["gpus"], row["steps"], row["flops_from"], row["reason"]) == (4, 10, "shape", None)


def test_a_step_that_is_told_twice_counts_once(lake: Lake) -> None:
    lake.fill((JOB_PLACEMENTS, [placed(1, 1)]), (JOB_STEPS, [report(1), report(1)]))
    assert rolled(lake)["gpu_s"] == pytest.approx(20.0)


def test_the_jobs_own_figure_stands_above_the_shape(lake: Lake) -> None:
    lake.fill((JOB_PLACEMENTS, [placed(1, 1, flops_per_token=1e10)]), (JOB_STEPS, [report(1)]))
    row = rolled(lake)
    assert (row["flops_from"], row["model_flop"]) == ("job", pytest.approx(10 * 40_000 * 1e10))


def test_packed_sequences_count_the_squares_of_their_lengths(lake: Lake) -> None:
    lake.fill((JOB_PLACEMENTS, [placed(1, 1)]), (JOB_STEPS, [report(1, sum_sq_len=1_000_000)]))
    expected = 10 * (40_000 * 6 * 8e9 + 12 * 32 * 32 * 128 * 1_000_000)
    assert rolled(lake)["model_flop"] == pytest.approx(expected)


def test_without_a_shape_the_frameworks_print_is_taken(lake: Lake) -> None:
    bare = ModelShape(dtype="bf16")
    lake.fill((JOB_PLACEMENTS, [placed(1, 1, shape=bare)]), (JOB_STEPS, [report(1, tflops_per_gpu=400.0)]))
    row = rolled(lake)
    assert (row["flops_from"], row["model_flop"] / row["peak_flop"]) == ("framework", pytest.approx(400 / 989.5))


@pytest.mark.parametrize(
    ("event", "reason"),
    [
        (placed(1, 1, model="Some GPU 9000"), "no peak for Some GPU 9000 in bf16"),
        (placed(1, 1, shape=None), "data type not told; no FLOP a token and no model shape"),
    ],
)
def test_what_cannot_be_known_is_null_with_a_reason(lake: Lake, event: JobEvent, reason: str) -> None:
    lake.fill((JOB_PLACEMENTS, [event]), (JOB_STEPS, [report(1)]))
    row = rolled(lake)
    assert row["peak_flop"] is None
    assert row["reason"] == reason


def test_the_model_of_the_board_comes_from_its_scrapes_when_the_job_does_not_say(lake: Lake) -> None:
    scrape = GpuScrape(
        ts_us=T, node="n1", gpus=[Gpu(uuid="g0", model="NVIDIA A100-SXM4-80GB")], columns={"1001": [1.0]}
    )
    lake.fill(
        (GPU_SCRAPES, [scrape]),
        (JOB_PLACEMENTS, [placed(1, 1, model=None)]),  # type: ignore[arg-type]
        (JOB_STEPS, [report(1)]),
    )
    assert rolled(lake)["peak_flop"] == pytest.approx(20 * 312e12)


def test_effective_compute_is_useful_flop_over_installed_peak(lake: Lake) -> None:
    gpus = [Gpu(uuid="g0", model=H100), Gpu(uuid="g1", model=H100)]
    scrapes = [GpuScrape(ts_us=T + i * 10 * S, node="n1", gpus=gpus, columns={"1001": [0.9, 0.0]}) for i in range(360)]
    ended = JobEvent(ts_us=T + 20 * S, job="j", kind="ended")
    lake.fill((GPU_SCRAPES, scrapes), (JOB_PLACEMENTS, [placed(1, 1)]), (JOB_STEPS, [report(1)]), (JOB_EVENTS, [ended]))
    rolled(lake)
    lake.roll(USABLE_HOURLY, HOUR, HOUR + timedelta(hours=1))
    for rollup in (MFU_DAILY, USABLE_DAILY, EFFECTIVE_DAILY):
        lake.roll(rollup, DAY, DAY + timedelta(days=1))
    (row,) = lake.ask("select * from effective_compute_daily")
    assert (row["installed_us"], row["usable_us"], row["allocated_us"], row["productive_us"]) == (
        7200 * S,
        7200 * S,
        20 * S,
        20 * S,
    )
    useful = row["productive_us"] / row["installed_us"] * row["model_flop"] / row["peak_flop"]
    assert useful == pytest.approx(10 * 40_000 * FLOP / (7200 * PEAK))
