"""GPUs that vanish from the page: scrapes in, exact edges out."""

from collections.abc import Sequence

import pytest
from msgspec import structs

from collectors.contract.gpu import Gpu, GpuScrape
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.lost import LostDetector
from streams.detectors.lost_limits import LostLimits
from streams.detectors.lost_state import MOST
from tests.streams.scrapes import SECOND, T0, Cell, gpus, only, scrape

DAY = 86400.0


def judge(messages: Sequence[GpuScrape | Tick], detector: LostDetector | None = None) -> list[Finding]:
    d = detector or LostDetector(LostLimits())
    return d.step(d.fresh(), messages)[1]


def page(
    at: float, without: Sequence[int] = (), busy: Cell = 0.9, dead: int | None = None, count: int = 8
) -> GpuScrape:
    parts = [g for g in gpus(count) if g.index not in without]
    cells = [None if g.index == dead else busy for g in parts]
    return scrape(at, {"100": [None if c is None else 1900.0 for c in cells], "1002": cells}, parts=parts)


def edges(found: Sequence[Finding]) -> list[tuple[float, str, str, str, str]]:
    return [((f.ts_us - T0) / SECOND, f.state, f.severity, f.cause, f.subject.id) for f in found]


def test_a_gpu_at_work_that_is_gone_for_two_scrapes_is_lost() -> None:
    found = judge([page(0), page(10), page(20, [3]), page(30, [3]), page(40, [3])])
    assert edges(found) == [(30, "opened", "critical", "gpu_lost", "GPU-3")]
    assert found[0].summary == "GPU 3 of n1: it is gone from the page for 20 s while the page goes on"
    assert found[0].confidence == "high"


def test_one_scrape_without_a_gpu_is_no_loss() -> None:
    assert judge([page(0), page(10, [3]), page(20), page(30, [3]), page(40)]) == []


def test_a_gpu_that_is_back_for_two_scrapes_is_lost_no_more() -> None:
    gone = [page(10.0 * i, [3]) for i in range(1, 5)]
    found = judge([page(0), *gone, page(50), page(60, [3]), page(70), page(80)])
    assert [e[:2] for e in edges(found)] == [(20, "opened"), (80, "cleared")]


def test_silence_clears_nothing_and_finds_nothing() -> None:
    later = Tick(T0 + int(90 * DAY * SECOND))
    assert judge([page(0), page(10, [3]), later]) == []
    assert [f.state for f in judge([page(0), page(10, [3]), page(20, [3]), later])] == ["opened"]


def test_an_idle_gpu_has_a_minute_for_a_planned_reset() -> None:
    resting = [page(10.0 * i, [3], busy=0.0) for i in range(1, 6)]
    assert judge([page(0, busy=0.0), *resting, page(55, busy=0.0)]) == []
    found = judge([page(0, busy=0.0), *resting, page(60, [3], busy=0.0)])
    assert edges(found) == [(60, "opened", "critical", "gpu_lost", "GPU-3")]
    assert found[0].confidence == "medium"


def test_a_gpu_of_which_nothing_can_be_read_is_silent() -> None:
    found = judge([page(0), page(10, dead=3), page(20, dead=3), page(30, [3]), page(40), page(50)])
    assert [(e[0], e[1], e[3]) for e in edges(found)] == [
        (20, "opened", "gpu_silent"),
        (30, "updated", "gpu_lost"),
        (50, "cleared", "gpu_lost"),
    ]


def test_a_page_of_which_nothing_can_be_read_says_nothing_of_its_gpus() -> None:
    assert judge([page(0), *(page(10.0 * i, busy=None) for i in range(1, 100)), page(1000)]) == []


def test_a_single_cell_that_cannot_be_read_is_no_loss() -> None:
    holes = [scrape(10.0 * i, {"100": 1900.0, "1002": only(3, None, 0.9)}) for i in range(1, 20)]
    assert judge([page(0), *holes]) == []


def test_a_reload_of_the_driver_is_no_loss() -> None:
    away = [page(10.0 * i, range(8)) for i in range(1, 30)]
    one_by_one = [page(300.0 + 10 * i, range(i, 8)) for i in range(1, 9)]
    assert judge([page(0), *away, *one_by_one, page(400)]) == []


def test_a_gpu_that_does_not_come_back_after_a_reload_is_lost() -> None:
    away = [page(10.0 * i, range(8)) for i in range(1, 10)]
    after = [page(100.0 + 10 * i, [3]) for i in range(100)]
    found = judge([page(0), *away, *after])
    assert edges(found) == [(690, "opened", "critical", "gpu_lost", "GPU-3")]


def test_a_node_whose_gpus_stay_away_has_lost_them() -> None:
    away = [page(10.0 * i, range(8)) for i in range(1, 100)]
    found = judge([page(0), *away, page(1000), page(1010)])
    assert edges(found) == [
        (600, "opened", "critical", "gpu_lost", "n1"),
        (1010, "cleared", "critical", "gpu_lost", "n1"),
    ]


def test_a_change_of_mig_instances_is_no_loss() -> None:
    split = [structs.replace(g, mig="1g.10gb/7") if g.index == 2 else g for g in gpus(8)]
    changed = scrape(10, {"1002": 0.9}, parts=split)
    without = [scrape(10.0 * i, {"1002": 0.9}, parts=[g for g in split if g.index not in (2, 3)]) for i in range(2, 40)]
    assert judge([page(0), changed, *without, page(400)]) == []


def test_a_gpu_whose_mig_instances_are_taken_away_is_no_loss() -> None:
    split = [structs.replace(g, mig="1g.10gb/7") for g in gpus(8)]
    full = [scrape(10.0 * i, {"1002": 0.9}, parts=split) for i in range(3)]
    bare = [scrape(1000 + 10.0 * i, {"1002": 0.9}, parts=split[:7]) for i in range(300)]
    assert judge([*full, *bare]) == []


def test_a_node_that_shows_as_many_other_gpus_at_other_addresses_is_another_board() -> None:
    board = [Gpu(uuid=f"NEW-{n}", index=n, model="H100 SXM", pci=f"0001:{n:02x}:00") for n in range(8)]
    later = [scrape(1000 + 10 * n, {"1002": 0.9}, parts=board) for n in range(100)]
    assert judge([page(0), *later]) == []
    found = judge([page(0), page(10, [3]), page(20, [3]), *later])
    assert [e[:2] for e in edges(found)] == [(20, "opened"), (1000, "cleared")]
    fewer = [scrape(1000 + 10 * n, {"1002": 0.9}, parts=board[:7]) for n in range(100)]
    assert len([f for f in judge([page(0), *fewer]) if f.state == "opened"]) == 8


def test_a_gpu_in_the_place_of_the_lost_one_ends_the_wait() -> None:
    swapped = [Gpu(uuid="GPU-new", index=3, model=g.model, pci=g.pci) if g.index == 3 else g for g in gpus(8)]
    found = judge([page(0), page(10, [3]), page(20, [3]), scrape(5000, {"1002": 0.9}, parts=swapped)])
    assert [e[:2] for e in edges(found)] == [(20, "opened"), (5000, "cleared")]
    assert found[1].summary == "GPU 3 (GPU-3) of n1 is gone, replaced by GPU-new"


def test_two_sources_that_show_a_node_in_turn_lose_nothing() -> None:
    halves = [page(10.0 * i, range(4) if i % 3 else range(4, 8)) for i in range(1, 60)]
    assert [f for f in judge([page(0), *halves]) if f.ts_us > T0 + 60 * SECOND] == []


def test_a_node_of_seven_boards_that_never_showed_more_is_a_ticket() -> None:
    seven = [page(60.0 * i, count=7) for i in range(8)]
    found = judge([*seven, page(600), page(660)])
    assert [(e[0], e[1], e[2], e[3]) for e in edges(found)] == [
        (300, "opened", "warning", "gpu_count_odd"),
        (600, "cleared", "warning", "gpu_count_odd"),
    ]
    assert "shows 7 GPUs" in found[0].summary


@pytest.mark.parametrize(("count", "model"), [(8, "NVIDIA H100 80GB HBM3"), (7, "NVIDIA L40S"), (4, "NVIDIA GB200")])
def test_usual_numbers_of_gpus_are_no_news(count: int, model: str) -> None:
    parts = gpus(count, model)
    assert judge([scrape(60.0 * i, {"1002": 0.9}, parts=parts) for i in range(20)]) == []


def test_what_is_kept_stands_still_while_a_node_is_well() -> None:
    d = LostDetector(LostLimits())
    state, _ = d.step(d.fresh(), [page(10.0 * i) for i in range(40)])
    kept = d.keep(state)
    state, _ = d.step(state, [page(1000 + 10.0 * i, busy=0.1 * i) for i in range(10)])
    assert d.keep(state) == kept


def test_a_node_comes_back_from_a_reboot_with_a_gpu_less_and_another_worker_sees_it() -> None:
    d = LostDetector(LostLimits())
    state, _ = d.step(d.fresh(), [page(0), page(10)])
    kept = d.keep(state)
    assert kept is not None
    _, found = d.step(d.restore(kept), [page(900, [5]), page(910, [5])])
    assert edges(found) == [(910, "opened", "critical", "gpu_lost", "GPU-5")]


def test_what_is_kept_is_bounded() -> None:
    d = LostDetector(LostLimits())
    same = Gpu(uuid="G", pci="0")
    strange = [
        scrape(10.0 * i, {"1002": 0.9}, parts=[same, *(Gpu(uuid=f"G-{i}-{j}", pci=f"{i}-{j}") for j in range(7))])
        for i in range(100)
    ]
    state, found = d.step(d.fresh(), strange)
    assert len(state.kept.known) == MOST
    assert len(found) <= MOST
    assert len(d.keep(state) or b"") < 100_000
