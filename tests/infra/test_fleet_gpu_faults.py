"""Faults of GPUs that are the end of something: what counters, gauges and the kernel's log show of each."""

import pytest

from collectors.contract.beat import Beat
from collectors.contract.gpu import GpuScrape
from collectors.contract.job import JobEvent
from collectors.contract.kernel import KernelEvent
from infra.fleet.scenario import ScenarioError, parse
from infra.fleet.telemetry import Pair
from infra.fleet.virtual import DEFAULT_START_US, messages

FLEET = """
seconds = 100
[fleet]
nodes = 4
gpus = 4
switches = 4
interval_s = 2.0
nvlinks = true
model = "{model}"
[[jobs]]
name = "train"
nodes = ["node-01..node-03"]
tp = 2
[[faults]]
kind = "{kind}"
target = "{target}"
{more}
"""
H100, B200, V100, GB200 = "NVIDIA H100 80GB HBM3", "NVIDIA B200", "Tesla V100-SXM2-32GB", "NVIDIA GB200"


def story(kind: str, target: str = "node-02/1", model: str = H100, more: str = "from_s = 41") -> list[Pair]:
    text = FLEET.format(kind=kind, target=target, model=model, more=more)
    return list(messages(parse(text, "test.toml", "test")))


def shown(pairs: list[Pair], field: str, at_s: float, node: str = "node-02") -> list[float | None]:
    """The column of the last scrape of a node up to that second."""
    until = DEFAULT_START_US + round(at_s * 1e6)
    scrapes = [m for _, m in pairs if isinstance(m, GpuScrape) and m.node == node and m.ts_us <= until]
    return scrapes[-1].columns[field]


def lines(pairs: list[Pair]) -> list[tuple[str, str, int | None]]:
    return [(m.node, m.kind, m.code) for _, m in pairs if isinstance(m, KernelEvent)]


def attempts(pairs: list[Pair]) -> int:
    return len([m for _, m in pairs if isinstance(m, JobEvent) and m.kind == "restarted"])


def test_the_last_row_goes_with_an_uncorrectable_error_and_sets_the_failure_flag() -> None:
    pairs = story("rows_exhausted")
    assert (shown(pairs, "393", 40), shown(pairs, "393", 60)) == ([0, 511, 0, 0], [0, 512, 0, 0])
    assert (shown(pairs, "395", 40), shown(pairs, "395", 60)) == ([0] * 4, [0, 1, 0, 0])
    assert shown(pairs, "313", 60) == [0, 1, 0, 0]
    assert lines(pairs) == [("node-02", "xid", code) for code in (48, 63, 94, 45, 154)]
    assert attempts(pairs) == 1


def test_a_channel_that_cannot_be_repaired_is_a_flag_and_a_record_and_kills_nothing() -> None:
    pairs = story("memory_unrepairable", model=B200)
    assert (shown(pairs, "1507", 40), shown(pairs, "1507", 60)) == ([0] * 4, [0, 1, 0, 0])
    assert (lines(pairs), attempts(pairs)) == ([("node-02", "xid", 161)], 0)


def test_pages_are_retired_on_old_gpus_alone_and_rows_remapped_on_newer_ones() -> None:
    pairs = story("page_retirement", model=V100, more="from_s = 41\nsize = 2")
    assert [shown(pairs, f, 60) for f in ("390", "391", "392")] == [[0, 2, 0, 0], [0] * 4, [0, 1, 0, 0]]
    assert lines(pairs) == [("node-02", "xid", 63)] * 2
    old, new = ({f for _, m in p if isinstance(m, GpuScrape) for f in m.columns} for p in (pairs, story("slow_gpu")))
    assert (old & {"393", "395", "396", "346"}, new & {"390", "391", "392", "1507", "1212", "1400"}) == (set(), set())


def test_an_uncorrectable_error_of_an_old_gpu_retires_a_page_and_is_not_contained() -> None:
    pairs = story("ecc_uncorrectable", model=V100)
    assert lines(pairs) == [("node-02", "xid", code) for code in (48, 63, 45)]
    assert [shown(pairs, f, 60) for f in ("311", "391", "392")] == [[0, 1, 0, 0]] * 3


def test_an_uncorrected_pcie_error_is_a_report_of_the_kernel_that_names_the_gpu() -> None:
    pairs = story("pcie_uncorrected", more="from_s = 41\nsize = 2\nevery_s = 20\nfor_s = 1")
    told = [m for _, m in pairs if isinstance(m, KernelEvent)]
    assert {(m.kind, m.pci) for m in told} == {("aer", "0000:43:00")}
    assert [round((m.ts_us - DEFAULT_START_US) / 1e6) for m in told] == [41, 41, 61, 61, 81, 81]


def test_errors_between_cpu_and_gpu_are_counted_where_there_is_such_a_link() -> None:
    pairs = story("c2c_errors", model=GB200, more="from_s = 40\nsize = 50")
    assert shown(pairs, "1400", 40) == [0] * 4
    assert shown(pairs, "1400", 80)[1] == pytest.approx(2000, rel=0.15)
    assert shown(pairs, "1400", 80) == shown(pairs, "1401", 80)


def test_an_nvlink_that_could_not_be_recovered_is_down_and_its_rank_dies() -> None:
    pairs = story("nvlink_failed", model=B200, more="from_s = 41\nsize = 2")
    assert (shown(pairs, "1212", 60), shown(pairs, "1523", 60)) == ([0, 2, 0, 0], [0, 1, 0, 0])
    links = [m for _, m in pairs if isinstance(m, GpuScrape) and m.node == "node-02"][-1].entities[0].columns["1508"]
    assert [sum(s or 0 for s in links[i * 18 : i * 18 + 18]) for i in range(4)] == [18, 16, 18, 18]
    assert lines(pairs) == [("node-02", "xid", code) for code in (149, 149, 45, 154)]
    assert attempts(pairs) == 1


def test_a_fatal_error_of_an_nvswitch_is_told_by_the_switch_its_gauge_and_the_gpu_behind_it() -> None:
    pairs = story("nvswitch_reset", "node-02")
    asks = [m.entities[1] for _, m in pairs if isinstance(m, GpuScrape) and m.node == "node-02"]
    assert {group.kind for group in asks} == {"nvswitch"}
    assert [group.columns["864"] for group in (asks[0], asks[-1])] == [[0.0] * 4, [1.0, 0.0, 0.0, 0.0]]
    assert [(kind, code) for _, kind, code in lines(pairs)][-1] == ("xid", 74)
    assert {(kind, code) for _, kind, code in lines(pairs)} == {("sxid", 24007), ("xid", 74)}
    assert attempts(pairs) == 1


def test_what_the_driver_asks_for_after_an_error_is_in_its_log_and_its_gauge() -> None:
    pairs = story("xid", more='from_s = 41\ncode = 119\nrecovery = "reboot"')
    assert lines(pairs) == [("node-02", "xid", 119), ("node-02", "xid", 154)]
    assert (shown(pairs, "1523", 40), shown(pairs, "1523", 60)) == ([0] * 4, [0, 2, 0, 0])
    assert attempts(pairs) == 1


def test_a_gpu_that_never_came_up_is_on_no_page_and_its_node_in_no_job() -> None:
    pairs = story("gpu_missing", more="")
    counts = {len(m.gpus) for _, m in pairs if isinstance(m, GpuScrape) and m.node == "node-02"}
    placed = next(m for _, m in pairs if isinstance(m, JobEvent) and m.kind == "placed")
    assert (counts, {p.node for p in placed.placement}, lines(pairs)) == ({3}, {"node-01", "node-03"}, [])


def test_a_gpu_cannot_come_to_have_never_been_there() -> None:
    with pytest.raises(ScenarioError, match=r"faults\[1\]\.from_s: a GPU that never came up is missing from the start"):
        story("gpu_missing", more="from_s = 5")


def test_a_rollout_is_a_fault_of_its_own_and_one_of_each_node_that_it_takes() -> None:
    text = FLEET.format(kind="bad_rollout", target="fleet", model=H100, more="from_s = 10\nsize = 3\nevery_s = 20")
    faults = parse(text, "test.toml", "test").faults
    assert [(f.kind, f.target, f.from_s, f.expect) for f in faults] == [
        ("bad_rollout", "fleet", 10.0, ("fleet_guard",)),
        ("xid", "node-01/0", 10.0, ("xid_119",)),
        ("xid", "node-02/0", 30.0, ("xid_119",)),
        ("xid", "node-03/0", 50.0, ("xid_119",)),
    ]


def test_a_kernel_log_that_nobody_reads_tells_nothing_and_its_collector_does_not_exist() -> None:
    text = FLEET.format(kind="xid", target="node-02/1", model=H100, more="from_s = 41\ncode = 119")
    pairs = list(messages(parse(text.replace("nvlinks = true", "kernel = false"), "test.toml", "test")))
    assert lines(pairs) == []
    assert {m.source for _, m in pairs if isinstance(m, Beat)} == {"dcgm", "gnmi", "steps"}
    assert (shown(pairs, "230", 40), shown(pairs, "230", 60)) == ([0] * 4, [0, 119, 0, 0])
