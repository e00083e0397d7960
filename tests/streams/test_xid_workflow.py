"""What comes again on the same part asks for more; what keeps to a program stays the program's."""

import pytest
from msgspec import structs

from collectors.contract.gpu import Gpu
from collectors.contract.kernel import KernelEvent
from streams.contract import Finding
from streams.detectors.xid_limits import DAY_US, XidLimits
from streams.detectors.xid_past import MOST_KINDS, MOST_MARKS, MOST_PARTS, Past, past_of
from tests.streams.scrapes import gpus, scrape
from tests.streams.test_xid import DAY, PCI, detector, edges, event, judge, running, xid

OTHER = "0000:1e:00"
NVLINK = "NVLink: fatal error detected on link 14({}, 0x0, {}, 0x0, {}, 0x0, 0x0)"


def sm(at: float, pid: int, gpc: int = 2, tpc: int = 5, pci: str = PCI) -> KernelEvent:
    text = f"Graphics SM Warp Exception on (GPC {gpc}, TPC {tpc}, SM 1): Illegal Instruction Parameter"
    return xid(at, 13, text, pci, pid)


def nvlink4(first: int = 0, third: int = 0, fifth: int = 0) -> str:
    return NVLINK.format(hex(first), hex(third), hex(fifth))


def actions(found: list[Finding]) -> list[str]:
    return [f.action or "" for f in found]


def test_two_runs_that_fail_on_one_tpc_are_the_gpu() -> None:
    found = judge([running(0), sm(1, 100), sm(1.1, 100), sm(DAY, 200)])
    assert [e[1:] for e in edges(found)] == [
        ("opened", "info", "application_xid_13"),
        ("opened", "warning", "xid_13"),
    ]
    assert found[-1].confidence == "low"
    assert "diagnostic" in (found[-1].action or "")
    assert "2 runs failed on GPC 2, TPC 5 of this GPU and nowhere else" in [e.what for e in found[-1].evidence]


def test_runs_that_fail_on_different_tpcs_are_the_program() -> None:
    found = judge([running(0), sm(1, 100), sm(DAY, 200, tpc=6), sm(2 * DAY, 300, gpc=1)])
    assert {f.severity for f in found} == {"info"}


def test_one_run_that_fails_on_many_tpcs_is_the_program_also_when_it_comes_again() -> None:
    runs = [sm(run * DAY + tpc / 100, run, tpc=tpc) for run in range(1, 4) for tpc in range(6)]
    assert {f.severity for f in judge([running(0), *runs])} == {"info"}


def test_one_process_that_fails_again_and_again_on_one_tpc_is_one_run() -> None:
    assert {f.severity for f in judge([running(0), *(sm(60.0 * i, 100) for i in range(1, 20))])} == {"info"}


def test_a_job_that_is_started_again_and_again_is_one_run() -> None:
    held = [structs.replace(g, hpc_job="4711") for g in gpus(8)]
    other = [structs.replace(g, hpc_job="4712") for g in gpus(8)]
    loop = [m for i in range(1, 6) for m in (scrape(100.0 * i, {"156": 1e9}, parts=held), sm(100.0 * i + 1, i))]
    assert {f.severity for f in judge(loop)} == {"info"}
    found = judge([*loop, scrape(DAY, {"156": 1e9}, parts=other), sm(DAY + 1, 9)])
    assert (found[-1].cause, found[-1].severity) == ("xid_13", "warning")


def test_a_program_that_fails_on_several_gpus_at_once_is_the_program() -> None:
    runs = [sm(run * DAY + i, run, pci=pci) for run in range(1, 5) for i, pci in enumerate((PCI, OTHER))]
    assert {f.severity for f in judge([running(0), *runs])} == {"info"}


def test_page_faults_in_several_runs_on_one_gpu_of_eight_are_the_gpu() -> None:
    found = judge([running(0), *(xid(run * DAY, 31, pid=run) for run in range(1, 5))])
    assert found[-1].severity == "warning"
    assert found[-1].cause == "xid_31"
    assert "4 runs failed on this GPU, 0 on the others of its node" in [e.what for e in found[-1].evidence]


def test_page_faults_on_different_gpus_are_the_program() -> None:
    spread = [xid(run * DAY, 31, pid=run, pci=f"0000:{0x1A + run % 8:02x}:00") for run in range(1, 25)]
    assert {f.severity for f in judge([running(0), *spread])} == {"info"}


def test_page_faults_beside_an_open_fault_are_its_effects_and_no_runs() -> None:
    faults = [xid(run * 7200 + 1, 31, pid=run) for run in range(1, 9)]
    found = judge([running(0), xid(1, 48), *faults])
    assert {f.cause for f in found} == {"xid_48"}
    found = judge([running(0), xid(1, 48), *faults, running(DAY, energy=-DAY), running(2 * DAY), xid(2 * DAY + 1, 31)])
    assert (found[-1].cause, found[-1].severity) == ("application_xid_31", "info")


def test_a_second_gsp_failure_within_thirty_days_asks_for_a_reboot_and_a_ticket() -> None:
    found = judge([running(0), xid(1, 119), running(400, energy=-300), running(2 * DAY), xid(2 * DAY + 5, 119)])
    assert [(f.state, f.severity) for f in found] == [
        ("opened", "critical"),
        ("cleared", "critical"),
        ("opened", "critical"),
    ]
    first, _, second = actions(found)
    assert "reset it" in first and "reboot" not in first
    assert "reboot" in second and "ticket" in second


def test_a_gsp_failure_that_goes_on_is_still_the_first() -> None:
    found = judge([running(0), *(xid(45.0 * i, 119) for i in range(1, 100))])
    assert {a.startswith("drain the GPU, reset it") for a in actions(found)} == {True}


def test_a_fault_right_after_a_reset_is_a_second_one_and_the_page_says_so() -> None:
    found = judge([running(0), xid(10, 119), running(100, energy=-90), xid(130, 119)])
    assert edges(found) == [(10, "opened", "critical", "xid_119"), (130, "updated", "critical", "xid_119")]
    assert "reboot" in actions(found)[1]


def test_a_gpu_that_falls_off_the_bus_twice_in_a_month_asks_for_the_board() -> None:
    back = running(DAY, energy=-DAY)
    found = judge([running(0), xid(1, 79), back, running(DAY + 400, energy=-DAY), xid(20 * DAY, 79)])
    assert [f.state for f in found] == ["opened", "cleared", "opened"]
    assert ["board" in a for a in actions(found)] == [False, False, True]
    late = judge([running(0), xid(1, 79), back, running(DAY + 400, energy=-DAY), xid(40 * DAY, 79)])
    assert ["board" in a for a in actions(late)] == [False, False, False]


def test_a_second_memory_fault_in_a_month_asks_for_the_field_diagnostic() -> None:
    chain = [xid(10, 48), xid(10, 63), xid(10.1, 94), xid(10.2, 45)]
    found = judge([running(0), *chain, running(400, energy=-390), xid(9 * DAY, 63)])
    assert [(f.state, f.severity) for f in found] == [
        ("opened", "critical"),
        ("cleared", "critical"),
        ("opened", "warning"),
    ]
    assert "field diagnostic; if it fails, ask for replacement" in actions(found)[-1]


def test_the_gpu_in_the_place_of_another_does_not_inherit_its_memory_faults() -> None:
    swapped = gpus(8)
    swapped[3] = Gpu(uuid="GPU-new", index=3, pci=PCI)
    new = scrape(DAY, {"156": 1.0, "100": 1900.0}, parts=swapped)
    found = judge([running(0), xid(10, 48), new, xid(2 * DAY, 48)])
    assert "replacement" not in actions(found)[-1]


def test_a_code_that_only_asks_to_restart_the_job_is_a_ticket_the_third_time() -> None:
    found = judge([running(0), *(xid(i * DAY, 39) for i in range(1, 4))])
    assert [f.severity for f in found if f.state != "cleared"][-1] == "warning"
    assert found[-1].cause == "xid_39"


@pytest.mark.parametrize(
    ("text", "severity", "says"),
    [
        (nvlink4(first=1 << 20), "info", "other end"),
        (nvlink4(first=1 << 0), "info", "harmless"),
        (nvlink4(first=1 << 8 | 1 << 0), "warning", "bad contact"),
        (nvlink4(first=1 << 21), "warning", "marginal"),
        (nvlink4(first=1 << 27), "info", "repeats"),
        (nvlink4(first=1 << 4), "warning", "parity"),
        (nvlink4(third=1 << 6), "critical", "hardware"),
        (nvlink4(fifth=1 << 19), "critical", "hardware"),
        (nvlink4(fifth=1 << 20), "info", "threshold"),
        (nvlink4(), "warning", "NVLink error"),
        ("NVLink: a line without its words", "warning", "NVLink error"),
    ],
)
def test_the_words_of_an_nvlink_error_say_what_it_is(text: str, severity: str, says: str) -> None:
    (found,) = judge([xid(0, 74, text)])
    assert (found.severity, says in found.summary) == (severity, True)


def test_the_same_link_again_is_a_ticket_for_both_ends() -> None:
    found = judge([running(0), xid(1, 74, nvlink4(first=1 << 27)), xid(3 * DAY, 74, nvlink4(first=1 << 27))])
    assert [f.severity for f in found if f.state == "opened"] == ["info", "warning"]
    assert "both ends of the link" in actions(found)[-1]


def test_some_parity_errors_are_hardware_when_more_than_twice_on_a_link() -> None:
    found = judge([running(0), *(xid(i * DAY, 74, nvlink4(first=1 << 4)) for i in range(1, 4))])
    assert [f.severity for f in found if f.state != "cleared"] == ["warning", "warning", "critical"]
    assert "replacement" in actions(found)[-1]


def test_a_by_product_of_a_link_that_went_down_is_for_the_record() -> None:
    down = "NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6 0x00000000)"
    product = "RLW_REMAP Nonfatal XC0 i0 Link 3 (0x00000082 0x00000004)"
    found = judge([running(0), xid(1, 149, down), xid(10, 145, product, pci=OTHER)])
    assert edges(found) == [(1, "opened", "critical", "xid_149"), (10, "opened", "info", "xid_145")]
    assert "went down just before" in actions(found)[1]
    assert "signal of the link" in actions(found)[0]


def test_the_driver_version_says_where_the_unit_stands_in_the_registers() -> None:
    text = "RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x000004c2 0x00000001)"
    labelled = structs.replace(running(0), labels={"driver_version": "590.10.01"})
    assert [f.severity for f in judge([xid(1, 145, text)])] == ["critical"]
    (found,) = judge([labelled, xid(1, 145, text)])
    assert found.severity == "warning"
    assert found.evidence[-1].what == "judged by NVIDIA's Xid catalogue of 2025-10, driver 590.10.01"


def test_a_clean_up_that_names_a_grave_cause_stands_for_its_lost_line() -> None:
    (found,) = judge([xid(0, 45, "Ch 00000001 caused by previous Xid 95")])
    assert (found.cause, found.severity) == ("xid_95", "critical")
    (mild,) = judge([xid(0, 45, "Ch 00000001 caused by previous Xid 13")])
    assert (mild.cause, mild.severity) == ("application_xid_45", "info")


def test_a_clean_up_storm_after_a_teardown_is_no_fault_of_any_gpu() -> None:
    storm = [xid(i / 1000, 45, pid=i, pci=f"0000:{0x1A + i % 8:02x}:00") for i in range(4000)]
    found = judge([running(-1), *storm])
    assert {(f.severity, f.cause) for f in found} == {("info", "application_xid_45")}
    assert len(found) == 8


def test_the_end_of_a_pair_ends_the_episode_of_its_begin() -> None:
    hot = event(0, "sxid", 10004, "Link 3 thermal event", "0000:05:00")
    cool = event(30, "sxid", 10005, "Link 3 thermal event", "0000:05:00")
    assert [f.state for f in judge([hot, cool])] == ["opened", "cleared"]
    assert judge([cool]) == []
    assert judge([cool, hot]) == []


def test_a_recovery_that_the_driver_takes_back_ends_the_episode_after_minutes() -> None:
    asked = xid(11, 154, "GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")
    none = xid(90, 154, "GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)")
    found = judge([running(0), xid(10, 95), asked, none, running(200), running(400), running(460)])
    assert edges(found) == [
        (10, "opened", "critical", "xid_95"),
        (11, "updated", "critical", "xid_95"),
        (460, "cleared", "critical", "xid_95"),
    ]
    assert judge([none]) == []


def test_a_recovery_told_without_words_goes_by_the_gpus_own_reading() -> None:
    (quiet,) = judge([running(0), xid(1, 154, "told by NVML's event set")])
    (asks,) = judge([running(0, recovery=2.0), xid(1, 154, "told by NVML's event set")])
    assert [quiet.severity, asks.severity] == ["info", "critical"]
    assert "reboot" in (asks.action or "")


def test_an_unused_code_is_named_as_one() -> None:
    (found,) = judge([xid(0, 122)])
    assert "the catalogue calls XID 122 unused on current GPUs" in [e.what for e in found.evidence]


def test_the_edges_of_an_episode_are_in_the_order_of_their_times_also_when_a_line_is_late() -> None:
    found = judge([running(0), xid(10, 94), xid(9.5, 79)])
    assert [(f.state, f.cause) for f in found] == [("opened", "xid_94"), ("updated", "xid_79")]
    assert found[0].ts_us <= found[1].ts_us


def test_the_past_survives_a_restart() -> None:
    d = detector()
    state, _ = d.step(d.fresh(), [running(0), xid(1, 119), running(400, energy=-300), running(2 * DAY)])
    kept = d.keep(state)
    assert kept is not None
    _, found = d.step(d.restore(kept), [xid(3 * DAY, 119)])
    assert "reboot" in actions(found)[0]


def test_the_past_is_bounded() -> None:
    limits, pasts = XidLimits(), dict[str, Past]()
    past = past_of(pasts, "one")
    for kind in range(2 * MOST_KINDS):
        for mark in range(2 * MOST_MARKS):
            past.note(str(kind), mark * DAY_US, apart_us=limits.apart_us, memory_us=100 * DAY_US, who=str(mark))
    assert len(past.marks) == MOST_KINDS
    assert {len(marks) for marks in past.marks.values()} == {MOST_MARKS}
    for part in range(2 * MOST_PARTS):
        past_of(pasts, f"p{part}").note("bus", part, apart_us=1, memory_us=10)
    assert len(pasts) == MOST_PARTS
