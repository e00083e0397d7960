"""PCIe, NVLink and C2C: scrapes in, exact edges out."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from msgspec import structs

from collectors.contract.gpu import Entities, Gpu, GpuScrape
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from streams.causes import UNKNOWN, cause_row
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.links import LinkDetector
from streams.detectors.links_errors import WORDS
from streams.detectors.links_findings import ACTIONS
from streams.detectors.links_limits import LinkLimits
from streams.detectors.links_tables import counter, usual_nvlinks
from tests.streams.scrapes import SECOND, T0, Cell, gpus, only, scrape
from tests.streams.stories_links import nvlinks

PCIE = {"235": 5.0, "236": 16.0, "237": 5.0, "238": 16.0}


def detector(**limits: Any) -> LinkDetector:
    return LinkDetector(LinkLimits(**limits))


def judge(messages: Sequence[Message | Tick], **limits: Any) -> list[Finding]:
    d = detector(**limits)
    return d.step(d.fresh(), messages)[1]


def edges(found: Sequence[Finding]) -> list[tuple[float, str, str, str, str]]:
    return [((f.ts_us - T0) / SECOND, f.state, f.severity, f.cause, f.subject.id) for f in found]


def at(
    t: float,
    columns: Mapping[str, Sequence[Cell] | Cell],
    *,
    active: Sequence[Cell] | Cell = 0.9,
    parts: list[Gpu] | None = None,
    entities: Sequence[Entities] = (),
    named: Mapping[str, list[Cell]] | None = None,
) -> GpuScrape:
    made = scrape(t, {**PCIE, "1002": active, **columns}, parts=parts)
    return structs.replace(made, entities=list(entities), named=dict(named or {}))


def growing(
    field_id: str, per_scrape: float, count: int = 60, every_s: float = 10.0, **more: Any
) -> list[Message | Tick]:
    """GPU 3's counter grows."""
    return [at(every_s * i, {field_id: only(3, per_scrape * i), **more}) for i in range(count)]


def switch_ports(states: Sequence[Cell], reset: Cell = 0.0) -> list[Entities]:
    return [
        Entities(
            kind="nvswitch_link",
            ids=[str(i) for i in range(len(states))],
            parents=["nvswitch0"] * len(states),
            columns={"870": list(states)},
        ),
        Entities(kind="nvswitch", ids=["nvswitch0"], parents=[None], columns={"864": [reset]}),
    ]


def test_counters_that_stand_still_say_nothing() -> None:
    assert judge(growing("202", 0.0)) == []


@pytest.mark.parametrize(
    ("generation", "width", "a_minute", "is_found"),
    [
        (3.0, 16.0, 6.0, False),
        (3.0, 16.0, 18.0, True),
        (4.0, 16.0, 12.0, False),
        (5.0, 16.0, 24.0, False),
        (5.0, 16.0, 72.0, True),
        (5.0, 8.0, 36.0, True),
        (None, None, 6.0, False),
        (None, None, 18.0, True),
    ],
)
def test_replays_are_judged_by_what_the_line_may_err(
    generation: Cell, width: Cell, a_minute: float, is_found: bool
) -> None:
    """1e-12 of 16 lanes of 8 GT/s are 7.7 a minute, of 32 GT/s 30.7."""
    line = {"235": generation, "236": width, "237": generation, "238": width}
    rows = [at(10.0 * i, {"202": only(3, a_minute / 6 * i), **line}) for i in range(60)]
    expected = [("opened", "warning", "pcie_replays", "GPU-3")] if is_found else []
    assert [e[1:] for e in edges(judge(rows))] == expected


def test_many_replays_are_a_finding_in_two_scrapes() -> None:
    found = judge(growing("202", 2000.0, 5))
    assert edges(found) == [(20, "opened", "warning", "pcie_replays", "GPU-3")]
    assert (found[0].value, found[0].limit, found[0].unit) == (12000.0, 30.72, "errors/minute")
    assert found[0].summary == "GPU 3 on n1: 12,000 PCIe replays a minute, 31 are normal"


@pytest.mark.parametrize(("field_id", "a_second"), [("202", 20.0), ("409", 500.0)])
def test_a_rate_that_is_certainly_too_high_is_found_in_three_scrapes(field_id: str, a_second: float) -> None:
    found = judge(growing(field_id, a_second, 20, every_s=1.0))
    assert [e[:2] for e in edges(found)] == [(3, "opened")]


def test_a_lone_burst_is_no_finding() -> None:
    assert judge([at(10.0 * i, {"202": only(3, 0.0 if i < 5 else 1e6)}) for i in range(60)]) == []


def test_a_counter_that_began_again_is_no_error() -> None:
    assert judge([at(10.0 * i, {"202": only(3, 1e6 * (i % 2))}) for i in range(2)]) == []
    assert judge([at(10.0 * i, {"202": only(3, 1e6 - 1e4 * i)}) for i in range(20)]) == []


def test_a_sentinel_is_no_error() -> None:
    blank = 9223372036854775794.0
    assert judge([at(10.0 * i, {"202": only(3, blank if i % 2 else 5.0)}) for i in range(20)]) == []


def test_crc_errors_of_nvlink_count_from_a_hundred_a_second() -> None:
    assert judge(growing("409", 900.0)) == []
    assert [e[3:] for e in edges(judge(growing("409", 2500.0)))] == [("nvlink_errors", "GPU-3")]


def test_errors_are_not_counted_twice_where_totals_and_links_are_told() -> None:
    rows = [
        at(
            10.0 * i,
            {"429": only(3, 8.0 * i)},
            entities=[
                Entities(kind="nvlink", ids=["0", "1"], parents=["GPU-3", "GPU-3"], columns={"1527": [8.0 * i, 0.0]})
            ],
            parts=gpus(8, "Some GPU"),
        )
        for i in range(60)
    ]
    assert judge(rows) == []


def test_a_link_that_retrains_again_and_again_is_named() -> None:
    rows = [
        at(60.0 * i, {}, named={"DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_L7": only(3, float(i // 5))})
        for i in range(40)
    ]
    found = judge(rows)
    assert edges(found) == [(1200, "opened", "warning", "nvlink_errors", "GPU-3")]
    assert [(e.what, e.value) for e in found[0].evidence if "link" in e.what.split()] == [("errors of link 7", 4.0)]


def test_two_retrainings_in_an_hour_are_life() -> None:
    assert judge([at(60.0 * i, {"439": only(3, float(i // 30))}) for i in range(120)]) == []


def test_retraining_without_end_is_critical() -> None:
    assert [e[1:4] for e in edges(judge(growing("439", 2.0, 10)))] == [("opened", "critical", "nvlink_errors")]


def test_a_link_that_did_not_come_back_is_told_at_once() -> None:
    rows = [at(10.0 * i, {"1212": only(3, float(i >= 4))}) for i in range(9)]
    assert edges(judge(rows)) == [(40, "opened", "critical", "nvlink_failed", "GPU-3")]


def test_errors_of_the_link_to_the_cpu_have_a_word_of_their_own() -> None:
    assert [e[1:4] for e in edges(judge(growing("1400", 10.0)))] == [("opened", "warning", "c2c_errors")]


def test_errors_end_after_ten_minutes_under_load_without_more() -> None:
    idle = [at(200.0 + 10.0 * i, {"202": only(3, 8000.0)}, active=0.0) for i in range(200)]
    work = [at(2200.0 + 10.0 * i, {"202": only(3, 8000.0)}) for i in range(80)]
    found = judge([*growing("202", 2000.0, 5), *idle, *work])
    assert edges(found)[1:] == [(2800, "cleared", "warning", "pcie_replays", "GPU-3")]


def test_a_narrow_link_is_a_finding_under_load() -> None:
    found = judge([at(10.0 * i, {"238": only(2, 8.0, 16.0)}) for i in range(9)])
    assert edges(found) == [(20, "opened", "warning", "pcie_downtrain", "GPU-2")]
    assert (found[0].value, found[0].limit, found[0].unit) == (8.0, 16.0, "lanes")


def test_a_quarter_of_the_bandwidth_is_critical() -> None:
    found = judge([at(10.0 * i, {"238": only(2, 4.0, 16.0)}) for i in range(9)])
    assert [f.severity for f in found] == ["critical"]


def test_a_low_generation_at_rest_is_power_saving() -> None:
    assert judge([at(10.0 * i, {"237": 1.0}, active=0.0) for i in range(20)]) == []
    assert judge([at(10.0 * i, {"237": only(2, 1.0, 5.0)}, active=only(2, 0.0, 0.9)) for i in range(20)]) == []


def test_a_low_generation_under_load_is_a_finding() -> None:
    found = judge([at(10.0 * i, {"237": only(2, 3.0, 5.0)}) for i in range(9)])
    assert [(f.cause, f.value, f.limit, f.unit) for f in found] == [("pcie_downtrain", 3.0, 5.0, "PCIe generation")]


def test_a_generation_that_nobody_of_the_node_reaches_is_the_platforms() -> None:
    assert judge([at(10.0 * i, {"237": 4.0}) for i in range(20)]) == []


def test_all_links_narrow_at_once_are_one_fault_of_the_node() -> None:
    rows = [at(10.0 * i, {"238": 16.0 if i < 3 or i > 9 else 8.0}) for i in range(30)]
    assert edges(judge(rows)) == [
        (50, "opened", "warning", "pcie_downtrain", "n1"),
        (160, "cleared", "warning", "pcie_downtrain", "n1"),
    ]


def test_a_link_that_is_down_is_told_against_the_models_number() -> None:
    found = judge([at(10.0 * i, {}, entities=[nvlinks([(6, 4)])]) for i in range(9)])
    assert edges(found) == [(20, "opened", "critical", "nvlink_down", "GPU-6")]
    assert found[0].summary == "GPU 6 on n1: 17 of 18 NVLinks are up"
    assert [e.what for e in found[0].evidence] == ["link 4 is down"]


def test_links_of_an_unknown_model_are_judged_by_their_past_and_their_neighbours() -> None:
    parts = gpus(8, "Some GPU")
    all_alike = [(g, link) for g in range(8) for link in range(6)]
    assert judge([at(10.0 * i, {}, parts=parts, entities=[nvlinks(all_alike)]) for i in range(9)]) == []
    later = [at(10.0 * i, {}, parts=parts, entities=[nvlinks(all_alike if i > 3 else ())]) for i in range(9)]
    assert edges(judge(later)) == [(60, "opened", "critical", "nvlink_down", "n1")]


def test_a_link_whose_state_is_not_told_is_not_down() -> None:
    quiet = Entities(kind="nvlink", ids=["0"], parents=["GPU-3"], columns={"1525": [5.0]})
    assert judge([at(10.0 * i, {}, entities=[quiet]) for i in range(9)]) == []


def test_a_board_whose_links_are_not_used_at_all_is_well() -> None:
    none = [(g, link) for g in range(8) for link in range(18)]
    assert judge([at(10.0 * i, {}, entities=[nvlinks(none)]) for i in range(9)]) == []


def test_a_platform_with_fewer_links_can_be_told() -> None:
    down = [(g, link) for g in range(8) for link in range(6)]
    assert judge([at(10.0 * i, {}, entities=[nvlinks(down)]) for i in range(9)], nvlinks={"H100": 12}) == []


def test_a_port_of_a_switch_in_error_is_a_fault_and_an_unused_one_is_not() -> None:
    assert judge([at(10.0 * i, {}, entities=switch_ports([2.0, 2.0, 0.0])) for i in range(9)]) == []
    found = judge([at(10.0 * i, {}, entities=switch_ports([2.0, 3.0, 0.0])) for i in range(9)])
    assert edges(found) == [(20, "opened", "critical", "nvlink_down", "n1/nvswitch0")]
    assert found[0].subject.node == "n1"


def test_a_port_that_was_in_use_and_is_off_is_a_fault() -> None:
    rows = [at(10.0 * i, {}, entities=switch_ports([2.0, 2.0 if i < 4 else 0.0])) for i in range(9)]
    found = judge(rows)
    assert edges(found) == [(60, "opened", "critical", "nvlink_down", "n1/nvswitch0")]
    assert [e.what for e in found[0].evidence] == ["link 1 is down"]


def test_a_switch_that_asks_for_a_reset_is_told_at_first_sight() -> None:
    rows = [at(10.0 * i, {}, entities=switch_ports([2.0], float(i > 3))) for i in range(9)]
    assert edges(judge(rows)) == [(40, "opened", "critical", "nvswitch_reset_required", "n1/nvswitch0")]


def aer(t: float, text: str, pci: str = "0000:1d:00") -> KernelEvent:
    return KernelEvent(node="n1", ts_us=T0 + int(t * SECOND), kind="aer", pci=pci, detail=text, raw=text)


def test_an_uncorrected_error_in_the_kernels_log_is_told_at_once() -> None:
    lines = [aer(11, "AER: Uncorrected (Fatal) error received: 0000:1d:00.0")]
    found = judge([at(0, {}), at(10, {}), *lines, *lines, at(20, {})])
    assert edges(found) == [(11, "opened", "critical", "pcie_uncorrected", "GPU-3")]


def test_no_uncorrected_error_is_normal_whatever_the_generation_and_width() -> None:
    wide = {"237": [5.0] * 8, "238": [16.0] * 8}
    (found,) = judge([at(0, wide), at(10, wide), aer(11, "AER: Uncorrected (Fatal) error received: 0000:1d:00.0")])
    assert (found.limit, found.summary) == (0.0, "GPU 3 on n1: uncorrected PCIe errors: 1, none is normal")


def test_corrected_errors_in_the_kernels_log_count_by_rate() -> None:
    few = [aer(11 + i, f"AER: Corrected error received {i}: 0000:1d:00.0") for i in range(20)]
    many = [aer(11 + i / 100, f"AER: Corrected error received {i}: 0000:1d:00.0") for i in range(200)]
    assert judge([at(0, {}), at(10, {}), *few, at(60, {})]) == []
    assert [e[1:] for e in edges(judge([at(0, {}), at(10, {}), *many, at(60, {})]))] == [
        ("opened", "warning", "pcie_replays", "GPU-3")
    ]


def test_an_error_of_another_device_is_no_business_of_a_gpus_link() -> None:
    assert judge([at(0, {}), aer(5, "AER: Uncorrected (Fatal) error received: 0000:99:00.0", "0000:99:00")]) == []


def test_rows_of_mig_instances_are_one_gpu() -> None:
    parts = [Gpu(uuid="GPU-0", index=0, mig=f"1g/{i}") for i in range(4)]
    rows = [at(10.0 * i, {"202": 5.0 * i}, parts=parts) for i in range(30)]
    assert judge(rows) == []


def test_two_sources_that_tell_the_same_are_one_fault() -> None:
    rows: list[Message | Tick] = []
    for row in growing("202", 2000.0, 8):
        assert isinstance(row, GpuScrape)
        rows += [row, structs.replace(row, source="nvml", ts_us=row.ts_us + SECOND)]
    assert [e[:2] for e in edges(judge(rows))] == [(20, "opened")]


def test_a_restart_keeps_what_is_open_and_ends_it() -> None:
    d = detector()
    for rows, well in (
        ([at(10.0 * i, {}, entities=[nvlinks([(6, 4)])]) for i in range(9)], [nvlinks()]),
        ([at(10.0 * i, {}, entities=switch_ports([2.0 if i < 4 else 0.0])) for i in range(9)], switch_ports([2.0])),
        ([at(10.0 * i, {"238": 8.0}) for i in range(9)], []),
    ):
        state, before = d.step(d.fresh(), rows)
        kept = d.keep(state)
        assert kept is not None
        state, still = d.step(d.restore(kept), [structs.replace(r, ts_us=r.ts_us + 90 * SECOND) for r in rows[4:]])
        assert still == []
        later = [at(200.0 + 10.0 * i, {}, entities=well) for i in range(20)]
        state, after = d.step(state, later)
        assert [(f.state, f.subject, f.episode_us) for f in after] == [
            ("cleared", before[0].subject, before[0].episode_us)
        ]
        assert d.keep(state) is None


def test_a_clock_that_ran_ahead_blinds_nobody() -> None:
    rows = [at(90 * 86400.0, {"202": only(3, 5.0)}), *growing("202", 2000.0, 5)]
    assert [e[1:] for e in edges(judge(rows))] == [("opened", "warning", "pcie_replays", "GPU-3")]


def test_every_sort_has_a_word_and_every_word_a_row_and_an_action() -> None:
    words = {*WORDS.values(), "pcie_downtrain", "nvlink_down", "nvswitch_reset_required"}
    assert words == set(ACTIONS)
    assert [w for w in words if cause_row(w) is UNKNOWN] == []


def test_the_tables_know_fields_and_models() -> None:
    lane = counter("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_L11")
    assert lane is not None and (lane.sort, lane.link) == ("nvlink_replay", "11")
    assert counter("DCGM_FI_DEV_NVLINK_BANDWIDTH_L0") is None
    assert usual_nvlinks("NVIDIA A100-SXM4-80GB", {}) == 12
    assert usual_nvlinks("NVIDIA A100-SXM4-80GB", {"A100": 4}) == 4
    assert usual_nvlinks(None, {}) is None
