"""What happens to messages on their way, and to a pipeline that is restarted among them."""

from collections import Counter

import pytest

from collectors.contract.gpu import GpuScrape
from infra.fleet.scenario import Scenario, parse
from infra.fleet.telemetry import PERFECT, Pair, Telemetry, arrivals
from infra.fleet.virtual import messages
from infra.play import play
from infra.restart import Restarting
from streams.contract import Finding

FLEET = """
seconds = 60
[fleet]
nodes = 2
gpus = 4
switches = 2
[[jobs]]
name = "train"
nodes = ["node-01..node-02"]
[[faults]]
kind = "gpu_lost"
target = "node-01/2"
from_s = 30
"""
SCENARIO: Scenario = parse(FLEET, "test.toml", "test")
SENT: list[Pair] = list(messages(SCENARIO))


def came(telemetry: Telemetry, seed: int = 1) -> list[tuple[int, Pair]]:
    return list(arrivals(SENT, telemetry, seed))


def scrapes(rows: list[tuple[int, Pair]]) -> list[GpuScrape]:
    return [m for _, (_, m) in rows if isinstance(m, GpuScrape)]


def test_a_perfect_way_changes_nothing() -> None:
    assert came(PERFECT) == [(pair[1].ts_us, pair) for pair in SENT]


def test_the_same_seed_gives_the_same_fates_and_another_one_others() -> None:
    rough = Telemetry(missing=0.05, duplicates=0.05, late=0.1, jitter_s=0.2)
    assert came(rough) == came(rough)
    assert came(rough, seed=1) != came(rough, seed=2)


def test_messages_come_in_the_order_of_their_arrival_and_none_before_its_time() -> None:
    rows = came(Telemetry(late=0.3, late_s=4.0, duplicates=0.1, jitter_s=0.4))
    assert [us for us, _ in rows] == sorted(us for us, _ in rows)
    assert all(us >= message.ts_us for us, (_, message) in rows)
    assert max(us - message.ts_us for us, (_, message) in rows) > 3_000_000


def test_the_asked_share_is_lost_and_nothing_that_is_told_once() -> None:
    sent, left = Counter(t.name for t, _ in SENT), Counter(t.name for _, (t, _) in came(Telemetry(missing=0.2)))
    sampled = ("gpu.scrapes.v1", "job.steps.v1", "collector.beats.v1")
    assert sum(left[name] for name in sampled) / sum(sent[name] for name in sampled) == pytest.approx(0.8, abs=0.06)
    assert {
        name: left[name] for name in sent if name not in sampled and "nccl" not in name and "fabric.s" not in name
    } == {name: sent[name] for name in sent if name not in sampled and "nccl" not in name and "fabric.s" not in name}


def test_the_asked_share_comes_twice() -> None:
    rows = came(Telemetry(duplicates=0.2))
    assert len(rows) / len(SENT) == pytest.approx(1.2, abs=0.04)


def test_the_asked_share_of_cells_cannot_be_read() -> None:
    cells = [
        cell for scrape in scrapes(came(Telemetry(unreadable=0.05))) for row in scrape.columns.values() for cell in row
    ]
    assert sum(cell is None for cell in cells) / len(cells) == pytest.approx(0.05, abs=0.01)


def test_a_scrape_is_stamped_after_the_values_it_shows() -> None:
    before, after = scrapes(came(PERFECT)), scrapes(came(Telemetry(jitter_s=0.5)))
    shift = [b.ts_us - a.ts_us for a, b in zip(sorted(before, key=_place), sorted(after, key=_place), strict=True)]
    assert 0 <= min(shift) < max(shift) <= 500_000


def _place(scrape: GpuScrape) -> tuple[str, int]:
    return scrape.node, scrape.ts_us // 1_000_000


def test_a_restart_says_nothing_twice_and_forgets_nothing() -> None:
    whole, cut = Restarting(), Restarting()
    said: tuple[list[Finding], list[Finding]] = ([], [])
    for place, (topic, message) in enumerate(SENT):
        if place % 400 == 399:
            cut.restart()
        for pipeline, heard in zip((whole, cut), said, strict=True):
            heard += [m for _, m in pipeline.feed(topic, message) if isinstance(m, Finding)]
    assert [f.cause for f in said[0]] == [f.cause for f in said[1]] != []


def test_restarts_in_a_scenario_change_no_verdict() -> None:
    plain = play(SCENARIO)
    restarted = play(parse(FLEET + "[telemetry]\nrestarts_s = [20, 31, 45]\n", "test.toml", "test"))
    assert [(v.found, v.cause, len(v.pages)) for v in plain.verdicts] == [(True, "xid_79", 1)]
    assert [(v.found, v.cause, len(v.pages)) for v in restarted.verdicts] == [(True, "xid_79", 1)]
