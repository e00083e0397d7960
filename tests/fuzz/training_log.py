"""Training logs: what frameworks print, cut off, mixed up and worse."""

from collections.abc import Hashable, Mapping
from datetime import UTC
from pathlib import Path

from collectors.contract.topics import JOB_STEPS
from collectors.training_log.intake import Intake
from collectors.training_log.log import TrainingLog
from tests.collectors.list_outlet import ListOutlet
from tests.fuzz.parser import Parser

LOGS = Path(__file__).parents[1] / "collectors" / "training_logs"
COLUMNS = ("step_s", "checkpoint_s", "tokens", "tflops_per_gpu")


def parse(raw: bytes) -> ListOutlet:
    """Finished lines only, as from a file; times without a stamp count on from a fixed moment."""
    outlet = ListOutlet()
    log = TrainingLog(cluster="c", job="j", this_node="n", zone=UTC, since_us=1_700_000_000_000_000)
    intake = Intake(log, outlet, "c", "j", "fuzzed")
    for line in raw[: max(raw.rfind(b"\n"), raw.rfind(b"\r")) + 1].split(b"\n"):
        intake.line(line)
    intake.rest()
    intake.flush()
    return outlet


def numbers(outlet: ListOutlet) -> Mapping[Hashable, float | None]:
    """The first word on each attempt's, rank's and step's phase; what a longer log adds stands behind it."""
    found: dict[Hashable, float | None] = {}
    for report in outlet.of(JOB_STEPS):
        for i, (rank, step, phase) in enumerate(zip(report.rank, report.step, report.phase, strict=True)):
            for name in COLUMNS:
                column = getattr(report, name)
                place = (report.attempt, rank, step, phase, name)
                if place not in found and column and column[i] is not None:
                    found[place] = column[i]
    return found


PARSERS = (
    Parser(
        "training-log", tuple(file.read_bytes() for file in sorted(LOGS.glob("*.txt"))), parse=parse, numbers=numbers
    ),
)
