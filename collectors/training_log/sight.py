"""What a log shows to `lockstep collect check`."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from statistics import median

from collectors.source import Sight, SourceError
from collectors.training_log.file import WALKED, lines, since
from collectors.training_log.log import TrainingLog
from collectors.training_log.messages import Row

LOOK_S = 5.0

_THROUGHPUT = {
    "megatron": "start it with --log-throughput",
    "composer": "give its speed monitor gpu_flops_available, or use the training client",
    "deepspeed": "use the training client, with the model's shape",
    "lightning": "use the training client's Lightning callback",
    "hugging-face": "use the training client's Hugging Face callback",
}


def look(path: Path, job: str, form: str | None, zone: tzinfo | None) -> Iterator[Sight]:
    """One line on what is there, and one for each lack. Reads for some seconds at most."""
    until_s = time.monotonic() + LOOK_S
    try:
        started = TrainingLog(cluster="", job=job, this_node="", form=form, zone=zone)
        since_us, walked = since(path, started, zone)
        log = TrainingLog(cluster="", job=job, this_node="", form=form, zone=zone, since_us=since_us, walked=walked)
        rows: list[Row] = []
        count = 0
        for raw in lines(path):
            count += 1
            rows += [one for one in log.read(raw) if isinstance(one, Row)]
            if time.monotonic() > until_s:
                break
        rows += [one for one in log.rest() if isinstance(one, Row)]
    except SourceError as why:
        yield Sight(str(path), False, "nothing", "", str(why))
        return
    steps = [row for row in rows if row.step.phase == "train"]
    if not steps:
        yield Sight(
            str(path),
            False,
            f"{count} lines, no step",
            "steps",
            "point it at the output of the rank that prints; where the framework prints none, use the training client",
        )
        return
    yield _seen(path, log, steps)
    yield from _lacks(path, log, steps, walked)


def _seen(path: Path, log: TrainingLog, steps: list[Row]) -> Sight:
    times = [row.step.step_s for row in steps if row.step.step_s is not None]
    at = datetime.fromtimestamp(steps[-1].end_us / 1e6, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    pace = f", median {median(times):.4g} s" if times else ""
    return Sight(str(path), True, f"{log.form}: {len(steps)} steps, the last is {steps[-1].step.step} at {at}{pace}")


def _lacks(path: Path, log: TrainingLog, steps: list[Row], walked: str | None) -> Iterator[Sight]:
    name = log.form or ""
    if all(row.step.step_s is None for row in steps):
        yield Sight(str(path), False, "steps", "step times", "follow the log as it is written, or print times with it")
    if walked == WALKED:
        yield Sight(
            str(path), False, "steps", "times", "follow it as it is written: it is then read by the time of arrival"
        )
    if all(row.step.tflops_per_gpu is None for row in steps):
        yield Sight(str(path), False, "steps", "TFLOP/s of a GPU, for MFU", _THROUGHPUT.get(name, ""))
    yield Sight(
        str(path),
        False,
        "whole steps of the rank that prints",
        "each rank's own compute, by which a slow rank is found",
        "use the training client (docs/training-client.md)",
    )
