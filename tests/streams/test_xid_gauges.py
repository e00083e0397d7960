"""Where no kernel log is read, DCGM's gauges tell of errors: changes of the last XID, and the recovery asked for."""

from collections.abc import Sequence

from collectors.contract.gpu import Gpu, GpuScrape
from streams.contract import Finding
from tests.streams.scrapes import Cell, only, scrape
from tests.streams.test_xid import detector, edges, judge, running, xid


def gauge(at: float, code: float | None, recovery: float | None = 0.0) -> GpuScrape:
    cells: dict[str, Sequence[Cell] | Cell] = {
        "156": 1e9 + at,
        "100": 1900.0,
        "230": only(3, code),
        "1523": only(3, recovery),
    }
    return scrape(at, cells)


def last(found: list[Finding]) -> tuple[str, str, str]:
    return found[-1].cause, found[-1].severity, found[-1].subject.id


def test_a_change_of_the_last_xid_is_an_event() -> None:
    found = judge([gauge(0, 0.0), gauge(10, 79.0), gauge(20, 79.0), gauge(30, 79.0)])
    assert edges(found) == [(10, "opened", "critical", "xid_79")]
    assert found[0].subject.id == "GPU-3"
    assert found[0].confidence == "medium"
    assert "the kernel log said nothing" in found[0].evidence[-2].what


def test_where_the_gauge_stood_at_first_says_nothing_of_today() -> None:
    assert judge([gauge(0, 79.0), gauge(10, 79.0)]) == []
    assert last(judge([gauge(0, 79.0), gauge(10, 95.0)])) == ("xid_95", "critical", "GPU-3")


def test_a_gauge_that_falls_or_cannot_be_read_is_no_event() -> None:
    assert judge([gauge(0, 31.0), gauge(10, 0.0), gauge(20, None), gauge(30, 0.0)]) == []
    assert judge([gauge(0, 31.0), gauge(10, None), gauge(20, 31.0)]) == []


def test_where_the_log_speaks_the_gauge_adds_nothing() -> None:
    found = judge([gauge(0, 0.0), xid(5, 62), xid(5.1, 45), gauge(10, 45.0), gauge(20, 45.0)])
    assert edges(found) == [(5, "opened", "critical", "xid_62")]
    assert found[0].confidence is None


def test_a_gpu_that_asks_for_a_recovery_is_told_of_once() -> None:
    found = judge([gauge(0, 0.0, 2.0), gauge(10, 0.0, 2.0), gauge(20, 0.0, 2.0)])
    assert edges(found) == [(0, "opened", "critical", "xid_154")]
    assert "reboot" in (found[0].action or "")


def test_a_graver_recovery_than_the_open_episode_asks_for_is_news() -> None:
    found = judge([running(0), xid(1, 95), gauge(100, 0.0, 1.0), gauge(200, 0.0, 2.0)])
    assert edges(found) == [(1, "opened", "critical", "xid_95"), (200, "updated", "critical", "xid_95")]
    assert "reboot" in (found[1].action or "")


def test_a_change_that_is_read_again_after_a_restart_is_one_event() -> None:
    d = detector()
    messages = [gauge(0, 0.0), gauge(10, 62.0)]
    state, _ = d.step(d.fresh(), messages)
    kept = d.keep(state)
    assert kept is not None
    again, found = d.step(d.restore(kept), [*messages, gauge(20, 62.0)])
    assert (found, d.keep(again)) == ([], kept)


def test_instances_of_one_gpu_have_each_their_gauge() -> None:
    parts = [Gpu(uuid="GPU-0", index=0, pci="0000:1a:00", mig=f"1g.10gb/{i}") for i in range(3)]

    def page(at: float, cells: list[Cell]) -> GpuScrape:
        return scrape(at, {"230": cells, "100": 1900.0}, parts=parts)

    found = judge([page(0, [0.0, 31.0, 0.0]), page(10, [0.0, 31.0, None]), page(20, [0.0, 31.0, 0.0])])
    assert found == []
    found = judge([page(0, [0.0, 31.0, 0.0]), page(10, [0.0, 31.0, 94.0]), page(20, [0.0, 31.0, 94.0])])
    assert edges(found) == [(10, "opened", "warning", "xid_94")]
