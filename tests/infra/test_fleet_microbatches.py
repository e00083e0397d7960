"""The simulated job tells its microbatches, and they show whether its data is uneven."""

from collectors.contract.job import JobEvent, StepReport
from collectors.contract.message import Message
from infra.fleet.scenario import parse
from infra.fleet.virtual import messages
from streams.contract import Finding
from streams.detectors.straggler import StragglerDetector
from streams.detectors.straggler_microbatches import likeness, pairs_of

FLEET = """
seconds = 150
[fleet]
nodes = 4
gpus = 8
switches = 2
[[jobs]]
name = "train"
nodes = ["node-01..node-04"]
tp = 1
sigma = 0.01
"""
UNEVEN = '[[faults]]\nkind = "data_imbalance"\ntarget = "train"\nsize = 0.15\n'


def told(fault: str = "") -> list[Message]:
    found = (message for _, message in messages(parse(FLEET + fault, "test.toml", "test")))
    return [m for m in found if isinstance(m, StepReport | JobEvent)]


def judged(items: list[Message]) -> list[Finding]:
    detector = StragglerDetector()
    return detector.step(detector.fresh(), items)[1]


def test_uneven_data_shows_in_the_microbatches_of_one_step_in_ten() -> None:
    items = told(UNEVEN)
    reports = [m for m in items if isinstance(m, StepReport) and m.microbatch_forward_s]
    assert {number % 10 for m in reports for number in m.step} == {5}
    steps = [
        {
            rank: pairs
            for rank, f, b in zip(m.rank, m.microbatch_forward_s, m.microbatch_backward_s, strict=True)
            if f is not None and b is not None and (pairs := pairs_of(f, b)) is not None
        }
        for m in reports
    ]
    found = likeness(StragglerDetector().limits, steps)
    assert found is not None
    assert found.correlation > 0.99
    assert 0.2 < found.spread < 0.6
    (edge,) = judged(items)
    assert (edge.cause, edge.severity, edge.confidence) == ("imbalance_data", "info", "high")


def test_the_microbatches_of_a_rank_add_up_to_its_compute() -> None:
    for report in told(UNEVEN):
        if isinstance(report, StepReport) and report.microbatch_forward_s:
            for whole, f, b in zip(
                report.compute_s, report.microbatch_forward_s, report.microbatch_backward_s, strict=True
            ):
                assert whole is not None and f is not None and b is not None
                assert abs((sum(f) + sum(b)) / whole - 1) < 0.05


def test_even_data_says_nothing() -> None:
    assert judged(told()) == []
