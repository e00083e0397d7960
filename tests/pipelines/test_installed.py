"""What counts as installed: GPUs that come, go, move and are replaced; MIG."""

from datetime import timedelta

import msgspec

from collectors.contract.gpu import Gpu, GpuScrape
from collectors.contract.topics import GPU_SCRAPES
from pipelines.rollup import GPU_DAYS
from streams.contract import NODE_HEALTH, NodeHealth
from tests.pipelines.conftest import Lake
from tests.pipelines.test_usable_compute import DAY, H, S, T, buckets, scrapes, seconds


def slotted(uuid: str, pci: str, start_s: int, end_s: int, node: str = "n1") -> list[GpuScrape]:
    """Samples of one GPU in a slot."""
    return [
        msgspec.structs.replace(one, gpus=[Gpu(uuid=uuid, index=0, pci=pci)], columns={"1001": [0.0]})
        for one in scrapes(node, [uuid], start_s, end_s)
    ]


def test_a_gpu_first_seen_within_the_hour_is_installed_from_then_on(lake: Lake) -> None:
    lake.fill((GPU_SCRAPES, scrapes("n1", ["g0"], 0, 3600)), (GPU_SCRAPES, scrapes("n2", ["g1"], 1200, 3600)))
    assert buckets(lake) == seconds(idle=3600 + 2400)


def test_a_replaced_gpu_is_no_longer_installed(lake: Lake) -> None:
    lake.fill((GPU_SCRAPES, slotted("old", "00:1b", 0, 1000) + slotted("new", "00:1b", 1600, 3600)))
    # Between the two the node told nothing.
    assert buckets(lake) == seconds(idle=1000 + 2000, no_data=600)


def test_a_gpu_in_another_slot_replaces_nothing(lake: Lake) -> None:
    lake.fill((GPU_SCRAPES, slotted("old", "00:1b", 0, 1000) + slotted("new", "00:1c", 1000, 3600)))
    assert buckets(lake) == seconds(idle=1000 + 2600, down=2600)


def test_a_moved_board_counts_once(lake: Lake) -> None:
    lake.fill(
        (GPU_SCRAPES, slotted("a", "00:1b", -86_400, -86_000, node="n9")),
        (GPU_SCRAPES, slotted("a", "00:1b", 0, 3600)),
    )
    lake.roll(GPU_DAYS, DAY - timedelta(days=1), DAY)
    assert buckets(lake) == seconds(idle=3600)


def test_a_gpu_that_was_not_seen_for_two_weeks_is_gone(lake: Lake) -> None:
    for days in (13, 15):
        gone = scrapes("n1", [f"lost-{days}"], -days * 86_400, -days * 86_400 + 100)
        lake.fill((GPU_SCRAPES, gone))
        lake.roll(GPU_DAYS, DAY - timedelta(days=days), DAY - timedelta(days=days - 1))
    lake.fill((GPU_SCRAPES, scrapes("n1", ["g0"], 0, 3600)))
    assert buckets(lake) == seconds(idle=3600, down=3600)


def test_mig_instances_are_one_gpu(lake: Lake) -> None:
    parts = [Gpu(uuid="g0", index=0, mig="1"), Gpu(uuid="g0", index=0, mig="2")]
    lake.fill(
        (
            GPU_SCRAPES,
            [
                msgspec.structs.replace(one, gpus=parts, columns={"1001": [0.0, 0.5]})
                for one in scrapes("n1", ["g0"], 0, 3600)
            ],
        )
    )
    assert buckets(lake) == seconds(idle=3600)


def test_a_node_cordoned_since_a_month_is_out_of_service(lake: Lake) -> None:
    def said(days: int, state: str) -> NodeHealth:
        return NodeHealth(
            ts_us=T - days * 24 * H,
            node="n1",
            score=0,
            schedulable=state != "cordoned",
            state=state,  # type: ignore[arg-type]
            reasons=[],
        )

    # A node that is not heard keeps the state it had.
    lake.fill((GPU_SCRAPES, scrapes("n1", ["g0"], 0, 3600)), (NODE_HEALTH, [said(30, "cordoned"), said(1, "unknown")]))
    assert buckets(lake) == {"out_of_service": 3600 * S}
