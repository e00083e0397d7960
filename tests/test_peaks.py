"""Two rooms need the peak of a GPU and none may import the other: their tables must say the same."""

import csv
from pathlib import Path

ROOT = Path(__file__).parents[1]


def rows(path: str) -> list[tuple[str, ...]]:
    with (ROOT / path).open(newline="") as lines:
        return [tuple(row.values()) for row in csv.DictReader(lines)]


def test_what_slow_ranks_are_compared_by_is_what_mfu_is_a_share_of() -> None:
    of_mfu = [row for row in rows("pipelines/data/peak_flops.csv") if row[1] in ("bf16", "fp16", "fp8")]
    assert rows("streams/data/peak_tflops.csv") == of_mfu
