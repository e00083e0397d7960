"""Peaks by product name."""

import pytest

from pipelines.peaks import peak_flops, table


@pytest.mark.parametrize(
    ("model", "dtype", "tflops"),
    [
        ("NVIDIA H100 80GB HBM3", "bf16", 989.5),
        ("NVIDIA H100 80GB HBM3", "torch.bfloat16", 989.5),
        ("NVIDIA H100 PCIe", "bf16", 756.5),
        ("NVIDIA H100 NVL", "bf16", 835.5),
        ("NVIDIA H200", "bf16", 989.5),
        ("NVIDIA A100-SXM4-40GB", "BF16", 312.0),
        ("Tesla V100-SXM2-32GB", "fp16", 125.0),
        ("NVIDIA GB200", "bf16", 2500.0),
        ("NVIDIA B200", "bf16", 2250.0),
        ("NVIDIA L4", "bf16", 121.0),
        ("NVIDIA L40S", "bf16", 362.05),
    ],
)
def test_the_first_matching_name_wins(model: str, dtype: str, tflops: float) -> None:
    assert peak_flops(model, dtype) == pytest.approx(tflops * 1e12)


@pytest.mark.parametrize(
    ("model", "dtype"), [("NVIDIA A10G", "bf16"), ("Some GPU 9000", "bf16"), ("Tesla V100", "bf16")]
)
def test_what_is_not_known_has_no_peak(model: str, dtype: str) -> None:
    assert peak_flops(model, dtype) is None


def test_every_row_names_its_source() -> None:
    assert len(table()) == 175
    assert all(row.source and row.flops > 0 for row in table())
