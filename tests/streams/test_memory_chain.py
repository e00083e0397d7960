"""An uncorrected error from the first line of the log to the reset: one episode, one page, the right thing to do."""

from collections.abc import Sequence
from typing import Any

import pytest

from collectors.contract.gpu import GpuScrape
from collectors.contract.kernel import KernelEvent
from collectors.contract.message import Message
from collectors.contract.topic import Topic
from collectors.contract.topics import GPU_SCRAPES, KERNEL_EVENTS
from streams.contract import INCIDENTS, Finding, Incident
from streams.detector import Tick
from streams.detectors.all import detectors
from streams.detectors.memory import MemoryDetector
from streams.detectors.memory_conditions import MemoryLimits
from streams.pipeline import Pipeline
from tests.streams.scrapes import SECOND, T0, Cell, only, scrape

DAY = 86_400.0
SOUND: dict[str, Cell] = dict.fromkeys(("311", "313", "393", "394", "395", "396", "346"), 0.0)


def judge(messages: Sequence[Message | Tick]) -> list[Finding]:
    d = MemoryDetector(MemoryLimits())
    return d.step(d.fresh(), messages)[1]


def at(at_s: float, **fields: Cell) -> GpuScrape:
    """GPU 3 has these readings (`f311` is field 311), the rest is sound; its energy goes on."""
    readings = SOUND | {name.removeprefix("f"): value for name, value in fields.items()}
    columns: dict[str, Sequence[Cell] | Cell] = {field: only(3, value) for field, value in readings.items()}
    return scrape(at_s, columns | {"156": 1e9 + at_s, "385": 2560.0})


def line(at_s: float, code: int, pci: str | None = "0000:1d:00", uuid: str | None = None) -> KernelEvent:
    raw = f"NVRM: Xid (PCI:{pci}): {code}, pid=7, at {at_s}"
    return KernelEvent(node="n1", ts_us=T0 + int(at_s * SECOND), kind="xid", code=code, pci=pci, gpu_uuid=uuid, raw=raw)


def told(found: Sequence[Finding]) -> list[tuple[float, str, str, str]]:
    return [((f.ts_us - T0) / SECOND, f.state, f.severity, f.cause) for f in found]


def facts(finding: Finding) -> dict[str, float | None]:
    return {e.what: e.value for e in finding.evidence}


def test_the_stages_of_log_and_counters_are_one_episode_until_the_reset() -> None:
    found = judge(
        [
            at(0),
            line(5.0, 48),
            line(5.1, 63),
            line(5.2, 94),
            at(10, f311=1.0, f313=1.0, f393=1.0, f396=1.0),
            at(20, f311=1.0, f313=1.0, f393=1.0, f396=1.0),
            at(300, f313=1.0, f393=1.0),
        ]
    )
    assert [(s, c) for _, s, _, c in told(found)] == [
        ("opened", "uncorrectable_ecc"),
        ("updated", "uncorrectable_ecc"),
        ("updated", "uncorrectable_ecc"),
        ("updated", "uncorrectable_ecc"),
        ("cleared", "uncorrectable_ecc"),
    ]
    last = found[-2]
    assert last.value == 1.0
    assert "contained to the programs that read it" in last.summary
    assert last.action is not None
    assert "applies the row remap" in last.action
    assert facts(last) | {
        "XID 48: uncorrected error found": 1.0,
        "XID 94: contained: only the programs that read it were ended": 1.0,
        "XID 63: row recorded for repair": 1.0,
        "uncorrected errors by the counters": 1.0,
        "uncorrected errors by the kernel log": 1.0,
        "rows remapped for uncorrected errors": 1.0,
        "remap waits for a reset (flag 396)": 1.0,
        "memory banks by spare rows: 2560 with all": None,
    } == facts(last)


def test_the_log_counts_what_a_crash_took_from_the_counters() -> None:
    """A node that crashed showed 27 errors in its log and one in its counters."""
    lines = [line(60.0 * n + 5, 48) for n in range(27)]
    found = judge([at(0), *lines, at(1700, f313=1.0)])
    assert found[-1].value is not None
    assert facts(found[-1])["uncorrected errors by the kernel log"] is not None
    d = MemoryDetector(MemoryLimits())
    state, _ = d.step(d.fresh(), [at(0), *lines, at(1700, f313=1.0)])
    lost = state.kept.gpus["GPU-3"].uncorrected
    assert lost is not None
    assert (lost.errors, lost.by_field, lost.logged) == (27.0, {"313": 1.0}, 27)


def test_the_counters_count_what_the_log_did_not_say() -> None:
    found = judge([at(0), line(5, 48), at(10, f311=5.0, f313=5.0)])
    assert found[-1].value == 5.0


def test_lines_of_one_error_within_seconds_are_one_error() -> None:
    found = judge([at(0), *(line(5 + 0.1 * n, 95) for n in range(20))])
    assert (len(found), found[0].value) == (1, 1.0)


def test_the_same_line_twice_is_one_line() -> None:
    assert len(judge([at(0), line(5, 48), line(5, 48), line(5, 48)])) == 1


@pytest.mark.parametrize(
    ("codes", "cause", "words"),
    [
        ((48,), "uncorrectable_ecc", "at the next gap"),
        ((171, 48), "uncorrectable_ecc", "at the next gap"),
        ((48, 95), "uncontained_ecc", "drain the GPU now"),
        ((140,), "uncontained_ecc", "drain the GPU now"),
        ((48, 64), "row_remap_failure", "field diagnostic"),
    ],
)
def test_the_gravest_stage_says_what_to_do(codes: Sequence[int], cause: str, words: str) -> None:
    found = judge([at(0), *(line(5 + 0.01 * i, code) for i, code in enumerate(codes))])
    assert (found[-1].severity, found[-1].cause) == ("critical", cause)
    assert found[-1].action is not None
    assert words in found[-1].action


@pytest.mark.parametrize(("code", "place"), [(171, "DRAM"), (172, "SRAM")])
def test_the_log_says_which_memory_was_hit(code: int, place: str) -> None:
    assert f"in {place}" in judge([at(0), line(5, code)])[0].summary


def test_the_counters_say_which_memory_was_hit() -> None:
    assert "in SRAM" in judge([at(0, f343=0.0), at(10, f311=1.0, f343=1.0)])[0].summary


@pytest.mark.parametrize("code", [63, 45, 31, 79])
def test_a_row_that_was_recorded_or_another_code_opens_no_episode(code: int) -> None:
    assert judge([at(0), line(5, code), at(10)]) == []


def test_a_second_error_within_thirty_days_asks_for_the_field_diagnostic() -> None:
    def once(day: float, before: float) -> list[GpuScrape]:
        start = day * DAY
        return [at(start + 10, f311=1.0, f313=before + 1), at(start + 300, f311=0.0, f313=before + 1)]

    near = judge([at(0), *once(0, 0.0), *once(20, 1.0)])
    far = judge([at(0), *once(0, 0.0), *once(31, 1.0)])
    for found, expected in ((near, [False, True]), (far, [False, False])):
        again = ["the second within 30 days" in (f.action or "") for f in found if f.state == "opened"]
        assert again == expected


def test_lines_that_came_late_about_before_the_reset_open_nothing() -> None:
    rows = [at(0), line(5, 48), at(10, f311=1.0, f396=1.0), at(60, f311=0.0), line(5.5, 94), at(70)]
    assert [s for _, s, _, _ in told(judge(rows))][-1] == "cleared"


def test_an_error_that_only_the_log_knew_ends_with_a_reset_of_the_driver() -> None:
    """The energy counter starts again at driver load."""
    plain = [scrape(10.0 * n, {"156": 1e9 + n}) for n in range(3)]
    after = [scrape(600.0 + n, {"156": 5e3 + n}) for n in range(2)]
    found = judge([plain[0], line(5, 95), *plain[1:], *after])
    assert told(found) == [
        (5.0, "opened", "critical", "uncontained_ecc"),
        (600.0, "cleared", "critical", "uncontained_ecc"),
    ]


def test_silence_ends_no_episode() -> None:
    found = judge([at(0), line(5, 48), *(Tick(T0 + int(d * DAY * SECOND)) for d in (1, 5, 50)), line(60 * DAY, 92)])
    assert [s for _, s, _, _ in told(found)] == ["opened"]


def test_a_line_about_an_address_that_no_scrape_named_yet_waits_for_it() -> None:
    found = judge([line(5, 48), line(5, 48), at(10)])
    assert [(f.ts_us, f.subject.id) for f in found] == [(T0 + 5 * SECOND, "GPU-3")]


def test_a_line_that_names_the_gpu_by_its_uuid_is_understood() -> None:
    assert [f.subject.id for f in judge([at(0), line(5, 48, pci=None, uuid="GPU-5")])] == ["GPU-5"]


def test_lines_without_end_are_remembered_within_bounds() -> None:
    d = MemoryDetector(MemoryLimits())
    state, _ = d.step(d.fresh(), [line(0.01 * n, 48, pci=f"0000:{n % 200:02x}:00") for n in range(5_000)])
    assert len(state.pending) <= 64
    state, found = d.step(state, [at(60), *(line(61 + 0.01 * n, 48) for n in range(20_000))])
    assert len(d.keep(state) or b"") < 20_000
    assert len(found) < 20


def test_one_error_in_log_and_counters_is_one_incident_and_one_page() -> None:
    pipeline = Pipeline([d for d in detectors() if d.name in ("memory", "xid")])
    told: list[Incident] = []
    feed: list[tuple[Topic[Any], Message]] = []
    for s in range(0, 5):
        feed.append((GPU_SCRAPES, at(10.0 * s)))
    feed += [(KERNEL_EVENTS, line(45.0 + 0.1 * i, code)) for i, code in enumerate((48, 63, 94))]
    for s in range(5, 12):
        feed.append((GPU_SCRAPES, at(10.0 * s, f311=1.0, f313=1.0, f393=1.0, f396=1.0)))
    for topic, message in feed:
        pipeline.tick(message.ts_us)
        told += [m for t, m in pipeline.feed(topic, message) if t is INCIDENTS and isinstance(m, Incident)]
    told += [m for t, m in pipeline.tick(T0 + 600 * SECOND) if t is INCIDENTS and isinstance(m, Incident)]
    assert len({i.id for i in told}) == 1
    assert {i.cause_word for i in told} == {"uncorrectable_ecc"}
    assert told[-1].runbook.endswith("uncorrectable_ecc.md")
