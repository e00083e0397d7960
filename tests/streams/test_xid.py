"""Driver errors: log lines and scrapes in, exact edges out."""

from collections.abc import Sequence

import pytest

from collectors.contract.gpu import GpuScrape
from collectors.contract.kernel import KernelEvent, KernelKind
from collectors.contract.message import Message
from streams.contract import Finding
from streams.detector import Tick
from streams.detectors.xid import XidDetector
from streams.detectors.xid_limits import XidLimits
from tests.streams.scrapes import SECOND, T0, gpus, only, scrape

PCI = "0000:1d:00"
DAY = 86400.0


def detector() -> XidDetector:
    return XidDetector(XidLimits())


def judge(messages: Sequence[Message | Tick]) -> list[Finding]:
    d = detector()
    return d.step(d.fresh(), messages)[1]


def xid(at: float, code: int, text: str = "Ch 00000008", pci: str | None = PCI, pid: int | None = None) -> KernelEvent:
    raw = f"NVRM: Xid (PCI:{pci}): {code}, {text}"
    return event(at, "xid", code, text, pci, raw, pid)


def event(
    at: float,
    kind: KernelKind,
    code: int | None = None,
    text: str | None = None,
    pci: str | None = PCI,
    raw: str = "raw",
    pid: int | None = None,
) -> KernelEvent:
    return KernelEvent(
        node="n1", ts_us=T0 + int(at * SECOND), kind=kind, code=code, detail=text, pci=pci, raw=raw, pid=pid
    )


def running(at: float, energy: float = 1e9, lost: int | None = None, recovery: float = 0.0) -> GpuScrape:
    parts = [g for g in gpus(8) if g.index != lost]
    asked = [recovery if g.index == 3 else 0.0 for g in parts]
    return scrape(at, {"156": energy + at, "100": 1900.0, "1523": asked}, parts=parts)


def edges(found: Sequence[Finding]) -> list[tuple[float, str, str, str]]:
    return [((f.ts_us - T0) / SECOND, f.state, f.severity, f.cause) for f in found]


@pytest.mark.parametrize("code", [13, 31, 43, 45, 69])
def test_errors_of_programs_never_page(code: int) -> None:
    found = judge([running(0), *(xid(1 + i, code, pid=77) for i in range(20))])
    assert edges(found) == [(1, "opened", "info", f"application_xid_{code}")]
    assert found[0].subject.id == "GPU-3"
    assert "process: pid 77" in [e.what for e in found[0].evidence]


@pytest.mark.parametrize(
    ("code", "severity", "action"),
    [
        (79, "critical", "reboot"),
        (48, "critical", "reset"),
        (95, "critical", "reset"),
        (140, "critical", "reset"),
        (119, "critical", "reset"),
        (74, "warning", "diagnostics"),
        (94, "warning", "restart the job"),
        (109, "warning", "reset"),
        (63, "info", "record"),
        (185, "info", "diagnostics"),
        (149, "warning", "diagnostics"),
    ],
)
def test_a_code_asks_for_its_action(code: int, severity: str, action: str) -> None:
    (found,) = judge([xid(0, code)])
    assert (found.severity, found.cause) == (severity, f"xid_{code}")
    assert found.action is not None and action in found.action


def test_the_grave_one_of_a_chain_is_the_cause_and_the_driver_sets_the_action() -> None:
    found = judge(
        [
            running(0),
            xid(10, 48),
            xid(10, 63),
            xid(10.1, 94),
            *(xid(10.2 + i / 100, 45, pid=i) for i in range(30)),
            xid(11, 154, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"),
        ]
    )
    assert edges(found) == [(10, "opened", "critical", "xid_48"), (11, "updated", "critical", "xid_48")]
    assert ["reset" in (f.action or "") for f in found] == [True, False]
    assert "reboot" in (found[1].action or "")
    later = judge(
        [xid(10, 154, "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"), xid(10, 79)]
    )
    assert edges(later) == [(10, "opened", "critical", "xid_154"), (10, "updated", "critical", "xid_79")]
    assert later[-1].action is not None and "reboot" in later[-1].action


def test_the_herald_of_a_fault_joins_its_episode() -> None:
    found = judge([xid(0, 45), xid(2, 79), xid(3, 45)])
    assert edges(found) == [(0, "opened", "info", "application_xid_45"), (2, "updated", "critical", "xid_79")]
    assert found[0].episode_us == found[1].episode_us


def test_a_fault_long_after_a_program_error_is_an_episode_of_its_own() -> None:
    found = judge([xid(0, 13), xid(60, 79)])
    assert [(f.state, f.cause) for f in found] == [("opened", "application_xid_13"), ("opened", "xid_79")]


def test_a_program_error_from_long_before_a_fault_is_no_effect_of_it_even_when_it_comes_late() -> None:
    in_order, late = judge([xid(0, 13), xid(60, 48)]), judge([xid(60, 48), xid(0, 13)])
    assert sorted(edges(late)) == edges(in_order)
    assert [e[3] for e in edges(in_order)] == ["application_xid_13", "xid_48"]


def test_a_fault_whose_record_came_first_does_not_join_an_old_program_error() -> None:
    causes = {f.episode_us: f.cause for f in judge([xid(0, 13), xid(60, 63), xid(60.001, 48)])}
    assert sorted(causes.values()) == ["application_xid_13", "xid_48"]


def test_episodes_of_one_part_never_share_their_start() -> None:
    found = judge([xid(0, 13), xid(0, 63)])
    assert [f.state for f in found] == ["opened", "updated"]
    assert len({f.episode_us for f in found}) == 1


def test_what_follows_a_fault_is_its_effect() -> None:
    found = judge([xid(0, 79), *(xid(60 + i, 45) for i in range(50)), xid(200, 13)])
    assert [(*e, f.value) for e, f in zip(edges(found), found, strict=True)] == [
        (0, "opened", "critical", "xid_79", 1.0),
        (60, "updated", "critical", "xid_79", 2.0),
    ]


def test_a_lost_gpu_without_an_xid_is_critical_and_one_episode_with_it() -> None:
    found = judge([running(0), event(1, "gpu_lost"), xid(1.5, 79)])
    assert edges(found) == [(1, "opened", "critical", "gpu_lost"), (1.5, "updated", "critical", "xid_79")]
    assert {f.subject.id for f in found} == {"GPU-3"}


def test_a_storm_is_few_edges() -> None:
    found = judge([xid(i / 1000, 74, f"link {i}") for i in range(20_000)])
    assert [f.state for f in found] == ["opened"]


def test_a_line_delivered_twice_counts_once() -> None:
    d = detector()
    line = xid(0, 74)
    state, _ = d.step(d.fresh(), [line])
    kept = d.keep(state)
    state, found = d.step(state, [line])
    assert (found, d.keep(state)) == ([], kept)
    assert kept is not None
    again, found = d.step(d.restore(kept), [line])
    assert (found, d.keep(again)) == ([], kept)


def test_each_gpu_has_its_own_episode() -> None:
    found = judge([running(0), xid(1, 74), xid(1, 74, pci="0000:1e:00")])
    assert [f.subject.id for f in found] == ["GPU-3", "GPU-4"]


def test_a_gpu_that_no_scrape_has_named_goes_by_its_address() -> None:
    first, second = judge([xid(0, 74), running(1), xid(2, 79)])
    assert (first.subject.id, second.subject.id) == (f"n1/{PCI}", f"n1/{PCI}")
    assert first.episode_us == second.episode_us


def test_a_quiet_log_clears_nothing() -> None:
    assert len(judge([xid(0, 13), Tick(T0 + int(30 * DAY * SECOND))])) == 1


def test_a_program_error_is_over_when_the_gpu_has_gone_on_for_ten_minutes() -> None:
    found = judge([running(0), xid(1, 13), running(600), running(601), running(660), running(661)])
    assert edges(found) == [
        (1, "opened", "info", "application_xid_13"),
        (661, "cleared", "info", "application_xid_13"),
    ]


def test_a_lost_gpu_is_over_only_when_it_answers_after_its_reset() -> None:
    found = judge(
        [
            running(0),
            xid(1, 79),
            *(running(t, lost=3) for t in (10, 1000, 2 * DAY)),
            *(running(2 * DAY + t, energy=5.0 - 2 * DAY) for t in (10, 70)),
        ]
    )
    assert [e[:2] for e in edges(found)] == [(1, "opened"), (2 * DAY + 70, "cleared")]
    assert "after a reset" in found[-1].summary


def test_a_reset_clears_only_after_minutes_without_the_fault() -> None:
    reset = [running(t, energy=-50) for t in (100, 300, 301, 360, 361)]
    assert [e[:2] for e in edges(judge([running(0), xid(1, 48), *reset]))] == [(1, "opened"), (361, "cleared")]


def test_a_line_that_comes_after_the_readings_that_followed_it_is_still_of_its_episode() -> None:
    """Told at once that the first fault is over, the lost GPU would be a second episode, for three seconds of delay."""
    faults = [running(0), xid(1, 48), running(100, energy=-50)]
    after = [running(t, energy=-50) for t in (299, 302, 303)]
    late = judge([*faults, *after, xid(300, 79)])
    assert edges(late) == edges(judge([*faults, after[0], xid(300, 79), *after[1:]]))
    assert [e[1:] for e in edges(late)] == [("opened", "critical", "xid_48"), ("updated", "critical", "xid_79")]
    again = judge([*faults, *after, xid(304, 79)])
    assert [e[1:] for e in edges(again)] == [
        ("opened", "critical", "xid_48"),
        ("cleared", "critical", "xid_48"),
        ("opened", "critical", "xid_79"),
    ]


def test_a_fault_without_a_reset_stays_for_a_day() -> None:
    found = judge([running(0), xid(0, 48), running(DAY - 1), running(DAY), running(DAY + 60)])
    assert [e[:2] for e in edges(found)] == [(0, "opened"), (DAY + 60, "cleared")]


def test_a_gpu_that_asks_for_a_recovery_is_not_well() -> None:
    found = judge([running(0), xid(0, 48), running(2 * DAY, recovery=1.0)])
    assert [f.state for f in found] == ["opened"]


def test_a_gpu_that_cannot_be_read_is_not_well() -> None:
    silent = scrape(2 * DAY, {"156": only(3, None, 5.0), "100": only(3, None, 1900.0)})
    assert [f.state for f in judge([running(0), xid(0, 48), silent])] == ["opened"]


def test_without_readings_the_log_has_to_go_on() -> None:
    found = judge([xid(0, 13), *(event(t, "link_up", pci=None) for t in (601, 661))])
    assert [f.state for f in found] == ["opened", "cleared"]
    found = judge([xid(0, 79), event(2 * DAY, "link_up", pci=None)])
    assert [f.state for f in found] == ["opened"]


def test_nvlink5_lines_go_by_rule() -> None:
    (mild,) = judge([xid(0, 145, "RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008 0x00000001)")])
    (grave,) = judge([xid(0, 149, "NETIR_LINK_EVT  Fatal   XC0 i0 Link 08 (0x004505c6 0x00000000)")])
    (injected,) = judge([xid(0, 149, "NETIR_LINK_EVT  Fatal   XC0 i1 Link 08 (0x004505c6 0x00000000)")])
    assert [f.severity for f in (mild, grave, injected)] == ["info", "critical", "info"]


@pytest.mark.parametrize(
    ("code", "text", "severity"),
    [
        (24007, "Fatal, Link 28 sourcetrack timeout error (First)", "critical"),
        (12028, "Non-fatal, Link 32 egress non-posted PRIV error (First)", "warning"),
        (11012, "Non-fatal, Link 3 single bit", "info"),
        (23001, "Non-fatal, Link 3 overflow", "critical"),
        (99999, "Fatal, Link 3 new", "critical"),
        (99999, "Non-fatal, Link 3 new", "info"),
    ],
)
def test_switch_errors_go_by_class_and_by_the_words_of_the_log(code: int, text: str, severity: str) -> None:
    (found,) = judge([event(0, "sxid", code, text, "0000:05:00")])
    assert (found.severity, found.subject.kind, found.subject.id) == (severity, "device", "n1/0000:05:00")


@pytest.mark.parametrize("kind", ["link_down", "oom", "mce", "suppressed", "gap"])
def test_other_lines_are_none_of_its_business(kind: KernelKind) -> None:
    assert judge([event(0, kind, pci=None)]) == []


def test_any_code_and_any_address_is_survived() -> None:
    found = judge([xid(0, 0), xid(1, 10**9), xid(2, 79, pci="garbage"), xid(3, 79, pci=None), event(4, "xid")])
    assert [f.subject.kind for f in found] == ["gpu", "gpu", "node"]


def test_what_is_kept_is_bounded() -> None:
    d = detector()
    state, found = d.step(d.fresh(), [xid(i, 79, pci=f"pci-{i}") for i in range(2000)])
    assert len(found) == 256
    assert len(d.keep(state) or b"") < 300_000


def test_a_node_without_errors_keeps_nothing() -> None:
    d = detector()
    state, found = d.step(d.fresh(), [running(t) for t in range(5)])
    assert (found, d.keep(state)) == ([], None)


def test_a_clock_that_ran_ahead_blinds_nobody() -> None:
    found = judge([running(90 * DAY), xid(90 * DAY + 1, 13), running(1), running(602), running(662)])
    assert [f.state for f in found] == ["opened", "cleared"]
