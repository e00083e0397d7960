"""GPU scrapes made up for tests."""

from collections.abc import Mapping, Sequence

from collectors.contract.gpu import Gpu, GpuScrape

SECOND = 1_000_000
T0 = 1_800_000_000 * SECOND
H100 = "NVIDIA H100 80GB HBM3"

Cell = float | None


def gpus(count: int, model: str = H100) -> list[Gpu]:
    return [Gpu(uuid=f"GPU-{i}", index=i, model=model, pci=f"0000:{0x1A + i:02x}:00") for i in range(count)]


def scrape(
    at_s: float, columns: Mapping[str, Sequence[Cell] | Cell], *, node: str = "n1", parts: list[Gpu] | None = None
) -> GpuScrape:
    """A single value stands for all GPUs of the node."""
    parts = gpus(8) if parts is None else parts
    return GpuScrape(
        node=node,
        ts_us=T0 + int(at_s * SECOND),
        gpus=parts,
        columns={
            f: [v] * len(parts) if v is None or isinstance(v, int | float) else list(v) for f, v in columns.items()
        },
    )


def only(row: int, value: Cell, others: Cell = 0.0, count: int = 8) -> list[Cell]:
    """A column in which one GPU differs."""
    return [value if i == row else others for i in range(count)]
