"""Published MFU figures must come out of our formula."""

import csv
from pathlib import Path
from typing import Any

import pytest

from pipelines.flops import Shape, hardware, megatron_causal, mfu, palm, six_n, torchtitan

DATA = Path(__file__).parent / "data"


def rows(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("row", rows("mfu_golden.csv"), ids=lambda row: row["name"])
def test_a_published_run_is_reproduced(row: dict[str, str]) -> None:
    shape = Shape(
        params=float(row["params"]),
        layers=int(row["layers"] or 0),
        heads=int(row["heads"] or 0),
        head_dim=int(row["head_dim"] or 0),
        seq_len=int(row["seq_len"] or 0),
    )
    flops = {"palm_full_attn": palm, "6n_only": six_n}[row["convention"]](shape)
    found = mfu(float(row["tokens_per_s"]), flops, int(row["gpus"]), float(row["peak_tflops"]) * 1e12)
    assert found * 100 == pytest.approx(float(row["mfu"]) * 100, abs=float(row["tolerance_pp"]))


@pytest.mark.parametrize("row", rows("mfu_golden_tflops.csv"), ids=lambda row: row["name"])
def test_a_printed_tflops_figure_is_a_ratio_to_the_peak(row: dict[str, str]) -> None:
    found = mfu(1.0, float(row["tflops_per_gpu"]), 1, float(row["peak_tflops"]))
    assert found * 100 == pytest.approx(float(row["mfu"]) * 100, abs=float(row["tolerance_pp"]))


# Llama 3 at T = 8192: layers, hidden, heads, kv heads, ffn, vocabulary, N; and FLOP a token by four conventions.
LLAMA: list[Any] = [
    (32, 4096, 32, 8, 14336, 128256, 8_030_261_248, 5.1470e10, 6.1066e10, 5.7914e10, 4.8182e10),
    (80, 8192, 64, 8, 28672, 128256, 70_553_706_496, 4.4922e11, 4.8775e11, 4.8144e11, 4.2332e11),
    (126, 16384, 128, 8, 53248, 128256, 405_853_388_800, 2.52396e12, 2.63806e12, 2.62545e12, 2.43512e12),
]


@pytest.mark.parametrize(
    ("layers", "hidden", "heads", "kv", "ffn", "vocab", "params", "megatron", "palm_", "titan", "six"), LLAMA
)
def test_four_conventions_differ_as_known(
    layers: int,
    hidden: int,
    heads: int,
    kv: int,
    ffn: int,
    vocab: int,
    params: float,
    megatron: float,
    palm_: float,
    titan: float,
    six: float,
) -> None:
    shape = Shape(params=params, layers=layers, heads=heads, head_dim=hidden // heads, seq_len=8192)
    assert megatron_causal(shape, hidden=hidden, kv_heads=kv, ffn=ffn, vocab=vocab) == pytest.approx(megatron, rel=2e-5)
    assert palm(shape) == pytest.approx(palm_, rel=2e-5)
    assert torchtitan(shape, vocab * hidden) == pytest.approx(titan, rel=2e-5)
    assert six_n(shape) == pytest.approx(six, rel=2e-5)


def test_recomputation_makes_hardware_work_and_no_model_work() -> None:
    shape = Shape(params=1e9, layers=2, heads=2, head_dim=2, seq_len=2)
    assert hardware(shape, recompute=False) == palm(shape)
    assert hardware(shape, recompute=True) == 8e9 + 16 * 2 * 2 * 2 * 2
