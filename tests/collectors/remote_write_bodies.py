"""Bodies of remote write, made by hand: 1.0 as Prometheus writes it, 2.0 with its symbols."""

import struct
from collections.abc import Iterable, Mapping
from typing import Any

import cramjam

from collectors.remote_write import wire

STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]

Sample = tuple[str, Mapping[str, str], float, int]
"""Name, labels, value, milliseconds."""

TEMP, CLOCK = "DCGM_FI_DEV_GPU_TEMP", "DCGM_FI_DEV_SM_CLOCK"
T_MS = 1_800_000_000_000


def gpu(index: int, host: str = "n1", **more: str) -> dict[str, str]:
    """Labels of one GPU's series, as the exporter and the scraper put them."""
    return {
        "gpu": str(index),
        "UUID": f"GPU-{host}-{index}",
        "pci_bus_id": f"00000000:{0x1A + index:02X}:00.0",
        "modelName": "NVIDIA H100 80GB HBM3",
        "Hostname": host,
        "job": "dcgm",
        "instance": f"{host}:9400",
        **more,
    }


def scrape(
    ts_ms: int, value: float = 40.0, host: str = "n1", gpus: Iterable[int] = range(2), **more: str
) -> list[Sample]:
    """Two metrics of each GPU."""
    return [
        (name, gpu(index, host, **more), value + index + (1000.0 if name == CLOCK else 0.0), ts_ms)
        for name in (TEMP, CLOCK)
        for index in gpus
    ]


def v1(samples: Iterable[Sample], **fields: Any) -> bytes:
    """A `WriteRequest`, not compressed; a series for each sample."""
    series = []
    for name, labels, value, ts_ms in samples:
        one = wire.TimeSeries(**fields)
        for key, text in sorted({"__name__": name, **labels}.items()):
            one.labels.add(name=key.encode(), value=text.encode())
        one.samples.add(value=value, timestamp=ts_ms)
        series.append(one.SerializeToString())
    body: bytes = wire.WriteRequest(timeseries=series).SerializeToString()
    return body


def v2(samples: Iterable[Sample]) -> bytes:
    """An `io.prometheus.write.v2.Request`, not compressed."""
    symbols: dict[str, int] = {"": 0}
    request = wire.RequestV2()
    for name, labels, value, ts_ms in samples:
        one = wire.TimeSeriesV2()
        for pair in sorted({"__name__": name, **labels}.items()):
            one.labels_refs.extend(symbols.setdefault(text, len(symbols)) for text in pair)
        one.samples.add(value=value, timestamp=ts_ms)
        request.timeseries.append(one.SerializeToString())
    request.symbols.extend(text.encode() for text in symbols)
    body: bytes = request.SerializeToString()
    return body


def snappy(body: bytes) -> bytes:
    """Snappy's block form."""
    return bytes(cramjam.snappy.compress_raw(body))
