import re
from pathlib import Path
from typing import Any

import pytest

from collectors.contract.topic import Topic
from collectors.contract.topics import (
    COLLECTOR_BEATS,
    FABRIC_SCRAPES,
    GPU_SCRAPES,
    JOB_EVENTS,
    JOB_PLACEMENTS,
    JOB_STEPS,
    KERNEL_EVENTS,
    NCCL_WINDOWS,
)
from infra.command.main import main
from streams.contract import NODE_PASTS
from streams.detectors.all import SPECS, Choice, detectors
from streams.detectors.lossless_limits import LosslessLimits
from streams.detectors.memory_conditions import MemoryLimits
from streams.detectors.shadow import Shadowed
from streams.limits import SECTIONS, LimitsError, load
from streams.limits_listing import rows, sources, toml
from streams.pipeline import Pipeline
from tests.streams.story import T0
from tests.streams.toy import HotDetector, scrape


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "limits.toml"
    path.write_text(text)
    return path


def test_a_file_changes_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    choices = load(write(tmp_path, "[lossless]\npriorities = [3, 4]\nhold_s = 0.5\n[lossless.damping]\ngrowth = 3\n"))
    limits = choices["lossless"].limits
    assert limits.priorities == frozenset({3, 4})
    assert limits.hold_us == 500_000
    assert limits.damping.growth == 3.0
    assert limits.damping.least_us == LosslessLimits().damping.least_us
    assert limits.learn is True
    assert choices.keys() == {"lossless"}


def test_what_is_listed_as_toml_is_read_back_the_same(tmp_path: Path) -> None:
    choices = load(write(tmp_path, toml({})))
    assert choices == {section: Choice(limits=limits()) for section, limits in SECTIONS.items()}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[memry]\n", "[memry]: no such section; did you mean memory?"),
        ("[memory]\nquiet = 3\n", "memory.quiet: no such limit; did you mean quiet_s?"),
        ("[memory]\nquiet_s = -1\n", "memory.quiet_s: -1 is not a number of 0 or more"),
        ("[memory]\nshadow = 1\n", "memory.shadow: 1 is not true or false"),
        ("[lossless]\npriorities = 3\n", "lossless.priorities: 3 is not a list; write [1, 2]"),
        ("[correlator]\nshadow = true\n", "correlator.shadow: no such limit"),
        ("memory = 3\n", "memory: not a section; write [memory]"),
        ("[memory\n", "not TOML"),
    ],
)
def test_a_mistake_is_named_with_its_file_and_key(tmp_path: Path, text: str, why: str) -> None:
    with pytest.raises(LimitsError) as raised:
        load(write(tmp_path, text))
    assert str(raised.value).startswith(f"{tmp_path}/limits.toml: ")
    assert why in str(raised.value)


def test_a_detector_that_is_off_is_not_there() -> None:
    names = {d.name for d in detectors({"memory": Choice(limits=MemoryLimits(), on=False)})}
    assert names == {d.name for d in detectors()} - {"memory"}


def test_a_shadow_is_heard_and_tells_nobody() -> None:
    hot = scrape("n1", T0, [50.0, 95.0])
    told, shadow = Pipeline([HotDetector()]), Pipeline([Shadowed(HotDetector())])
    assert [t.name for t, _ in told.feed(GPU_SCRAPES, hot)] == ["findings.v1", "incidents.v1", "node.health.v1"]
    ((topic, finding),) = shadow.feed(GPU_SCRAPES, hot)
    assert (topic.name, getattr(finding, "shadow", None)) == ("findings.v1", True)


def test_the_meaning_of_a_limit_is_the_docstring_under_it() -> None:
    assert sources(LosslessLimits)["hold_us"].startswith("An episode stays open so long after the last growth")
    listed = {(row.table, row.name): row for row in rows({})}
    assert listed["lossless", "hold_s"].value == 600
    assert listed["lossless", "priorities"].value == [3]


def test_every_limit_says_what_it_means_and_where_it_is_from() -> None:
    assert [f"{row.table}.{row.name}" for row in rows({}) if not row.source] == []


def test_the_command_shows_what_a_file_changes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, "[lossless]\nhold_s = 60\n")
    assert main(["detectors", "lossless", "--config", str(path)]) == 0
    assert "  hold_s = 60   (default 600)\n" in capsys.readouterr().out
    assert main(["detectors", "losless"]) == 2
    assert "no detector 'losless'; there is memory" in capsys.readouterr().err


READS: dict[str, set[Topic[Any]]] = {
    "GPU scrapes": {GPU_SCRAPES},
    "kernel log": {KERNEL_EVENTS},
    "the past of the GPU": {NODE_PASTS},
    "port scrapes": {FABRIC_SCRAPES},
    "GPU and port scrapes": {GPU_SCRAPES, FABRIC_SCRAPES},
    "beats": {COLLECTOR_BEATS},
    "NCCL windows": {NCCL_WINDOWS},
    "step reports": {JOB_STEPS, JOB_EVENTS, JOB_PLACEMENTS},
    "job topics": {JOB_STEPS, JOB_EVENTS, JOB_PLACEMENTS},
}


def test_the_page_on_judging_tells_every_section_and_what_it_reads() -> None:
    page = (Path(__file__).parents[2] / "docs/judging.md").read_text()
    told = {
        section: {topic for words in reads.split(", ") for topic in READS[words]}
        for section, reads in re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", page, re.MULTILINE)
    }
    assert told == {spec.section: {topic for one in spec.make(spec.limits()) for topic in one.topics} for spec in SPECS}
    assert [section for section in SECTIONS if f"`{section}`" not in page] == []
