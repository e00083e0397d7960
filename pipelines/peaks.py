"""Dense peak FLOP/s of a GPU model in a dtype; an unknown model has none."""

import csv
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "data" / "peak_flops.csv"
TERA = 1e12

# Spellings of frameworks and of the CLI -> the table's.
DTYPES = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float32": "fp32",
    "float": "fp32",
    "float64": "fp64",
    "float8": "fp8",
    "float8_e4m3": "fp8",
    "float8_e4m3fn": "fp8",
    "mxfp8": "fp8",
    "nvfp4": "fp4",
}


@dataclass(frozen=True, slots=True)
class Peak:
    """One row of the table. `pattern` is searched in NVML's product name, whatever the case."""

    pattern: "re.Pattern[str]"
    dtype: str
    flops: float
    """FLOP/s of one GPU, without sparsity."""
    source: str


@cache
def table(path: Path = FILE) -> tuple[Peak, ...]:
    """The rows in the file's order: specific names stand above general ones."""
    with path.open(newline="") as file:
        return tuple(
            Peak(
                re.compile(row["gpu_model_pattern"], re.IGNORECASE),
                row["dtype"],
                float(row["dense_tflops"]) * TERA,
                row["source"],
            )
            for row in csv.DictReader(file)
        )


def peak_flops(model: str, dtype: str) -> float | None:
    """Dense FLOP/s of one GPU, or None: never a default GPU for an unknown name.

    The first pattern that matches names the GPU: a GPU without the dtype has no peak, whatever a more general
    pattern further down says.
    """
    wanted = dtype.lower().removeprefix("torch.")
    wanted = DTYPES.get(wanted, wanted)
    first = next((row.pattern for row in table() if row.pattern.search(model)), None)
    for row in table():
        if row.pattern == first and row.dtype == wanted:
            return row.flops
    return None
