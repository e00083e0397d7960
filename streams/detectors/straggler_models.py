"""GPUs of several models in one role of a job: the faster ones wait, which is a choice and no fault."""

import csv
import re
from collections import defaultdict
from collections.abc import Hashable
from functools import cache
from pathlib import Path

from streams.contract import Evidence, Finding
from streams.detectors.straggler_cost import compute_of, cost_of, others, typical
from streams.detectors.straggler_findings import finding, job_subject
from streams.detectors.straggler_groups import role_of
from streams.detectors.straggler_limits import StragglerLimits
from streams.detectors.straggler_state import StragglerState

_FILE = Path(__file__).parents[1] / "data" / "peak_tflops.csv"
_DTYPES = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float8": "fp8", "mxfp8": "fp8"}


@cache
def _peaks() -> tuple[tuple["re.Pattern[str]", str, float], ...]:
    with _FILE.open(newline="") as lines:
        return tuple(
            (re.compile(row["gpu_model_pattern"], re.IGNORECASE), row["dtype"], float(row["dense_tflops"]))
            for row in csv.DictReader(lines)
        )


def peak_tflops(model: str, dtype: str | None) -> float | None:
    """Dense TFLOP/s of one GPU; None for a model or a dtype that is not known. The first pattern names the GPU."""
    if dtype is None:
        return None
    wanted = dtype.lower().removeprefix("torch.")
    wanted = _DTYPES.get(wanted, wanted)
    first = next((pattern.pattern for pattern, _, _ in _peaks() if pattern.search(model)), None)
    return next((peak for pattern, known, peak in _peaks() if pattern.pattern == first and known == wanted), None)


def mixed_models(limits: StragglerLimits, state: StragglerState, ts_us: int) -> list[Finding]:
    """Reported when one model takes longer than another at the same work, or makes less of its peak."""
    worst: tuple[float, list[tuple[str, float, float | None]], list[int]] | None = None
    for models in _roles(state).values():
        rows: list[tuple[str, float, float | None]] = []
        for model, ranks in sorted(models.items()):
            seconds = typical(state, others(-1, ranks), compute_of)
            if seconds is not None and seconds > 0:
                peak = peak_tflops(model, state.dtype)
                rows.append((model, seconds, None if peak is None else seconds * peak))
        if len(rows) < 2:
            continue
        rows.sort(key=lambda row: row[1])
        slowest = models[rows[-1][0]]
        works = sorted(work for _, _, work in rows if work is not None)
        apart = max(rows[-1][1] / rows[0][1], works[-1] / works[0] if len(works) > 1 else 1.0)
        if apart >= limits.effect and (worst is None or apart > worst[0]):
            worst = apart, rows, slowest
    if worst is None:
        return []
    _, rows, slowest = worst
    (fast, fast_s, _), (slow, slow_s, _) = rows[0], rows[-1]
    edge = state.kept.episodes.report(
        "models",
        finding(
            limits,
            state,
            job_subject(state),
            ts_us,
            cause="mixed_hardware_inefficiency",
            severity="info",
            factor=slow_s / fast_s,
            summary=f"in {state.job} {slow} takes {slow_s / fast_s:.2f} times as long as {fast} for the same work",
            evidence=[
                *(
                    Evidence(what=f"own compute on {model}, median", value=seconds, unit="s")
                    for model, seconds, _ in rows
                ),
                *(
                    Evidence(what=f"compute x peak({state.dtype}) on {model}", value=work, unit="TFLOP")
                    for model, _, work in rows
                    if work is not None
                ),
            ],
            action="give each model its own job, or the faster one more of the work",
            confidence="low" if any(work is None for _, _, work in rows) else "medium",
            cost=cost_of(state, slowest, slow_s - fast_s),
        ),
    )
    return [] if edge is None else [edge]


def _roles(state: StragglerState) -> dict[Hashable, dict[str, list[int]]]:
    """Role -> GPU model -> ranks, where a role has several models."""
    models = {place.gpu_model for place in state.placement.values()} - {None}
    if len(models) < 2:
        return {}
    roles: dict[Hashable, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for rank, place in sorted(state.placement.items()):
        if place.gpu_model is not None:
            roles[role_of(place)][place.gpu_model].append(rank)
    return {role: by_model for role, by_model in roles.items() if len(by_model) > 1}
